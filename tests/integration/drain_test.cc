// SIGTERM under load: health reports it, running calls finish, nothing is lost.
#include <arpa/inet.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Key;

// ServingStatus of grpc.health.v1, or -1 if the call fails. Field 1 of the
// response is the status, encoded as 0x08 and the value.
int CheckHealth(grpc::GenericStub* stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(5));
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub->PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                     request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  grpc::Slice bytes;
  if (!status.ok() || !response.DumpToSingleSlice(&bytes).ok() ||
      bytes.size() != 2 || bytes.begin()[0] != 0x08) {
    return -1;
  }
  return bytes.begin()[1];
}

constexpr int kServing = 1;
constexpr int kNotServing = 2;

TEST(DrainTest, FinishesWhatRunsAndLogsAllItAnswered) {
  Deployment deployment;
  ASSERT_OK(deployment.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  ASSERT_OK(deployment.StartServer({"--drain_grace_seconds=1"}));
  grpc::GenericStub health(deployment.NewChannel());
  EXPECT_EQ(CheckHealth(&health), kServing);
  SelectLoad load({.address = deployment.address()});
  ASSERT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 500; }));

  deployment.server().Signal(SIGTERM);
  int last_health = kServing;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    last_health = CheckHealth(&health);
    return last_health != kServing;
  }));
  EXPECT_EQ(last_health, kNotServing);
  // The grace period lets clients go away: requests are still answered.
  const uint64_t answered = load.num_answered();
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return load.num_answered() > answered; }));

  EXPECT_EQ(deployment.server().Wait(kPatienceSeconds), 0)
      << deployment.server().StderrText();
  load.Stop();
  // gRPC itself answers CANCELLED to a call that arrives in the instant in
  // which its server shuts down; such a call is neither decided nor logged.
  EXPECT_THAT(load.failures(), Each(Key(AnyOf(grpc::StatusCode::UNAVAILABLE,
                                              grpc::StatusCode::CANCELLED))));

  // Every segment is closed with a footer, and every answer is in one of them
  // exactly once.
  std::vector<std::string> logged;
  ASSERT_OK(VisitRecords(deployment.spool(), true, [&](const auto& record) {
    if (record.has_decision())
      logged.push_back(record.decision().decision_id());
  }));
  std::sort(logged.begin(), logged.end());
  EXPECT_EQ(std::adjacent_find(logged.begin(), logged.end()), logged.end());
  std::vector<std::string> ids = load.answered();
  std::sort(ids.begin(), ids.end());
  EXPECT_TRUE(
      std::includes(logged.begin(), logged.end(), ids.begin(), ids.end()))
      << ids.size() << " answered, " << logged.size() << " logged";
}

TEST(DrainTest, IdleServerEndsAtOnce) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  deployment.server().Signal(SIGTERM);
  EXPECT_EQ(deployment.server().Wait(kPatienceSeconds), 0);
}

// Returns how long the process lives after it has said "drained". A silent
// client of the metrics port is connected.
double SecondsAfterDrained() {
  Deployment deployment;
  EXPECT_OK(deployment.StartServer());
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(deployment.metrics_port()));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(silent, reinterpret_cast<const sockaddr*>(&place),
                      sizeof(place)),
            0);
  deployment.server().Signal(SIGTERM);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return absl::StrContains(deployment.server().StderrText(), "drained");
  }));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(deployment.server().Wait(kPatienceSeconds), 0);
  ::close(silent);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// A busy machine may delay any of them; what the program itself does there
// delays each.
TEST(DrainTest, NothingIsLeftToDoOnceItSaysDrained) {
  double best = SecondsAfterDrained();
  for (int i = 0; i < 4 && best >= 0.1; ++i) {
    best = std::min(best, SecondsAfterDrained());
  }
  EXPECT_LT(best, Patience(0.1));
}

}  // namespace
}  // namespace sortition
