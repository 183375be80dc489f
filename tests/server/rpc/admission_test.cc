// Calls that the server has no time for are refused at once and not logged.
#include "server/rpc/admission.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc/call_pool.h"
#include "server/rpc/waiting_calls.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

std::string Refused(const std::string& reason) {
  return absl::StrCat("sortition_requests_refused_total{reason=\"", reason,
                      "\"}");
}

// Takes a time that the test chooses.
class SlowCall final : public QueuedCall, public PooledCall {
 public:
  explicit SlowCall(double seconds) : nanos_(int64_t(1e9 * seconds)) {}
  void TakeUp() override {
    const int64_t end = MonotonicNanos() + nanos_;
    while (MonotonicNanos() < end) std::this_thread::yield();
    ++runs;
  }
  void Run(DecisionScratch*) override { TakeUp(); }
  std::atomic<int> runs = 0;

 private:
  const int64_t nanos_;
};

class WaitingCallsTest : public testing::Test {
 protected:
  // Adds `n` calls that may wait for ever; false if one was refused.
  bool Add(int n, QueuedCall* call) {
    for (int i = 0; i < n; ++i) {
      if (waiting_.Check(1e9).has_value()) return false;
      waiting_.Add(call);
    }
    return true;
  }
  void ServeAll() {
    while (!waiting_.empty()) waiting_.Serve(MonotonicNanos());
  }

  Metrics metrics_;
  config::v1::AdmissionLimits limits_ = [] {
    config::v1::AdmissionLimits limits;
    limits.set_max_waiting(5);
    limits.set_max_wait_seconds(1e6);
    return limits;
  }();
  Admission admission_{limits_, &metrics_};
  WaitingCalls waiting_{&admission_};
};

TEST_F(WaitingCallsTest, AreBounded) {
  SlowCall call(0);
  EXPECT_TRUE(Add(5, &call));
  const auto refusal = waiting_.Check(1e9);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kWaiting);
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("sortition_calls_waiting{class=\"short\"} 5"));
  ServeAll();
  EXPECT_EQ(call.runs, 5);
  EXPECT_FALSE(waiting_.Check(1e9).has_value());
}

// A call takes 10 ms at least, so four that wait take 40 ms at least.
TEST_F(WaitingCallsTest, KnowWhatCannotBeInTime) {
  SlowCall call(0.01);
  EXPECT_FALSE(waiting_.Check(0).has_value()) << "nothing is known";
  EXPECT_TRUE(Add(1, &call));
  ServeAll();
  EXPECT_FALSE(waiting_.Check(0).has_value()) << "nothing waits";
  EXPECT_TRUE(Add(4, &call));
  const auto refusal = waiting_.Check(0.039);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kDeadline);
  EXPECT_GE(refusal->retry_seconds, 0.04);
  EXPECT_FALSE(waiting_.Check(1e9).has_value());
}

// Refusals that took 50 ms may not be followed by more before 500 ms were spent
// on deciding: the queue is not read meanwhile.
TEST_F(WaitingCallsTest, RefusingTakesAShareOfTheTime) {
  SlowCall call(0.001);
  EXPECT_TRUE(Add(5, &call));
  EXPECT_TRUE(waiting_.Check(1e9).has_value());
  waiting_.Serve(MonotonicNanos() - int64_t{300'000'000});  // One of six.
  ServeAll();
  EXPECT_TRUE(waiting_.MayRead()) << "nothing else to do";
  EXPECT_TRUE(Add(1, &call));
  EXPECT_FALSE(waiting_.MayRead());
  ServeAll();
  int calls = 6;
  while (true) {
    ASSERT_TRUE(Add(1, &call));
    if (waiting_.MayRead()) break;
    ServeAll();
    ++calls;
  }
  // However slow the machine is, five calls are not 500 ms of it.
  EXPECT_GT(calls, 6);
}

