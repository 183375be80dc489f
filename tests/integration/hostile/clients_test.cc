// Clients that do not take answers, do not end requests, do not answer pings or
// do nothing: the real server serves others meanwhile, logs what it answers and
// nothing else, and its memory stays bounded.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
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
#include "tests/testing/raw_http2.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // Sanitizers need memory.
#else
constexpr bool kSanitized = false;
#endif

constexpr char kSelect[] = "/sortition.v1.Ranking/Select";
constexpr char kRankStream[] = "/sortition.v1.Ranking/RankStream";
using grpc::health::v1::HealthCheckResponse;

// A watch of an honest client, which answers pings while it waits for news.
class Watch {
 public:
  explicit Watch(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(grpc::health::v1::Health::NewStub(channel)),
        reader_(stub_->Watch(&context_, {})) {
    HealthCheckResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    thread_ = std::thread([this] {
      HealthCheckResponse next;
      while (reader_->Read(&next)) {
      }
    });
  }
  // Returns how it ends: CANCELLED, or as the server has ended it before.
  grpc::StatusCode End() {
    context_.TryCancel();
    thread_.join();
    return reader_->Finish().error_code();
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
  std::thread thread_;
};

class HostileClientsTest : public testing::Test {
 protected:
  using Connections = std::vector<std::unique_ptr<RawConnection>>;

  void Start(const std::vector<std::string>& flags) {
    ASSERT_OK(deployment_.StartServer(flags));
    start_bytes_ = ResidentBytes(deployment_.server().pid());
  }
  // Prints how much memory the server has taken at most, and bounds it.
  ~HostileClientsTest() override {
    const uint64_t grown = PeakBytes(deployment_.server().pid()) - start_bytes_;
    std::cout << "the server took at most " << grown / kMebibyte
              << " MiB more memory\n";
    if (!kSanitized) {
      EXPECT_LT(grown, 120 * kMebibyte);
    }
  }

  int port() const {
    const std::string address = deployment_.address();
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    return port;
  }
  // Opens connections that send `bytes`.
  Connections Connect(int count, const std::string& bytes) {
    Connections connections;
    for (int i = 0; i < count; ++i) {
      connections.push_back(std::make_unique<RawConnection>(port()));
      EXPECT_TRUE(connections.back()->Send(bytes));
    }
    return connections;
  }
  static int NumOpen(const Connections& connections) {
    int count = 0;
    for (const auto& connection : connections) {
      count += connection->IsClosed() ? 0 : 1;
    }
    return count;
  }
  double Metric(const std::string& name) const {
    const auto text = deployment_.ServerMetrics();
    return text.ok() ? MetricSum(*text, name) : 0;
  }
  double NumAnswered(const std::string& method, const std::string& code) const {
    return Metric(absl::StrCat("sortition_requests_total{code=\"", code,
                               "\",method=\"", method, "\"}"));
  }
  void ExpectServes() {
    SelectLoad load({.address = deployment_.address()});
    EXPECT_TRUE(
        PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
    load.Stop();
    EXPECT_THAT(load.failures(), IsEmpty());
  }
  static std::string SelectBytes() {
    v1::SelectRequest request;
    *request.mutable_context() = MakeContext(10, 8, 1);
    return request.SerializeAsString();
  }

  Deployment deployment_;
  uint64_t start_bytes_ = 0;  // Resident, before there are clients.
};

// 20 connections with 100 calls each, and 20 with a stream whose answers have
// more than gRPC keeps of one.
TEST_F(HostileClientsTest, WithoutAWindowAreGivenUp) {
  Start({"--admission.answer_seconds=1", "--admission.max_waiting=10000",
         "--admission.max_wait_seconds=60"});
  std::string calls = Preface(0);
  for (uint32_t i = 0; i < 100; ++i) {
    calls += Call(2 * i + 1, kSelect, SelectBytes());
  }
  v1::RankStreamRequest item;
  *item.mutable_rank()->mutable_context() = MakeContext(1000, 2, 1);
  item.mutable_rank()->mutable_context()->set_return_scores(true);
  item.mutable_rank()->mutable_context()->set_return_probabilities(true);
  std::string stream = Preface(0) + BeginCall(1, kRankStream);
  for (int i = 0; i < 7; ++i) {
    stream += Message(1, 0, item.SerializeAsString());
  }
  const Connections callers = Connect(20, calls);
  const Connections streams = Connect(20, stream);
  ExpectServes();
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Metric("sortition_answers_dropped_total") >= 20 * 100 + 20;
  })) << Metric("sortition_answers_dropped_total");
  EXPECT_EQ(NumAnswered("Select", "INTERNAL"), 0);
}

