#include "core/counterfactual/evaluation/group_sums.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

const Ratio kMean = {{{1, 1}}, {{0, 1}}};

// The error of a mean of independent numbers is the textbook's.
TEST(GroupSumsTest, GroupsOfOneHaveTheErrorOfAMean) {
  const std::vector<double> values = {1, 4, 2, 8, 5, 7};
  GroupSums sums(1000, 2);
  for (size_t i = 0; i < values.size(); ++i) {
    sums.GroupOf(i)[0] += 1;
    sums.GroupOf(i)[1] += values[i];
  }
  const RatioEstimate estimate = EstimateRatios(sums, {{kMean}});
  EXPECT_DOUBLE_EQ(estimate.value, 4.5);
  // Sample variance 7.5 over 6.
  EXPECT_NEAR(estimate.standard_error, std::sqrt(7.5 / 6), 1e-12);
  EXPECT_EQ(estimate.num_groups, 6u);
}

// Repeating what a unit did says nothing new.
TEST(GroupSumsTest, RepetitionsWithinAUnitDoNotNarrowTheInterval) {
  RandomSequence random(SeedKey(1));
  GroupSums once(64, 2);
  GroupSums often(64, 2);
  for (uint64_t unit = 0; unit < 40; ++unit) {
    const double value = random.Uniform();
    once.GroupOf(unit)[0] += 1;
    once.GroupOf(unit)[1] += value;
    for (int i = 0; i < 50; ++i) {
      often.GroupOf(unit)[0] += 1;
      often.GroupOf(unit)[1] += value;
    }
  }
  const RatioEstimate a = EstimateRatios(once, {{kMean}});
  const RatioEstimate b = EstimateRatios(often, {{kMean}});
  EXPECT_NEAR(a.value, b.value, 1e-12);
  EXPECT_NEAR(a.standard_error, b.standard_error, 1e-12);
}

// Units of unequal size: the error that is said is the error that is seen.
TEST(GroupSumsTest, StandardErrorIsTheSpreadOverManyLogs) {
  constexpr int kLogs = 2000;
  constexpr uint64_t kUnits = 200;
  double mean = 0;
  double square = 0;
  double said = 0;
  for (int log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(100 + static_cast<uint64_t>(log)));
    GroupSums sums(8192, 2);
    for (uint64_t unit = 0; unit < kUnits; ++unit) {
      const int size = 1 + static_cast<int>(random.Below(10));
      // Large units like it less.
      const double taste = random.Normal() - 0.1 * size;
      for (int i = 0; i < size; ++i) {
        sums.GroupOf(unit)[0] += 1;
        sums.GroupOf(unit)[1] += taste + random.Normal();
      }
    }
    const RatioEstimate estimate = EstimateRatios(sums, {{kMean}});
    mean += estimate.value / kLogs;
    square += estimate.value * estimate.value / kLogs;
    said += estimate.standard_error * estimate.standard_error / kLogs;
  }
  // E[taste · size] / E[size] = -0.1 · 38.5 / 5.5.
  const double spread = square - mean * mean;
  EXPECT_NEAR(mean, -0.7, 4 * std::sqrt(spread / kLogs) + 0.5 / kUnits);
  // Four standard errors of a variance of 2,000 numbers, and the bias of the
  // delta method.
  EXPECT_NEAR(said / spread, 1, 4 * std::sqrt(2.0 / kLogs) + 3.0 / kUnits);
}

TEST(GroupSumsTest, OneGroupHasNoError) {
  GroupSums sums(8, 2);
  sums.GroupOf(3)[0] = 2;
  sums.GroupOf(3)[1] = 1;
  EXPECT_EQ(EstimateRatios(sums, {{kMean}}).value, 0.5);
  EXPECT_EQ(EstimateRatios(sums, {{kMean}}).standard_error,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(EstimateRatios(GroupSums(8, 2), {{kMean}}).value, 0);
}

// Brute force over β.
TEST(GroupSumsTest, ControlFactorIsTheBest) {
  RandomSequence random(SeedKey(2));
  GroupSums sums(512, 3);
  for (uint64_t unit = 0; unit < 300; ++unit) {
    const double c = random.Uniform();
    sums.GroupOf(unit)[0] += 1;
    sums.GroupOf(unit)[1] += 3 * c + random.Uniform();
    sums.GroupOf(unit)[2] += c;
  }
  const auto error = [&](double factor) {
    const Ratio ratio = {{{1, 1}, {2, -factor}}, {{0, 1}}};
    return EstimateRatios(sums, {{ratio}}).standard_error;
  };
  const double best = ControlFactor(sums, {{1, 1}}, {{2, 1}}, {{0, 1}});
  EXPECT_NEAR(best, 3, 0.2);
  for (const double step : {-0.5, -0.01, 0.01, 0.5}) {
    EXPECT_LT(error(best), error(best + step)) << step;
  }
}

}  // namespace
}  // namespace sortition
