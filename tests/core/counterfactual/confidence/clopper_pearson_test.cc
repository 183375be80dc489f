#include "core/counterfactual/confidence/clopper_pearson.h"

#include <cmath>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(ClopperPearsonTest, AgreesWithClosedForms) {
  // Nothing of n: (1 - p)^n = α/2.
  const Interval none = ClopperPearsonInterval(0, 10, 0.95);
  EXPECT_EQ(none.lower, 0);
  EXPECT_NEAR(none.upper, 1 - std::pow(0.025, 0.1), 1e-12);
  const Interval all = ClopperPearsonInterval(10, 10, 0.95);
  EXPECT_NEAR(all.lower, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.upper, 1);
  // One of two: 1 - (1 - p)² = α/2 and 1 - p² = α/2.
  const Interval half = ClopperPearsonInterval(1, 2, 0.95);
  EXPECT_NEAR(half.lower, 1 - std::sqrt(0.975), 1e-12);
  EXPECT_NEAR(half.upper, std::sqrt(0.975), 1e-12);
  // Of the literature.
  const Interval five = ClopperPearsonInterval(5, 10, 0.95);
  EXPECT_NEAR(five.lower, 0.1870860, 1e-6);
  EXPECT_NEAR(five.upper, 0.8129140, 1e-6);
}

// By enumeration of all outcomes.
TEST(ClopperPearsonTest, CoversEveryProbability) {
  constexpr uint64_t kTrials = 20;
  Interval intervals[kTrials + 1];
  for (uint64_t k = 0; k <= kTrials; ++k) {
    intervals[k] = ClopperPearsonInterval(k, kTrials, 0.9);
  }
  for (double p = 0.01; p < 1; p += 0.01) {
    double covered = 0;
    for (uint64_t k = 0; k <= kTrials; ++k) {
      if (p < intervals[k].lower || p > intervals[k].upper) continue;
      const double x = static_cast<double>(k);
      covered += std::exp(std::lgamma(kTrials + 1.0) - std::lgamma(x + 1) -
                          std::lgamma(kTrials - x + 1) + x * std::log(p) +
                          (kTrials - x) * std::log1p(-p));
    }
    EXPECT_GE(covered, 0.9 - 1e-12) << p;
  }
}

TEST(ClopperPearsonTest, IsNormalForManyTrials) {
  const Interval interval = ClopperPearsonInterval(5'000'000, 10'000'000, 0.95);
  const double slack = 1.959964 * std::sqrt(0.25 / 1e7);
  EXPECT_NEAR(interval.lower, 0.5 - slack, 1e-3 * slack);
  EXPECT_NEAR(interval.upper, 0.5 + slack, 1e-3 * slack);
  EXPECT_EQ(ClopperPearsonInterval(0, 0, 0.95).upper, 1);
}

}  // namespace
}  // namespace sortition
