#include "core/counterfactual/confidence/bootstrap.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/confidence/mean_blocks.h"

namespace sortition {
namespace {

std::vector<double> Exponential(size_t size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> values(size);
  for (double& value : values) value = -std::log(random.Uniform());
  return values;
}

TEST(BootstrapTest, DependsOnTheSeedAlone) {
  const RatioBlocks blocks = MeanOf(Exponential(60, 1));
  const auto first = BootstrapInterval(blocks, 0.95, 7);
  const auto second = BootstrapInterval(blocks, 0.95, 7);
  const auto other = BootstrapInterval(blocks, 0.95, 8);
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(first->lower, second->lower);
  EXPECT_EQ(first->upper, second->upper);
  EXPECT_NE(first->lower, other->lower);
}

// Quantiles of 999 draws have a relative error of some 4 %: four of them.
TEST(BootstrapTest, IsTheIntervalOfTheNormalDistributionForManyNormalNumbers) {
  RandomSequence random(SeedKey(2));
  std::vector<double> values(1000);
  for (double& value : values) value = random.Normal();
  const double error = DeviationsOf(MeanOf(values)).StandardError();
  const auto interval = BootstrapInterval(MeanOf(values), 0.95, 1);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR((interval->value - interval->lower) / error, 1.96, 0.31);
  EXPECT_NEAR((interval->upper - interval->value) / error, 1.96, 0.31);
}

// Right-skewed numbers: large ones may be yet to come.
TEST(BootstrapTest, AllowsForSkewness) {
  constexpr int kLogs = 400;
  int covered = 0;
  int longer_above = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    const auto interval =
        BootstrapInterval(MeanOf(Exponential(50, 100 + log)), 0.95, log);
    ASSERT_TRUE(interval.has_value());
    covered += interval->lower <= 1 && 1 <= interval->upper ? 1 : 0;
    longer_above +=
        interval->upper - interval->value > interval->value - interval->lower;
  }
  // Four standard errors below 95 %.
  EXPECT_GE(covered, kLogs * 0.95 - 4 * std::sqrt(kLogs * 0.95 * 0.05));
  EXPECT_GT(longer_above, 0.95 * kLogs);
}

TEST(BootstrapTest, SaysWhatItDoesNotKnow) {
  EXPECT_FALSE(BootstrapInterval(MeanOf({1}), 0.95, 1).has_value());
  EXPECT_FALSE(BootstrapInterval(MeanOf({1, 2, 3}), 0.9999, 1).has_value());
  const auto constant = BootstrapInterval(MeanOf({0.3, 0.3, 0.3}), 0.95, 1);
  ASSERT_TRUE(constant.has_value());
  EXPECT_NEAR(constant->lower, 0.3, 1e-12);
  EXPECT_NEAR(constant->upper, 0.3, 1e-12);
  // One in four of the draws has nothing but the one number or the other.
  const auto two = BootstrapInterval(MeanOf({0, 1}), 0.95, 1);
  ASSERT_TRUE(two.has_value());
  EXPECT_TRUE(std::isinf(two->upper - two->lower));
}

}  // namespace
}  // namespace sortition
