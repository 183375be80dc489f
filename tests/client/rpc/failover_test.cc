// Clients with several addresses, of which one fails.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/rpc/client.h"
#include "client/rpc/server_choice.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/patience.h"
#include "tests/testing/refusals.h"

namespace sortition {
namespace {

class FailoverTest : public testing::Test {
 protected:
  FailoverTest() {
    options_.deadline_seconds = Patience(20);
    options_.first_backoff_seconds = 0;
    options_.max_backoff_seconds = 0;
  }

  std::string Addresses() const {
    return absl::StrCat(bad_.address(), ",", good_.address());
  }

  std::unique_ptr<Client> Connect() {
    auto client = Client::Connect(Addresses(), options_);
    EXPECT_OK(client);
    return *std::move(client);
  }

  // Returns a request whose id chooses the server `bad_`.
  v1::SelectRequest RequestOfBad(int skip = 0) const {
    const ServerChoice choice({bad_.address(), good_.address()}, 0);
    v1::SelectRequest request;
    request.mutable_context()->mutable_candidates()->set_num_features(1);
    for (int i = 0;; ++i) {
      const std::string id = absl::StrCat("d", i);
      if (choice.Of(id) != 0 || skip-- > 0) continue;
      request.mutable_context()->set_decision_id(id);
      return request;
    }
  }

  void ExpectMoves() {
    const auto client = Connect();
    const v1::SelectRequest request = RequestOfBad();
    const std::string& id = request.context().decision_id();
    ASSERT_OK_AND_ASSIGN(const v1::SelectResponse answer,
                         client->Select(request));
    EXPECT_EQ(answer.result().decision_id(), id);
    ASSERT_EQ(good_.decisions().size(), 1u);
    EXPECT_EQ(good_.decisions()[0].decision_id(), id);
    EXPECT_LE(bad_.decisions().size(), 1u);
    // The reports go to the server that decided.
    v1::ReportShownRequest shown;
    shown.set_decision_id(id);
    EXPECT_OK(client->ReportShown(shown));
    v1::ReportFeedbackRequest feedback;
    feedback.add_feedback()->set_decision_id(id);
    EXPECT_OK(client->ReportFeedback(feedback));
    EXPECT_EQ(good_.shown().size(), 1u);
    EXPECT_EQ(good_.feedback().size(), 1u);
  }

  FakeServer bad_, good_;
  CallOptions options_;
};

TEST_F(FailoverTest, ADecisionMovesIfAServerRefusesConnections) {
  bad_.Stop();
  ExpectMoves();
}

TEST_F(FailoverTest, ADecisionMovesIfAServerDrains) {
  bad_.fail_first = 1000000;
  ExpectMoves();
}

TEST_F(FailoverTest, ADecisionMovesIfAServerCancels) {
  bad_.fail_first = 1000000;
  bad_.failure = grpc::Status::CANCELLED;
  ExpectMoves();
}

// The call is at the server when its connection ends.
TEST_F(FailoverTest, ADecisionMovesIfItsServerDies) {
  bad_.hang = true;
  std::thread death([this] {
    while (bad_.hanging == 0) std::this_thread::yield();
    bad_.Kill();
  });
  ExpectMoves();
  death.join();
}

TEST_F(FailoverTest, ADecisionMovesIfAServerGivesNoAnswer) {
  options_.deadline_seconds = Patience(2);
  bad_.hang = true;
  ExpectMoves();
}

// The kernel completes connections that no program accepts.
TEST_F(FailoverTest, ADecisionMovesIfAServerAcceptsNoConnection) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size),
            0);
  options_.deadline_seconds = Patience(2);
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      Client::Connect(absl::StrCat("127.0.0.1:", ntohs(address.sin_port), ",",
                                   good_.address()),
                      options_));
  for (int i = 0; i < 10; ++i) {
    v1::SelectRequest request;
    request.mutable_context()->set_decision_id(absl::StrCat(i));
    request.mutable_context()->mutable_candidates()->set_num_features(1);
    EXPECT_OK(client->Select(request));
  }
  EXPECT_EQ(good_.decisions().size(), 10u);
  close(listener);
}

