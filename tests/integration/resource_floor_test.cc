// Clients that cost the server more than they send: its memory stays bounded
// and it serves on.
#include <arpa/inet.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/peak_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMebibyte = 1 << 20;

grpc::Status Send(const std::string& method, const std::string& bytes,
                  const std::string& address) {
  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

// 2 bytes on the wire become a message of 90 bytes in memory.
TEST(ResourceFloorTest, EmptyEntriesAreCountedBeforeTheyTakeMemory) {
  std::string bytes(32 * kMebibyte, '\0');
  for (size_t i = 0; i < bytes.size(); i += 2) bytes[i] = 0x0a;
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  const grpc::Status status =
      Send("/sortition.v1.Ranking/ReportFeedback", bytes, deployment.address());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("feedback has more than 10000 entries"));
  const uint64_t peak = PeakBytes(deployment.server().pid());
  RecordProperty("peak_bytes", absl::StrCat(peak));
  EXPECT_LT(peak, 300 * kMebibyte);
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
}

// Connections to the server that say nothing; closed with the object.
class SilentConnections {
 public:
  SilentConnections(const std::string& address, int count) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      ::connect(sockets_.back(), reinterpret_cast<const sockaddr*>(&place),
                sizeof(place));
    }
  }
  ~SilentConnections() {
    for (const int socket : sockets_) ::close(socket);
  }
  SilentConnections(const SilentConnections&) = delete;
  SilentConnections& operator=(const SilentConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

class DescriptorsTest : public testing::Test {
 protected:
  static constexpr rlim_t kDescriptors = 256;

  void StartServer(const std::vector<std::string>& flags) {
    ASSERT_OK(deployment_.StartServer(flags));
    const rlimit limit = {kDescriptors, kDescriptors};
    ASSERT_EQ(
        ::prlimit(deployment_.server().pid(), RLIMIT_NOFILE, &limit, nullptr),
        0);
    // More than there are descriptors; also with silent clients, a decision
    // can be logged and metrics can be scraped.
    silent_.emplace(deployment_.address(), 300);
    ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto metrics = deployment_.ServerMetrics();
      return metrics.ok() &&
             MetricSum(*metrics, "sortition_connections_refused_total") > 0;
    }));
  }

  void ExpectServesNewClients() {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      SelectLoad load({.address = deployment_.address()});
      const bool answers =
          PollUntil(1, [&] { return load.num_answered() > 0; });
      load.Stop();
      return answers;
    }));
  }

  Deployment deployment_;
  std::optional<SilentConnections> silent_;
};

TEST_F(DescriptorsTest, ServerServesOnceSomeAreFreeAgain) {
  StartServer({"--connections.handshake_seconds=3600"});
  silent_.reset();
  ExpectServesNewClients();
}

TEST_F(DescriptorsTest, SilentConnectionsExpire) {
  StartServer({"--connections.handshake_seconds=0.5"});
  ExpectServesNewClients();
}

TEST(DescriptorLimitTest, IsRaisedAtTheStart) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = before.rlim_max / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Deployment deployment;
  EXPECT_OK(deployment.StartServer());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit of_server = {};
  ASSERT_EQ(
      ::prlimit(deployment.server().pid(), RLIMIT_NOFILE, nullptr, &of_server),
      0);
  EXPECT_EQ(of_server.rlim_cur, before.rlim_max);
}

}  // namespace
}  // namespace sortition
