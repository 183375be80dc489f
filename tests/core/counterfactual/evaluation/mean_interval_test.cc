// Intervals of means of anything over decisions.
#include "core/counterfactual/evaluation/mean_interval.h"

#include <cmath>
#include <cstdint>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Units of up to three decisions with a common part; each decision's number is
// in [-limit, limit], of mean `mean`.
GroupSums DrawUnits(uint64_t seed, int num_units, double mean, double limit) {
  RandomSequence random(SeedKey(seed));
  GroupSums sums(1024, 2);
  for (int unit = 0; unit < num_units; ++unit) {
    const double common = random.Uniform() - 0.5;
    const uint64_t size = 1 + random.Below(3);
    for (uint64_t i = 0; i < size; ++i) {
      const auto group = sums.GroupOf(SeedKey(seed + 1000 * unit).low);
      group[0] += mean + 0.5 * limit * (common + random.Uniform() - 0.5);
      group[1] += 1;
    }
  }
  return sums;
}

MeanTask TaskOf(const GroupSums& sums, double limit) {
  MeanTask task;
  task.sums = &sums;
  task.mean.numerator = {SumTerm{0, 1}};
  task.mean.denominator = {SumTerm{1, 1}};
  task.limit = limit;
  return task;
}

// Of 200 intervals of 95 %, 10 miss on average; more than 20 with probability
// below 0.002 if they cover as they say (fixed seeds).
TEST(MeanIntervalTest, CoversTheMean) {
  constexpr double kTrueMean = 0.05;
  for (const int num_units : {30, 2000}) {
    int missed = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const GroupSums sums = DrawUnits(seed, num_units, kTrueMean, 1);
      const JudgedInterval judged = MeanInterval(TaskOf(sums, 1));
      EXPECT_EQ(judged.kind, num_units == 30
                                 ? IntervalKind::kBetting
                                 : IntervalKind::kEmpiricalLikelihood);
      if (kTrueMean < judged.interval.lower ||
          kTrueMean > judged.interval.upper) {
        ++missed;
      }
    }
    EXPECT_LE(missed, 20) << num_units;
  }
}

// In other units of the reward everything is so many times as large; with the
// other sign it is the other way round.
TEST(MeanIntervalTest, FollowsTheUnitsAndTheSign) {
  for (const int num_units : {20, 500}) {
    const GroupSums sums = DrawUnits(3, num_units, 0.1, 1);
    GroupSums scaled(1024, 2);
    for (size_t g = 0; g < sums.num_groups(); ++g) {
      if (!sums.is_used(g)) continue;
      const auto group = scaled.GroupOf(g);
      group[0] = -7 * sums.group(g)[0];
      group[1] = sums.group(g)[1];
    }
    const JudgedInterval judged = MeanInterval(TaskOf(sums, 1));
    const JudgedInterval other = MeanInterval(TaskOf(scaled, 7));
    EXPECT_EQ(judged.kind, other.kind);
    EXPECT_NEAR(other.interval.value, -7 * judged.interval.value, 1e-12);
    EXPECT_NEAR(other.interval.lower, -7 * judged.interval.upper, 1e-6);
    EXPECT_NEAR(other.interval.upper, -7 * judged.interval.lower, 1e-6);
    EXPECT_NEAR(other.standard_error, 7 * judged.standard_error, 1e-12);
  }
}

// Nothing that was seen differs from 0: that is no proof that nothing does.
TEST(MeanIntervalTest, EqualNumbersLeaveAnInterval) {
  GroupSums sums(1024, 2);
  for (uint64_t unit = 0; unit < 100; ++unit) sums.GroupOf(unit)[1] += 1;
  const JudgedInterval judged = MeanInterval(TaskOf(sums, 2));
  EXPECT_EQ(judged.kind, IntervalKind::kBetting);
  EXPECT_EQ(judged.interval.value, 0);
  EXPECT_LT(judged.interval.lower, -0.01);
  EXPECT_GT(judged.interval.upper, 0.01);
  EXPECT_GE(judged.interval.lower, -2);
  EXPECT_LE(judged.interval.upper, 2);
}

TEST(MeanIntervalTest, NothingSeenLeavesAllThatIsPossible) {
  const GroupSums sums(16, 2);
  const JudgedInterval judged = MeanInterval(TaskOf(sums, 3));
  EXPECT_EQ(judged.interval.value, 0);
  EXPECT_EQ(judged.interval.lower, -3);
  EXPECT_EQ(judged.interval.upper, 3);
}

}  // namespace
}  // namespace sortition
