#include "server/admission/call_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Runs until the test lets it end.
class GatedCall final : public PooledCall {
 public:
  bool Run(DecisionScratch* scratch) override {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(scratch->may_take_long);
    ++runs_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    return true;
  }
  void WaitForRuns(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return runs_ >= n; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int runs_ = 0;
};

// Takes a time that the test chooses.
class SlowPooledCall final : public PooledCall {
 public:
  explicit SlowPooledCall(double seconds) : nanos_(int64_t(1e9 * seconds)) {}
  bool Run(DecisionScratch*) override {
    const int64_t end = MonotonicNanos() + nanos_;
    while (MonotonicNanos() < end) std::this_thread::yield();
    ++runs;
    return true;
  }
  std::atomic<int> runs = 0;

 private:
  const int64_t nanos_;
};

class CallPoolTest : public testing::Test {
 protected:
  CallPoolTest() {
    limits_.set_max_long_wait_seconds(1e6);
    limits_.set_max_wait_seconds(1e6);
  }
  Metrics metrics_;
  config::v1::AdmissionLimits limits_;
  RecentMean pace_;
};

TEST_F(CallPoolTest, RunsEveryCallUntilItStops) {
  SlowPooledCall call(0);
  limits_.set_max_long_waiting(100);
  Admission admission(limits_, &metrics_);
  CallPool pool(3, &admission);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(pool.Add(&call, {1e-6, &pace_}, 1e9).has_value());
  }
  while (call.runs < 100) std::this_thread::yield();
  pool.Stop();
  EXPECT_FALSE(pool.Add(&call, {1e-6, &pace_}, 1e9).has_value());
  pool.Stop();
  EXPECT_EQ(call.runs, 100);
}

TEST_F(CallPoolTest, WaitingIsBounded) {
  limits_.set_max_long_waiting(3);
  Admission admission(limits_, &metrics_);
  GatedCall call;
  CallPool pool(1, &admission);
  EXPECT_FALSE(pool.Add(&call, {0.01, &pace_}, 1e9).has_value());
  call.WaitForRuns(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(pool.Add(&call, {0.01, &pace_}, 1e9).has_value());
  }
  const auto refusal = pool.Add(&call, {0.01, &pace_}, 1e9);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kWaiting);
  EXPECT_GE(refusal->retry_seconds, 0.03);
  call.Open();
}

// The load of a large version took long, and another change comes: no estimate
// is a reason to refuse it.
TEST_F(CallPoolTest, MayRefuseOnlyTooMany) {
  limits_.set_max_long_waiting(2);
  limits_.set_max_long_wait_seconds(10);
  Admission admission(limits_, &metrics_);
  GatedCall call;
  CallPool pool(1, &admission, PoolRule::kTooMany);
  EXPECT_FALSE(pool.Add(&call, {1000, &pace_}, 100).has_value());
  call.WaitForRuns(1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(pool.Add(&call, {1000, &pace_}, 100).has_value());
  }
  const auto refusal = pool.Add(&call, {1000, &pace_}, 100);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kWaiting);
  call.Open();
}

// A call of 1000 s is under way on the only thread, and nothing waits.
TEST_F(CallPoolTest, CountsWhatRunsInTheWait) {
  Admission admission(limits_, &metrics_);
  GatedCall call;
  CallPool pool(1, &admission);
  EXPECT_FALSE(pool.Add(&call, {1000, &pace_}, 1e9).has_value());
  call.WaitForRuns(1);
  const auto refusal = pool.Add(&call, {0.001, &pace_}, 100);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kDeadline);
  EXPECT_GE(refusal->retry_seconds, 900);
  EXPECT_FALSE(pool.Add(&call, {0.001, &pace_}, 1e9).has_value());
  call.Open();
}

// Of two threads one is busy for 1000 s. What waits is the other's.
TEST_F(CallPoolTest, AThreadThatIsFreeMakesNobodyWait) {
  Admission admission(limits_, &metrics_);
  GatedCall call;
  GatedCall other;
  CallPool pool(2, &admission);
  EXPECT_FALSE(pool.Add(&call, {1000, &pace_}, 1e9).has_value());
  call.WaitForRuns(1);
  EXPECT_FALSE(pool.Add(&other, {10, &pace_}, 0.001).has_value());
  other.WaitForRuns(1);
  EXPECT_TRUE(pool.Add(&other, {10, &pace_}, 1).has_value());
  EXPECT_FALSE(pool.Add(&other, {10, &pace_}, 30).has_value());
  call.Open();
  other.Open();
}

// Calls that take as long as was thought, and others a millionth of it: each
// method has its own pace.
TEST_F(CallPoolTest, LearnsHowLongCallsTake) {
  Admission admission(limits_, &metrics_);
  RecentMean quick;
  SlowPooledCall call(0.001);
  GatedCall gate;
  CallPool pool(1, &admission);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(pool.Add(&call, {1000, &quick}, 1e9).has_value());
  }
  while (call.runs < 3) std::this_thread::yield();
  EXPECT_FALSE(pool.Add(&gate, {1e-6, &pace_}, 1e9).has_value());
  gate.WaitForRuns(1);
  EXPECT_FALSE(pool.Add(&gate, {1000, &quick}, 1e9).has_value());
  EXPECT_FALSE(pool.Add(&gate, {1, &pace_}, 1000).has_value())
      << "the one that waits is known to be quick";
  EXPECT_FALSE(pool.Add(&gate, {1e5, &pace_}, 1e9).has_value());
  EXPECT_TRUE(pool.Add(&gate, {1, &pace_}, 1000).has_value());
  gate.Open();
}

// One call runs, for 100 s as the pool thinks. Once others have waited for more
// than a millisecond, four may wait, and no fifth.
TEST_F(CallPoolTest, CutsWaitsShortWhileTheyStayLong) {
  limits_.set_max_wait_seconds(0.001);
  limits_.set_target_wait_seconds(0.001);
  Admission admission(limits_, &metrics_);
  GatedCall call;
  CallPool pool(1, &admission);
  EXPECT_FALSE(pool.Add(&call, {100, &pace_}, 1e9).has_value());
  call.WaitForRuns(1);
  EXPECT_FALSE(pool.Add(&call, {1, &pace_}, 1e9).has_value());
  const int64_t start = MonotonicNanos();
  while (MonotonicNanos() < start + 2'000'000) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(pool.Add(&call, {1, &pace_}, 1e9).has_value());
  }
  const auto refusal = pool.Add(&call, {1, &pace_}, 1e9);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kWait);
  call.Open();
}

}  // namespace
}  // namespace sortition
