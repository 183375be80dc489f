// Requests far above the limit, many at once. gRPC reads a request to its end
// before it looks at its size, so that what bounds them is the memory that it
// may take.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::IsEmpty;

// 16 clients with connections of their own send 32 MiB each, four times.
TEST(OversizedTest, ManyAtOnceTakeNoMoreMemoryThanThereIsForRequests) {
  constexpr uint64_t kMemory = 64 * kMebibyte;
  Deployment deployment;
  ASSERT_OK(deployment.StartServer(
      {"--limits.max_message_bytes=1MiB",
       absl::StrCat("--limits.memory_bytes=", kMemory)}));
  const uint64_t before = ResidentBytes(deployment.server().pid());
  v1::SelectRequest request;
  *request.mutable_context() = MakeContext(1024, 8192, 1);
  std::mutex mutex;
  std::map<grpc::StatusCode, int> codes;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1::Ranking::NewStub(grpc::CreateCustomChannel(
          deployment.address(), grpc::InsecureChannelCredentials(), arguments));
      for (int call = 0; call < 4; ++call) {
        grpc::ClientContext context;
        v1::SelectResponse response;
        const auto code = stub->Select(&context, request, &response);
        const std::lock_guard lock(mutex);
        ++codes[code.error_code()];
      }
    });
  }
  clients.clear();
  // Their connection may be closed as well.
  EXPECT_GT(codes[grpc::StatusCode::RESOURCE_EXHAUSTED], 0);
  EXPECT_EQ(codes[grpc::StatusCode::RESOURCE_EXHAUSTED] +
                codes[grpc::StatusCode::UNAVAILABLE],
            64);
  const uint64_t grown = PeakBytes(deployment.server().pid()) - before;
  std::cout << "64 requests of 32 MiB: " << grown / kMebibyte
            << " MiB more memory\n";
  EXPECT_LT(grown, 3 * kMemory);
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
}

}  // namespace
}  // namespace sortition
