#include "client/rpc/client.h"

#include "client/rpc/uuid.h"
#include "io/files.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/patience.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::MatchesRegex;

v1::SelectRequest OneCandidate(const std::string& decision_id) {
  v1::SelectRequest request;
  request.mutable_context()->set_decision_id(decision_id);
  request.mutable_context()->mutable_candidates()->set_num_features(1);
  return request;
}

// No back-off: the tests count attempts.
CallOptions Quick(uint32_t max_attempts) {
  return {.deadline_seconds = 20,
          .max_attempts = max_attempts,
          .first_backoff_seconds = 0};
}

std::unique_ptr<Client> ConnectTo(const FakeServer& server,
                                  uint32_t max_attempts) {
  auto client = Client::Connect(server.address(), Quick(max_attempts));
  EXPECT_OK(client);
  return *std::move(client);
}

TEST(ClientTest, RetriesUnavailableWithTheSameDecisionId) {
  FakeServer server;
  server.fail_first = 2;
  const auto client = ConnectTo(server, 3);
  ASSERT_OK_AND_ASSIGN(const v1::SelectResponse response,
                       client->Select(OneCandidate("")));
  const auto decisions = server.decisions();
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[0].decision_id(), decisions[1].decision_id());
  EXPECT_EQ(decisions[0].decision_id(), decisions[2].decision_id());
  EXPECT_EQ(response.result().decision_id(), decisions[0].decision_id());
}

// No caller can end a call, so the server did: its port is closing.
TEST(ClientTest, RetriesWhatAServerThatEndsCancels) {
  FakeServer server;
  server.fail_first = 2;
  server.failure = grpc::Status::CANCELLED;
  const auto client = ConnectTo(server, 3);
  EXPECT_OK(client->Select(OneCandidate("a")));
  const auto decisions = server.decisions();
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[2].decision_id(), "a");
  server.fail_first = 3;
  EXPECT_THAT(client->Select(OneCandidate("b")),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(server.decisions().size(), 6u);
}

TEST(ClientTest, GivesUpAfterMaxAttemptsWithTheServersWords) {
  FakeServer server;
  server.fail_first = 10;
  const auto client = ConnectTo(server, 3);
  EXPECT_THAT(client->Select(OneCandidate("a")), IsUnavailable("draining"));
  EXPECT_EQ(server.decisions().size(), 3u);
}

// The address stands for two servers, and the first one dies after an attempt.
// It may have decided, so the other one must not decide again.
TEST(ClientTest, RetriesStayWithTheServerThatTheFirstAttemptReached) {
  FakeServer first, second;
  first.fail_first = 1000000;
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(absl::StrCat("ipv4:", first.address(),
                                                    ",", second.address()),
                                       {.deadline_seconds = 20,
                                        .max_attempts = 20,
                                        .first_backoff_seconds = 0.05,
                                        .max_backoff_seconds = 0.05}));
  std::thread death([&] {
    while (first.decisions().empty()) std::this_thread::yield();
    first.Stop();
  });
  // gRPC cancels an attempt that the dying server is answering; it is retried.
  EXPECT_THAT(client->Select(OneCandidate("a")), IsUnavailable());
  death.join();
  EXPECT_EQ(second.decisions().size(), 0u);
  // Another call finds the server that is left.
  EXPECT_OK(client->Select(OneCandidate("b")));
  EXPECT_EQ(second.decisions().size(), 1u);
}

// Nobody can have decided.
TEST(ClientTest, AFirstAttemptThatReachesNoServerIsRetriedAnywhere) {
  FakeServer gone, server;
  gone.Stop();
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(absl::StrCat("ipv4:", gone.address(),
                                                    ",", server.address()),
                                       Quick(3)));
  EXPECT_OK(client->Select(OneCandidate("a")));
}

TEST(ClientTest, RetriesNothingThatIsAnAnswer) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::INTERNAL,
        grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNKNOWN}) {
    FakeServer server;
    server.fail_first = 1;
    server.failure = grpc::Status(code, "no");
    const auto client = ConnectTo(server, 3);
    EXPECT_THAT(client->Select(OneCandidate("a")),
                StatusIs(static_cast<absl::StatusCode>(code), "no"));
    EXPECT_EQ(server.decisions().size(), 1u) << code;
  }
}

