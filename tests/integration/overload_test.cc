// More calls than the server can answer: its memory stays bounded, health
// checks are answered, and it serves as before once the load is gone.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer mistakes what gRPC's client, which is not instrumented,
// passes between threads for races, and compares each with all that it has
// suppressed before: with this much data that takes hours. The subject of the
// test is the server, a process of its own that is watched.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "report_bugs=0"; }
#endif

namespace sortition {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // Sanitizers need memory and time.
#else
constexpr bool kSanitized = false;
#endif

std::shared_ptr<grpc::Channel> OwnConnection(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

grpc::Status Check(grpc::health::v1::Health::Stub* stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(20));
  grpc::health::v1::HealthCheckResponse response;
  return stub->Check(&context, {}, &response);
}

TEST(OverloadTest, LargeRequestsCannotTakeAllMemory) {
  constexpr uint64_t kMemory = 128 * kMebibyte;
  constexpr int kClients = 32;
  constexpr int kCalls = kSanitized ? 40 : 200;
  Deployment deployment;
  ASSERT_OK(deployment.StartServer(
      {absl::StrCat("--limits.memory_bytes=", kMemory)}));
  const uint64_t before = ResidentBytes(deployment.server().pid());
  // A request has 16 MiB of values; those of all clients are four times the
  // limit.
  v1::SelectRequest request;
  *request.mutable_context() = MakeContext(1024, 4096, 1);
  std::atomic<int> num_calls = 0;
  std::mutex mutex;
  std::set<grpc::StatusCode> codes;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      const auto stub =
          v1::Ranking::NewStub(OwnConnection(deployment.address()));
      while (num_calls++ < kCalls) {
        grpc::ClientContext context;
        v1::SelectResponse response;
        const grpc::Status status = stub->Select(&context, request, &response);
        const std::lock_guard lock(mutex);
        codes.insert(status.error_code());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(codes, Each(AnyOf(grpc::StatusCode::OK,
                                grpc::StatusCode::RESOURCE_EXHAUSTED,
                                grpc::StatusCode::UNAVAILABLE)));
  const uint64_t grown = PeakBytes(deployment.server().pid()) - before;
  RecordProperty("grown_bytes", absl::StrCat(grown));
  if (!kSanitized) {
    EXPECT_LT(grown, kMemory * 3);
  }

  const auto health =
      grpc::health::v1::Health::NewStub(OwnConnection(deployment.address()));
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return Check(health.get()).ok(); }));
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
}

TEST(OverloadTest, HealthIsAnsweredAmongRequestsThatWait) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  // One thread of the server, and more calls than that under way all the time.
  SelectLoad load({.address = deployment.address(), .threads = 100});
  ASSERT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 1000; }));
  const auto health =
      grpc::health::v1::Health::NewStub(OwnConnection(deployment.address()));
  for (int i = 0; i < 50; ++i) {
    const grpc::Status status = Check(health.get());
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
}

}  // namespace
}  // namespace sortition
