#include "server/admission/waiting_calls.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/admission/admission.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Takes a time that the test chooses.
class SlowQueuedCall final : public QueuedCall {
 public:
  explicit SlowQueuedCall(double seconds) : nanos_(int64_t(1e9 * seconds)) {}
  void TakeUp() override {
    const int64_t end = MonotonicNanos() + nanos_;
    while (MonotonicNanos() < end) std::this_thread::yield();
    ++runs;
  }
  int runs = 0;

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
  SlowQueuedCall call(0);
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
  SlowQueuedCall call(0.01);
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

// A hundred calls were read in 100 ms, and the first few are decided at once:
// others take a millisecond each, not the 100 ms that these few had to wait.
TEST_F(WaitingCallsTest, ABurstIsReadOnce) {
  limits_.set_max_waiting(100);
  Admission admission(limits_, &metrics_);
  WaitingCalls waiting(&admission);
  SlowQueuedCall call(0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(waiting.Check(1e9).has_value());
    waiting.Add(&call);
  }
  const int64_t begin = MonotonicNanos();
  waiting.Serve(begin - int64_t{100'000'000});
  const double deciding = 1e-9 * static_cast<double>(MonotonicNanos() - begin);
  EXPECT_GE(waiting.EstimateSeconds(), 0.05);
  // Behind 100 calls, if reading took all of the time before and one call was
  // decided. Reading that counts for each of these few would be 1.1 s.
  EXPECT_LT(waiting.EstimateSeconds(), 0.1 + 101 * deciding);
  while (!waiting.empty()) waiting.Serve(MonotonicNanos());
}

// Refusals that took 50 ms may not be followed by more before 500 ms were spent
// on deciding: the queue is not read meanwhile.
TEST_F(WaitingCallsTest, RefusingTakesAShareOfTheTime) {
  SlowQueuedCall call(0.001);
  EXPECT_TRUE(Add(5, &call));
  EXPECT_TRUE(waiting_.Check(1e9).has_value());
  const int64_t begin = MonotonicNanos();
  waiting_.Serve(begin - int64_t{300'000'000});  // One of six.
  ServeAll();
  EXPECT_TRUE(waiting_.MayRead()) << "nothing else to do";
  while (true) {
    ASSERT_TRUE(Add(1, &call));
    if (waiting_.MayRead()) break;
    ServeAll();
  }
  EXPECT_GE(MonotonicNanos() - begin, int64_t{500'000'000});
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

// An answer that notes that it was given up.
struct Unsent final : public UnsentAnswer {
  void Drop() override { is_dropped = true; }
  bool is_dropped = false;
};

TEST(UnsentAnswersTest, AreDroppedWhenTheyAreTooOldOrTooMany) {
  Metrics metrics;
  config::v1::AdmissionLimits limits;
  limits.set_max_calls(16);
  limits.set_answer_seconds(2);
  Admission admission(limits, &metrics);
  UnsentAnswers unsent(&admission);
  constexpr int64_t kSecond = 1'000'000'000;
  std::vector<Unsent> answers(9);
  for (int i = 0; i < 8; ++i) unsent.Add(&answers[i], i);
  unsent.Remove(&answers[1]);
  EXPECT_EQ(unsent.NextStale(), 2 * kSecond);
  unsent.DropStale(2 * kSecond - 1);
  EXPECT_FALSE(answers[0].is_dropped);
  unsent.DropStale(2 * kSecond + 2);
  EXPECT_TRUE(answers[0].is_dropped);
  EXPECT_FALSE(answers[1].is_dropped) << "taken";
  EXPECT_TRUE(answers[2].is_dropped);
  EXPECT_FALSE(answers[3].is_dropped);
  // From now on half a second is too long.
  unsent.Hurry(0.5);
  EXPECT_EQ(unsent.NextStale(), kSecond / 2 + 3);
  for (int i = 0; i < 3; ++i) unsent.Add(&answers[i], 8);
  EXPECT_FALSE(answers[3].is_dropped) << "eight are half of 16";
  unsent.Add(&answers[8], 8);
  EXPECT_TRUE(answers[3].is_dropped);
}

}  // namespace
}  // namespace sortition