// 64,000 bytes with as many empty ids as fit become a megabyte of memory. Many
// such calls at once, of three methods, leave one of each behind.
TEST_F(HostileClientsTest, OfManyEmptyEntriesLeaveLittleMemory) {
  constexpr int kCalls = 128;
  constexpr int kEntries = 32'000;
  Start({});
  v1::RankRequest request;
  for (int i = 0; i < kEntries; ++i) {
    request.mutable_context()->mutable_candidates()->add_ids("");
  }
  const grpc::Slice slice(request.SerializeAsString());
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::GenericStub stub(deployment_.NewChannel());
  struct Caller {
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
  };
  for (const char* method : {"Rank", "Select", "Label"}) {
    grpc::CompletionQueue queue;
    std::vector<Caller> callers(kCalls);
    for (Caller& caller : callers) {
      caller.call = stub.PrepareUnaryCall(
          &caller.context, absl::StrCat("/sortition.v1.Ranking/", method),
          bytes, &queue);
      caller.call->StartCall();
      caller.call->Finish(&caller.response, &caller.status, nullptr);
    }
    void* tag = nullptr;
    bool ok = false;
    for (int i = 0; i < kCalls; ++i) queue.Next(&tag, &ok);
    for (const Caller& caller : callers) EXPECT_FALSE(caller.status.ok());
  }
  const uint64_t left =
      ResidentBytes(deployment_.server().pid()) - start_bytes_;
  std::cout << "left behind: " << left / kMebibyte << " MiB\n";
  if (!kSanitized) {
    EXPECT_LT(left, 70 * kMebibyte);
  }
  ExpectServes();
}

// A byte at a time of a request that never ends (slow loris).
TEST_F(HostileClientsTest, WhoseRequestsDoNotEndHoldUpNobody) {
  Start({});
  const std::string call = Call(1, kSelect, SelectBytes());
  const std::string begin = Preface(65535) + call.substr(0, 40);
  const Connections clients = Connect(200, begin);
  SelectLoad load({.address = deployment_.address()});
  for (size_t i = 40; i + 1 < call.size(); ++i) {
    const uint64_t before = load.num_answered();
    for (const auto& client : clients) {
      ASSERT_TRUE(client->Send(call.substr(i, 1)));
    }
    ASSERT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load.num_answered() > before; }));
  }
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  EXPECT_EQ(NumOpen(clients), 200);
}

// They have a stream, so that they are not idle.
TEST_F(HostileClientsTest, ThatGiveNoSignOfLifeAreClosed) {
  Start({"--connections.keepalive_seconds=1",
         "--connections.keepalive_timeout_seconds=0.5"});
  Watch watch(deployment_.NewChannel());
  const Connections silent =
      Connect(20, Preface(65535) + BeginCall(1, kRankStream));
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return NumOpen(silent) == 0; }));
  EXPECT_EQ(watch.End(), grpc::StatusCode::CANCELLED);
  ExpectServes();
}

// After a second a connection takes no more calls, after half of one more it is
// closed. That costs honest clients no call.
TEST_F(HostileClientsTest, ThatStayForEverAreClosed) {
  Start({"--connections.age_seconds=1", "--connections.age_grace_seconds=0.5"});
  SelectLoad load({.address = deployment_.address()});
  for (int i = 0; i < 2; ++i) {
    const Connections old =
        Connect(20, Preface(65535) + BeginCall(1, kRankStream));
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] { return NumOpen(old) == 0; }));
  }
  load.Stop();
  EXPECT_GT(load.num_answered(), 100);
  EXPECT_THAT(load.failures(), IsEmpty());
}

// They have greeted the server.
TEST_F(HostileClientsTest, ThatCallNothingAreClosed) {
  Start({"--connections.idle_seconds=0.5"});
  const Connections idle = Connect(200, Preface(65535));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] { return NumOpen(idle) == 0; }));
  ExpectServes();
}

class CancelledCallsTest : public HostileClientsTest {
 protected:
  static constexpr int kCalls = 20;

  CancelledCallsTest() {
    *aggregate_.mutable_context() = MakeContext(101, 2, 1);
    aggregate_.set_bootstrap_samples(100'000);
    *rank_.mutable_context() = MakeContext(20'000, 2, 1);
    rank_.set_top_k(1);
  }

  // Makes calls for the only thread of the pool, half of them Aggregate and
  // half of them Rank, and cancels all once more than half of them wait.
  void CancelLargeCalls() {
    const auto stub = v1::Ranking::NewStub(deployment_.NewChannel());
    std::vector<grpc::ClientContext> contexts(kCalls);
    std::atomic<int> num_ended = 0;
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCalls; ++i) {
      callers.emplace_back([&, i] {
        if (i < kCalls / 2) {
          v1::AggregateResponse response;
          stub->Aggregate(&contexts[i], aggregate_, &response).error_code();
        } else {
          v1::RankResponse response;
          stub->Rank(&contexts[i], rank_, &response).error_code();
        }
        ++num_ended;
      });
    }
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return NumWaiting() > kCalls / 2 || num_ended == kCalls;
    }));
    for (grpc::ClientContext& context : contexts) context.TryCancel();
  }
  double NumWaiting() const {
    return Metric("sortition_calls_waiting{class=\"long\"}");
  }

  v1::AggregateRequest aggregate_;
  v1::RankRequest rank_;
};

