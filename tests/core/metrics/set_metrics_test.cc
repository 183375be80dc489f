#include "core/metrics/set_metrics.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

using Set = std::vector<uint8_t>;

// a = 2, b = 1, c = 3, d = 4.
const SetCounts kCounts = {2, 1, 3, 4};

TEST(SetMetricsTest, CountsTheFourCases) {
  const SetCounts counts = CountSet(Set{1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                    Set{1, 1, 0, 1, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(counts.true_positives, 2u);
  EXPECT_EQ(counts.false_positives, 1u);
  EXPECT_EQ(counts.false_negatives, 3u);
  EXPECT_EQ(counts.true_negatives, 4u);
}

TEST(SetMetricsTest, AreTheLecturesRatios) {
  EXPECT_DOUBLE_EQ(Sensitivity(kCounts), 2.0 / 5);
  EXPECT_DOUBLE_EQ(Specificity(kCounts), 4.0 / 5);
  EXPECT_DOUBLE_EQ(Precision(kCounts), 2.0 / 3);
}

// F-beta is the weighted harmonic mean of sensitivity and precision.
TEST(SetMetricsTest, FBetaIsAHarmonicMean) {
  EXPECT_DOUBLE_EQ(FBeta(kCounts, 1), 4.0 / 8);
  for (const double beta : {0.25, 1., 3.}) {
    const double beta2 = beta * beta;
    EXPECT_NEAR(
        FBeta(kCounts, beta),
        (1 + beta2) / (beta2 / Sensitivity(kCounts) + 1 / Precision(kCounts)),
        1e-15);
  }
}

TEST(SetMetricsTest, HaveNoValueWithoutADenominator) {
  const SetCounts nothing = {};
  EXPECT_TRUE(std::isnan(Sensitivity(nothing)));
  EXPECT_TRUE(std::isnan(Specificity(nothing)));
  EXPECT_TRUE(std::isnan(Precision(nothing)));
  EXPECT_EQ(FBeta(nothing, 1), 1);
  EXPECT_EQ(FBeta({0, 1, 0, 0}, 1), 0);
}

}  // namespace
}  // namespace sortition