TEST(ClientTest, ReportsAreRetriedAndFeedbackKeepsItsId) {
  FakeServer server;
  server.fail_first = 1;
  const auto client = ConnectTo(server, 2);
  v1::ReportFeedbackRequest request;
  request.add_feedback()->set_decision_id("a");
  ASSERT_OK(client->ReportFeedback(request));
  const auto feedback = server.feedback();
  ASSERT_EQ(feedback.size(), 2u);
  EXPECT_EQ(feedback[0].feedback_id(), feedback[1].feedback_id());
  EXPECT_EQ(feedback[0].feedback_id().size(), 36u);
  server.fail_first = 1;
  v1::ReportShownRequest shown;
  shown.set_decision_id("a");
  EXPECT_OK(client->ReportShown(shown));
  EXPECT_EQ(server.shown().size(), 2u);
}

std::string AddressesOf(const FakeServer (&servers)[3]) {
  return absl::StrCat(servers[0].address(), ",", servers[1].address(), ",",
                      servers[2].address());
}

// Of three servers each gets a share of the decisions, and all that concerns a
// decision goes to the same one.
TEST(ClientTest, TheDecisionIdChoosesOneOfSeveralServers) {
  FakeServer servers[3];
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(AddressesOf(servers), Quick(1)));
  v1::ReportFeedbackRequest report;
  for (int i = 0; i < 60; ++i) {
    const std::string id = absl::StrCat("d", i);
    ASSERT_OK(client->Select(OneCandidate(id)));
    ASSERT_OK(client->Select(OneCandidate(id)));
    v1::ReportShownRequest shown;
    shown.set_decision_id(id);
    ASSERT_OK(client->ReportShown(shown));
    report.add_feedback()->set_decision_id(id);
  }
  ASSERT_OK(client->ReportFeedback(report));
  for (const FakeServer& server : servers) {
    std::set<std::string> ids;
    for (const auto& decision : server.decisions()) {
      ids.insert(decision.decision_id());
    }
    // 20 are expected, with a standard deviation of 3.7.
    EXPECT_GT(ids.size(), 5u);
    EXPECT_EQ(server.decisions().size(), 2 * ids.size());
    EXPECT_EQ(server.shown().size(), ids.size());
    std::set<std::string> fed;
    for (const auto& feedback : server.feedback()) {
      fed.insert(feedback.decision_id());
    }
    EXPECT_EQ(fed, ids);
  }
}

// Whether feedback arrives must not depend on the servers of other decisions.
TEST(ClientTest, FeedbackArrivesThoughAServerOfOthersIsDown) {
  for (size_t down = 0; down < 3; ++down) {
    FakeServer servers[3];
    ASSERT_OK_AND_ASSIGN(const auto client,
                         Client::Connect(AddressesOf(servers), Quick(1)));
    v1::ReportFeedbackRequest report;
    for (int i = 0; i < 60; ++i) {
      const std::string id = absl::StrCat("d", i);
      ASSERT_OK(client->Select(OneCandidate(id)));
      report.add_feedback()->set_decision_id(id);
    }
    servers[down].Stop();
    EXPECT_THAT(client->ReportFeedback(report), IsUnavailable());
    for (size_t i = 0; i < 3; ++i) {
      const size_t decided = servers[i].decisions().size();
      EXPECT_GT(decided, 5u);
      EXPECT_EQ(servers[i].feedback().size(), i == down ? 0 : decided);
    }
  }
}

TEST(ClientTest, CallsEndAtTheirDeadline) {
  FakeServer server;
  server.hang = true;
  CallOptions options;
  options.deadline_seconds = 0.1;
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(server.address(), options));
  EXPECT_THAT(client->Select(OneCandidate("a")),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  server.hang = false;
}

