// Clients that cost the server more than they send: its memory stays bounded
// and it serves on.
#include <arpa/inet.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  const uint64_t before = ResidentBytes(deployment.server().pid());
  const grpc::Status status =
      Send("/sortition.v1.Ranking/ReportFeedback", bytes, deployment.address());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("feedback has more than 10000 entries"));
  const uint64_t grown = PeakBytes(deployment.server().pid()) - before;
  std::cout << "32 MiB of empty entries: " << grown / kMebibyte
            << " MiB more memory\n";
  EXPECT_LT(grown, 270 * kMebibyte);
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
}

// Connections to the server that say nothing, or greet it; closed with the
// object.
class SilentConnections {
 public:
  SilentConnections(const std::string& address, int count,
                    const std::string& greeting = "") {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int blocks = greeting.empty() ? SOCK_NONBLOCK : 0;
      sockets_.push_back(::socket(AF_INET, SOCK_STREAM | blocks, 0));
      ::connect(sockets_.back(), reinterpret_cast<const sockaddr*>(&place),
                sizeof(place));
      if (!greeting.empty()) {
        ::send(sockets_.back(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
      }
    }
  }
  ~SilentConnections() {
    for (const int socket : sockets_) ::close(socket);
  }
  // Waits for the server's answers to the greetings; returns how many came.
  int NumGreeted() const {
    int count = 0;
    for (const int socket : sockets_) {
      char byte = 0;
      pollfd poll = {.fd = socket, .events = POLLIN, .revents = 0};
      ::poll(&poll, 1, static_cast<int>(1000 * kPatienceSeconds));
      count += ::recv(socket, &byte, 1, MSG_DONTWAIT) == 1 ? 1 : 0;
    }
    return count;
  }

  SilentConnections(const SilentConnections&) = delete;
  SilentConnections& operator=(const SilentConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

// Clients of HTTP/2 that have said so and call nothing.
TEST(IdleConnectionsTest, TakeLittleMemoryAndHoldUpNobody) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit raised = before;
  raised.rlim_cur = before.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  // The server needs descriptors of its own, and so does this process.
  const int count = std::min<int>(IsLongRun() ? 20'000 : 1'000,
                                  static_cast<int>(raised.rlim_cur) - 500);
  Deployment deployment;
  ASSERT_OK(deployment.StartServer({"--connections.idle_seconds=3600"}));
  const uint64_t start = ResidentBytes(deployment.server().pid());
  {
    // The preface of a client and its empty settings (RFC 9113, 3.4).
    const std::string hello(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
    const SilentConnections idle(deployment.address(), count, hello);
    EXPECT_EQ(idle.NumGreeted(), count);
    const uint64_t with = ResidentBytes(deployment.server().pid());
    const double each = static_cast<double>(with - start) / count;
    std::cout << count << " idle connections: " << with / kMebibyte << " MiB, "
              << each / 1024 << " KiB each\n";
    EXPECT_LT(each, 64 * 1024);
    SelectLoad load({.address = deployment.address()});
    EXPECT_TRUE(
        PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
    load.Stop();
    EXPECT_THAT(load.failures(), IsEmpty());
  }
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// What is not HTTP/2 at all, or breaks off in the middle of it.
TEST(RandomBytesTest, HoldUpNobody) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  const uint64_t before = ResidentBytes(deployment.server().pid());
  const std::string preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  RandomSequence random(SeedKey(1));
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 == 0 ? preface : "";
    const int length = 1 + static_cast<int>(2000 * random.Uniform());
    for (int j = 0; j < length; ++j) {
      bytes.push_back(static_cast<char>(256 * random.Uniform()));
    }
    const SilentConnections client(deployment.address(), 1, bytes);
  }
  SelectLoad load({.address = deployment.address()});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  const uint64_t grown = PeakBytes(deployment.server().pid()) - before;
  std::cout << "300 clients with random bytes: " << grown / kMebibyte
            << " MiB more memory\n";
  EXPECT_LT(grown, 70 * kMebibyte);
}

class DescriptorsTest : public testing::Test {
 protected:
  static constexpr rlim_t kDescriptors = 256;

  void StartServer(const std::vector<std::string>& flags) {
    ASSERT_OK(deployment_.StartServer(flags));
    start_bytes_ = ResidentBytes(deployment_.server().pid());
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
    const uint64_t grown = PeakBytes(deployment_.server().pid()) - start_bytes_;
    std::cout << "more connections than descriptors: " << grown / kMebibyte
              << " MiB more memory\n";
    EXPECT_LT(grown, 70 * kMebibyte);
  }

  Deployment deployment_;
  uint64_t start_bytes_ = 0;  // Resident, before there are clients.
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

TEST(DescriptorLimitTest, ServerAndSidecarRaiseItAtTheStart) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = before.rlim_max / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Deployment deployment;
  EXPECT_OK(deployment.StartServer());
  EXPECT_OK(deployment.StartSidecar());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const ChildProcess* child :
       {&deployment.server(), &deployment.sidecar()}) {
    rlimit raised = {};
    ASSERT_EQ(::prlimit(child->pid(), RLIMIT_NOFILE, nullptr, &raised), 0);
    EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  }
}

}  // namespace
}  // namespace sortition