// Small calls that are cancelled in the packet that makes them, and large ones
// that wait in the pool. A fast server may begin a call before it reads that
// the call was cancelled, so large calls are made until one was still waiting.
TEST_F(CancelledCallsTest, AreNotLogged) {
  Start({"--admission.max_long_wait_seconds=3600"});
  std::string bytes = Preface(65535);
  for (uint32_t i = 0; i < 100; ++i) {
    bytes += Call(2 * i + 1, kSelect, SelectBytes()) + Reset(2 * i + 1);
  }
  const Connections clients = Connect(1, bytes);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    CancelLargeCalls();
    // The cancelled calls leave the pool before their answers are counted.
    return PollUntil(kPatienceSeconds, [&] { return NumWaiting() == 0; }) &&
           NumAnswered("Rank", "CANCELLED") > 0;
  }));
  ExpectServes();
  std::cout << "cancelled: " << NumAnswered("Select", "CANCELLED")
            << " small calls, " << NumAnswered("Rank", "CANCELLED")
            << " large ones\n";
  // A call that no longer waits may still be in work: it is logged before it is
  // counted.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const double decided = NumAnswered("Aggregate", "OK") +
                           NumAnswered("Rank", "OK") +
                           NumAnswered("Select", "OK");
    const auto ids = SpoolDecisionIds(deployment_.spool());
    return ids.ok() && static_cast<double>(ids->size()) == decided;
  }));
}

class ShortOfDescriptorsTest : public HostileClientsTest {
 protected:
  // Sets how many descriptors the server may have; the hard limit stays.
  void SetLimit(rlim_t descriptors) {
    const pid_t pid = deployment_.server().pid();
    rlimit limit = {};
    ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = std::min(descriptors, limit.rlim_max);
    ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
};

// Of 256 descriptors 64 are kept. 60 connections say nothing for five seconds,
// 30 say something now and then, one has a watch, four have calls. Others come
// one after the other until none of the 60 is left.
TEST_F(ShortOfDescriptorsTest, TheIdlestMakeRoomForOthers) {
  Start({"--connections.idle_seconds=3600"});
  SetLimit(256);
  SelectLoad load({.address = deployment_.address()});
  Watch watch(deployment_.NewChannel());
  const Connections busy = Connect(30, Preface(65535));
  const Connections idle = Connect(60, Preface(65535));
  // Updates the window of the connection (RFC 9113, 6.9).
  const std::string sign =
      Frame(static_cast<FrameType>(8), 0, 0, absl::string_view("\0\0\0\1", 4));
  Connections later;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    for (const auto& connection : busy) connection->Send(sign);
    std::erase_if(later, [](const auto& it) { return it->IsClosed(); });
    later.push_back(std::make_unique<RawConnection>(port()));
    later.back()->Send(Preface(65535));
    return NumOpen(idle) == 0;
  }));
  EXPECT_EQ(NumOpen(busy), 30);
  EXPECT_GE(Metric("sortition_connections_ended_total"), 60);
  EXPECT_EQ(watch.End(), grpc::StatusCode::CANCELLED);
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  // New clients are served as well.
  later.clear();
  ExpectServes();
}

// Not one descriptor is left: what is asked over connections that there are
// says so, and the port recovers by itself.
TEST_F(ShortOfDescriptorsTest, APortThatTakesNothingTellsHealth) {
  Start({});
  const auto health =
      grpc::health::v1::Health::NewStub(deployment_.NewChannel());
  const auto is = [&](HealthCheckResponse::ServingStatus status) {
    return PollUntil(kPatienceSeconds, [&] {
      grpc::ClientContext context;
      HealthCheckResponse response;
      const grpc::Status result = health->Check(&context, {}, &response);
      return result.ok() && response.status() == status;
    });
  };
  ASSERT_TRUE(is(HealthCheckResponse::SERVING));
  SetLimit(3);
  EXPECT_TRUE(is(HealthCheckResponse::NOT_SERVING));
  ExpectLogged(deployment_.server(), "the port takes no connections");
  SetLimit(RLIM_INFINITY);
  EXPECT_TRUE(is(HealthCheckResponse::SERVING));
  ExpectServes();
}

}  // namespace
}  // namespace sortition