// Nothing was decided. Other servers are asked at once, and the same ones when
// they ask for it, within the deadline.
TEST_F(FailoverTest, IfAServerIsOverloadedOthersAreAskedAtOnce) {
  for (FakeServer* server : {&bad_, &good_}) {
    server->failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "overloaded"};
    server->pushback_ms = 60000;
  }
  bad_.fail_first = 1000000;
  const auto client = Connect();
  EXPECT_OK(client->Select(RequestOfBad()));
  good_.fail_first = 1;
  EXPECT_THAT(client->Select(RequestOfBad(1)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(bad_.decisions().size(), 2u);
  EXPECT_EQ(good_.decisions().size(), 2u);
  bad_.fail_first = 1;
  good_.fail_first = 1;
  good_.pushback_ms = 1;
  EXPECT_OK(client->Select(RequestOfBad(2)));
}

TEST_F(FailoverTest, WhatAServerAnswersIsNotAskedElsewhere) {
  bad_.fail_first = 1000000;
  for (const grpc::StatusCode code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::INTERNAL,
        grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNKNOWN}) {
    bad_.failure = {code, "no"};
    EXPECT_THAT(Connect()->Select(RequestOfBad()),
                StatusIs(static_cast<absl::StatusCode>(code),
                         absl::StrCat("server ", bad_.address(), ": ",
                                      absl::StatusCodeToString(
                                          static_cast<absl::StatusCode>(code)),
                                      ": no")));
  }
  EXPECT_EQ(good_.decisions().size(), 0u);
}

TEST_F(FailoverTest, AnErrorNamesEveryAddressAndWhy) {
  options_.max_attempts = 1;
  bad_.fail_first = 1;
  good_.fail_first = 1;
  good_.failure = {grpc::StatusCode::UNAVAILABLE, "disk failed"};
  const absl::Status status = Connect()->Select(RequestOfBad()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            absl::StrCat("server ", bad_.address(),
                         ": UNAVAILABLE: draining; server ", good_.address(),
                         ": UNAVAILABLE: disk failed (2 attempts)"));
}

TEST_F(FailoverTest, ReportsWaitForTheServerOfTheirDecision) {
  options_.max_attempts = 3;
  bad_.fail_first = 1000000;
  v1::ReportShownRequest shown;
  shown.set_decision_id(RequestOfBad().context().decision_id());
  v1::ReportFeedbackRequest feedback;
  feedback.add_feedback()->set_decision_id(shown.decision_id());
  EXPECT_THAT(Connect()->ReportShown(shown), IsUnavailable("draining"));
  EXPECT_THAT(Connect()->ReportFeedback(feedback), IsUnavailable("draining"));
  EXPECT_EQ(bad_.shown().size(), 3u);
  EXPECT_EQ(bad_.feedback().size(), 3u);
  EXPECT_EQ(good_.shown().size() + good_.feedback().size(), 0u);
  // All spools are joined together.
  options_.any_server = true;
  EXPECT_OK(Connect()->ReportShown(shown));
  EXPECT_OK(Connect()->ReportFeedback(feedback));
  EXPECT_EQ(good_.shown().size(), 1u);
  EXPECT_EQ(good_.feedback().size(), 1u);
}

TEST_F(FailoverTest, RoundsAreBoundedByAttemptsAndByTheBudget) {
  bad_.fail_first = 1000000;
  good_.fail_first = 1000000;
  const auto asked = [this] {
    return bad_.decisions().size() + good_.decisions().size();
  };
  options_.max_attempts = 2;
  EXPECT_THAT(Connect()->Select(RequestOfBad()), IsUnavailable());
  EXPECT_EQ(asked(), 4u);
  options_.max_attempts.reset();
  options_.retry_budget = 3;
  const auto client = Connect();
  EXPECT_THAT(client->Select(RequestOfBad()), IsUnavailable());
  EXPECT_EQ(asked(), 4 + 5u);  // Each server once, and the budget.
  EXPECT_THAT(client->Select(RequestOfBad()), IsUnavailable());
  EXPECT_EQ(asked(), 9 + 2u);
}

TEST_F(FailoverTest, AServerThatFailedIsAvoided) {
  bad_.fail_first = 1;
  const auto client = Connect();
  for (int i = 0; i < 5; ++i) ASSERT_OK(client->Select(RequestOfBad(i)));
  // It is tried again after a while, which a slow machine may reach.
  EXPECT_LE(bad_.decisions().size(), 2u);
  EXPECT_GE(good_.decisions().size(), 4u);
}

TEST_F(FailoverTest, AStreamGoesOnAtTheNextServer) {
  bad_.fail_at = 11;
  std::vector<v1::RankStreamRequest> requests(40);
  for (int i = 0; i < 40; ++i) {
    *requests[i].mutable_select() = RequestOfBad(i);
  }
  const auto client = Connect();
  ASSERT_OK_AND_ASSIGN(const auto answers, client->RankStream(requests));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(answers[i].select().result().decision_id(),
              requests[i].select().context().decision_id());
  }
  EXPECT_EQ(bad_.decisions().size(), 11u);
  EXPECT_EQ(good_.decisions().size(), 30u);
  // Reports follow the answers.
  v1::ReportFeedbackRequest feedback;
  for (const auto& request : requests) {
    feedback.add_feedback()->set_decision_id(
        request.select().context().decision_id());
  }
  EXPECT_OK(client->ReportFeedback(feedback));
  EXPECT_EQ(bad_.feedback().size(), 10u);
  EXPECT_EQ(good_.feedback().size(), 30u);
}

}  // namespace
}  // namespace sortition