TEST(ClientTest, NoPauseGoesBeyondTheDeadline) {
  FakeServer server;
  server.fail_first = 1000000;
  // Pauses are uniform in [0, 10^6 s]. One in a million is below a second; then
  // the second or third ends the call.
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      Client::Connect(server.address(), {.deadline_seconds = 1,
                                         .max_attempts = 4,
                                         .first_backoff_seconds = 1e6,
                                         .max_backoff_seconds = 1e6}));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(client->Select(OneCandidate("a")), IsUnavailable("draining"));
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::duration<double>(Patience(60)));
}

TEST(ClientTest, EveryClientHasItsOwnConnection) {
  FakeServer server;
  ASSERT_OK_AND_ASSIGN(const auto first, Client::Connect(server.address()));
  ASSERT_OK_AND_ASSIGN(const auto second, Client::Connect(server.address()));
  ASSERT_OK(first->Select(OneCandidate("a")));
  ASSERT_OK(second->Select(OneCandidate("b")));
  ASSERT_OK(first->Select(OneCandidate("c")));
  EXPECT_EQ(server.peers().size(), 2u);
}

TEST(ClientTest, ServesManyThreads) {
  FakeServer server;
  ASSERT_OK_AND_ASSIGN(const auto client, Client::Connect(server.address()));
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (!client->Select(OneCandidate("")).ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  std::set<std::string> ids;
  for (const auto& decision : server.decisions()) {
    ids.insert(decision.decision_id());
  }
  EXPECT_EQ(ids.size(), 200u);
}

TEST(ClientTest, ConnectNamesWhatIsWrong) {
  EXPECT_THAT(Client::Connect(""), IsInvalidArgument("server is \"\""));
  EXPECT_THAT(Client::Connect("a:1", {.deadline_seconds = 0}),
              IsInvalidArgument("deadline_seconds is 0"));
  EXPECT_THAT(Client::Connect("a:1", {.max_attempts = 0}),
              IsInvalidArgument("max_attempts is 0"));
  EXPECT_THAT(Client::Connect("a:1", {.first_backoff_seconds = 3,
                                      .max_backoff_seconds = 2}),
              IsInvalidArgument("first_backoff_seconds is 3"));
}

TEST(FromGrpcStatusTest, CodesKeepTheirMeaning) {
  // Both libraries number the codes in the same way, 1 to 16.
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status from(static_cast<grpc::StatusCode>(code), "why");
    EXPECT_THAT(FromGrpcStatus(from),
                StatusIs(static_cast<absl::StatusCode>(code), "why"));
  }
  EXPECT_OK(FromGrpcStatus(grpc::Status::OK));
  // A peer with codes of its own would send this.
  EXPECT_THAT(FromGrpcStatus(grpc::Status(grpc::StatusCode::DO_NOT_USE, "odd")),
              StatusIs(absl::StatusCode::kUnknown, "odd"));
}

TEST(UuidTest, IsOfVersionSevenAndNow) {
  const auto milliseconds_now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const int64_t before = milliseconds_now();
  const std::string uuid = MakeUuidV7();
  EXPECT_THAT(uuid, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-"
                                 "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  // The first 48 bits are milliseconds since the epoch.
  const int64_t milliseconds =
      std::stoll(uuid.substr(0, 8) + uuid.substr(9, 4), nullptr, 16);
  EXPECT_GE(milliseconds, before);
  EXPECT_LE(milliseconds, milliseconds_now());
}

std::vector<v1::RankStreamRequest> StreamOf(int count) {
  std::vector<v1::RankStreamRequest> requests(count);
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      *requests[i].mutable_select() = OneCandidate(absl::StrCat(i));
    } else {
      *requests[i].mutable_rank()->mutable_context() =
          OneCandidate(absl::StrCat(i)).context();
    }
  }
  return requests;
}