TEST(AdmissionTest, BytesAreBounded) {
  Metrics metrics;
  config::v1::AdmissionLimits limits;
  limits.set_work_bytes(1024);
  Admission admission(limits, &metrics);
  EXPECT_TRUE(admission.TakeBytes(5000)) << "alone";
  EXPECT_FALSE(admission.TakeBytes(1));
  admission.ReturnBytes(5000);
  EXPECT_TRUE(admission.TakeBytes(1000));
  EXPECT_TRUE(admission.TakeBytes(24));
  EXPECT_FALSE(admission.TakeBytes(1));
  admission.ReturnBytes(24);
  EXPECT_TRUE(admission.TakeBytes(1));
}

TEST(AdmissionTest, LongCallsAreBounded) {
  Metrics metrics;
  config::v1::AdmissionLimits limits;
  limits.set_max_long_waiting(3);
  limits.set_max_long_wait_seconds(1e6);
  Admission admission(limits, &metrics);
  SlowCall call(0.01);
  CallPool pool(1, &admission);
  EXPECT_FALSE(pool.Add(&call, 1e9).has_value());
  ASSERT_TRUE(PollUntil(Patience(60), [&] { return call.runs == 1; }));
  // A thread that takes them up faster than they come is possible.
  std::optional<Refusal> refusal;
  while (!refusal.has_value()) refusal = pool.Add(&call, 1e9);
  EXPECT_EQ(refusal->reason, RefusalReason::kWaiting);
  EXPECT_GT(refusal->retry_seconds, 0);
}

class OverloadTest : public GrpcServerTest {
 protected:
  struct Call {
    grpc::ClientContext context;
    v1::RankResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RankResponse>> reader;
  };

  // Sends `n` calls at once and waits for them.
  std::vector<std::unique_ptr<Call>> RankAtOnce(int n) {
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < n; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.reader = ranking_->AsyncRank(&call.context, GoodRank(), &queue);
      call.reader->Finish(&call.response, &call.status, nullptr);
    }
    void* tag = nullptr;
    bool ok = false;
    for (int i = 0; i < n; ++i) queue.Next(&tag, &ok);
    return calls;
  }

  // Sends calls at once until one of them is refused for `reason`; all others
  // are answered and logged.
  void ExpectRefusal(const std::string& reason, const std::string& message) {
    size_t answered = 0;
    Call* refused = nullptr;
    std::vector<std::unique_ptr<Call>> calls;
    while (MetricSum(server_->metrics().Text(), Refused(reason)) == 0) {
      calls = RankAtOnce(200);
      for (const auto& call : calls) {
        if (call->status.ok()) {
          ++answered;
        } else {
          refused = call.get();
          EXPECT_EQ(call->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
        }
      }
    }
    ASSERT_NE(refused, nullptr);
    EXPECT_THAT(refused->status.error_message(),
                AllOf(HasSubstr(message), HasSubstr("try again in ")));
    const auto& metadata = refused->context.GetServerTrailingMetadata();
    const auto hint = metadata.find("grpc-retry-pushback-ms");
    ASSERT_NE(hint, metadata.end());
    int milliseconds = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        absl::string_view(hint->second.data(), hint->second.size()),
        &milliseconds));
    EXPECT_GE(milliseconds, 1);
    HealthStatus health;
    EXPECT_TRUE(Health(channel_, "", &health).ok());
    v1::RankResponse response;
    EXPECT_TRUE(Rank(GoodRank(), &response).ok()) << "alone";
    EXPECT_OK(server_->Drain());
    EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(answered + 1));
  }
};

TEST_F(OverloadTest, CallsBeyondTheLimitAreRefused) {
  options_.mutable_admission()->set_max_waiting(1);
  StartServer();
  ExpectRefusal("waiting", "admission.max_waiting = 1 ");
}

TEST_F(OverloadTest, CallsThatWouldWaitTooLongAreRefused) {
  options_.mutable_admission()->set_max_wait_seconds(0.0001);
  StartServer();
  ExpectRefusal("wait", "admission.max_wait_seconds = 0.0001");
}

TEST_F(OverloadTest, RequestsOfTooManyBytesAreRefused) {
  options_.mutable_admission()->set_work_bytes(1024);
  StartServer();
  ExpectRefusal("bytes", "admission.work_bytes = 1024");
}

}  // namespace
}  // namespace sortition