TEST(ClientTest, StreamsToTheServersOfTheDecisionsAnswerInOrder) {
  FakeServer first, second;
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      Client::Connect(first.address() + "," + second.address(), Quick(1)));
  auto requests = StreamOf(200);
  requests[7].Clear();
  ASSERT_OK_AND_ASSIGN(const auto answers, client->RankStream(requests));
  ASSERT_EQ(answers.size(), 200u);
  for (int i = 0; i < 200; ++i) {
    if (i == 7) {
      EXPECT_EQ(answers[i].error().code(), 3);
      continue;
    }
    EXPECT_EQ(answers[i].has_rank(), i % 2 == 1);
    const v1::DecisionResult& result =
        i % 2 == 1 ? answers[i].rank().result() : answers[i].select().result();
    EXPECT_EQ(result.decision_id(), absl::StrCat(i));
  }
  EXPECT_GT(first.decisions().size(), 0u);
  EXPECT_GT(second.decisions().size(), 0u);
  EXPECT_EQ(first.decisions().size() + second.decisions().size(), 199u);
}

// The first stream ends behind an answer that the caller has; the second one
// begins where it ended.
TEST(ClientTest, AStreamThatDrainsIsContinued) {
  FakeServer server;
  const auto client = ConnectTo(server, 3);
  server.fail_at = 41;
  ASSERT_OK_AND_ASSIGN(const auto answers, client->RankStream(StreamOf(100)));
  ASSERT_EQ(answers.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    const v1::DecisionResult& result =
        i % 2 == 1 ? answers[i].rank().result() : answers[i].select().result();
    EXPECT_EQ(result.decision_id(), absl::StrCat(i));
  }
  EXPECT_EQ(server.decisions().size(), 101u);
  server.failure = grpc::Status::CANCELLED;
  server.fail_at = 142;  // The 41st of these.
  ASSERT_OK(client->RankStream(StreamOf(100)));
  EXPECT_EQ(server.decisions().size(), 202u);
  server.failure = {grpc::StatusCode::UNAVAILABLE, "draining"};
  server.fail_first = 100;
  EXPECT_THAT(client->RankStream(StreamOf(1)), IsUnavailable("draining"));
}

TEST(ClientTest, TokensDoNotGoToOtherMachinesOverPlainText) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "token", "secret\n"));
  const auto connect = [](const std::string& address,
                          const SecurityOptions& security) {
    return Client::Connect(address, {.security = security}).status();
  };
  const SecurityOptions token = {.token_file = dir / "token"};
  EXPECT_OK(connect("localhost:8500,127.0.0.1:8501", token));
  for (const char* address :
       {"ranking.example:8500", "10.0.0.1:8500", "localhost:8500,a.b:8500",
        "dns:///a.b:1", "dns://127.0.0.1/a.b:1", "127.evil.example:1",
        "[2001:db8::1]:1"}) {
    EXPECT_THAT(connect(address, token), IsInvalidArgument("plaintext_tokens"))
        << address;
    SecurityOptions permitted = token;
    permitted.plaintext_tokens = true;
    EXPECT_OK(connect(address, permitted));
    SecurityOptions encrypted = token;
    encrypted.server_name = "ranking.example";
    EXPECT_OK(connect(address, encrypted));
    EXPECT_OK(connect(address, {}));
  }
}

TEST(ClientTest, AddressesOfThisMachine) {
  for (const char* address :
       {"localhost", "localhost:8500", "127.0.0.1:8500", "127.1.2.3:8500",
        "[::1]:8500", "::1", "unix:/run/sortition", "unix-abstract:sortition",
        "ipv4:127.0.0.1:1,127.0.0.2:2", "ipv6:[::1]:1", "dns:localhost:1",
        "dns:///localhost:1", "dns://9.9.9.9/localhost:1"}) {
    EXPECT_TRUE(StaysOnThisMachine(address)) << address;
  }
  for (const char* address :
       {"", "a.b", "10.0.0.1:8500", "0.0.0.0:1", "127.evil.example:1",
        "localhost.evil.example:1", "[::]:1", "2001:db8::1",
        "ipv4:127.0.0.1:1,10.0.0.1:2", "dns://localhost/a.b:1", "dns://a"}) {
    EXPECT_FALSE(StaysOnThisMachine(address)) << address;
  }
}

}  // namespace
}  // namespace sortition
