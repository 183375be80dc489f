#include "core/counterfactual/confidence/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/confidence/clopper_pearson.h"
#include "core/counterfactual/confidence/empirical_likelihood.h"
#include "core/counterfactual/confidence/ratio_blocks.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Blocks of which the ratio is the mean of values.

RatioBlocks MeanOf(const std::vector<double>& values) {
  return {{values, std::vector<double>(values.size(), 1.0), 1}};
}

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

TEST(RatioBlocksTest, AMeanHasTheTextbooksError) {
  const Deviations deviations = DeviationsOf(MeanOf({1, 4, 2, 8, 5, 7}));
  EXPECT_DOUBLE_EQ(deviations.value, 4.5);
  // Sample variance 7.5 over 6.
  EXPECT_NEAR(deviations.StandardError(), std::sqrt(7.5 / 6), 1e-12);
  EXPECT_DOUBLE_EQ(deviations.LargestShare(), 3.5 * 3.5 / 37.5);
}

// Of B zeros and ones with mean p, it is (1 - 2p)² / (B p (1 - p)).
TEST(RatioBlocksTest, SkewnessOfRareEventsIsThatOfTheBinomial) {
  std::vector<double> values(400);
  for (size_t i = 0; i < 10; ++i) values[i * 40] = 1;
  const double p = 0.025;
  EXPECT_NEAR(DeviationsOf(MeanOf(values)).SquaredSkewness(),
              (1 - 2 * p) * (1 - 2 * p) / (400 * p * (1 - p)), 1e-12);
  EXPECT_EQ(DeviationsOf(MeanOf({2, 2, 2})).SquaredSkewness(),
            std::numeric_limits<double>::infinity());
}

// Counting a block thrice is having it three times.
TEST(RatioBlocksTest, DrawnBlocksAreThereAsOftenAsTheyWereDrawn) {
  RandomSequence random(SeedKey(1));
  const std::vector<double> counts = {3, 0, 1, 2, 1, 0, 4};
  RatioBlocks blocks(2);
  RatioBlocks repeated(2);
  blocks[0].factor = repeated[0].factor = 2;
  blocks[1].factor = repeated[1].factor = -0.5;
  for (size_t k = 0; k < 2; ++k) {
    for (const double count : counts) {
      const double numerator = random.Normal();
      const double denominator = 1 + random.Uniform();
      blocks[k].numerator.push_back(numerator);
      blocks[k].denominator.push_back(denominator);
      for (int i = 0; i < count; ++i) {
        repeated[k].numerator.push_back(numerator);
        repeated[k].denominator.push_back(denominator);
      }
    }
  }
  const Deviations expected = DeviationsOf(repeated);
  Deviations drawn;
  DeviationsOfDrawn(blocks, counts, &drawn);
  EXPECT_NEAR(drawn.value, expected.value, 1e-14);
  double squares = 0;
  double sum = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    squares += counts[b] * drawn.blocks[b] * drawn.blocks[b];
    sum += counts[b] * drawn.blocks[b];
  }
  EXPECT_NEAR(sum, 0, 1e-14);
  const double size = static_cast<double>(expected.blocks.size());
  EXPECT_NEAR(std::sqrt(squares * size / (size - 1)), expected.StandardError(),
              1e-14);
}

TEST(RatioBlocksTest, ADenominatorOfZeroIsNotKnown) {
  const Deviations deviations = DeviationsOf({{{1, 2}, {1, -1}, 1}});
  EXPECT_FALSE(deviations.is_known);
  EXPECT_EQ(deviations.StandardError(),
            std::numeric_limits<double>::infinity());
}

// The largest value of a concave function, by golden sections.
double Largest(double low, double high,
               const std::function<double(double)>& function) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double a = high - ratio * (high - low);
  double b = low + ratio * (high - low);
  double at_a = function(a);
  double at_b = function(b);
  for (int step = 0; step < 120; ++step) {
    if (at_a < at_b) {
      low = a;
      a = b;
      at_a = at_b;
      b = low + ratio * (high - low);
      at_b = function(b);
    } else {
      high = b;
      b = a;
      at_b = at_a;
      a = high - ratio * (high - low);
      at_a = function(a);
    }
  }
  return function((low + high) / 2);
}

// Groups of 1 to 3 decisions with weights 0 or 4 (mean 1); θ = 0.4.
RatioColumn Weighted(size_t groups, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  RatioColumn column;
  for (size_t g = 0; g < groups; ++g) {
    const int size = 1 + static_cast<int>(random.Below(3));
    double gain = 0;
    for (int i = 0; i < size; ++i) {
      const double w = random.Uniform() < 0.25 ? 4 : 0;
      gain += random.Uniform() < 0.4 ? w : 0;
    }
    column.numerator.push_back(gain);
    column.denominator.push_back(size);
  }
  return column;
}

// Terms of 0 or 1, `wins` of `size`.
RatioColumn Binary(size_t wins, size_t size) {
  RatioColumn column;
  column.numerator.assign(size, 0);
  std::fill_n(column.numerator.begin(), wins, 1.0);
  column.denominator.assign(size, 1);
  return column;
}

RatioColumn Negative(RatioColumn column) {
  for (double& each : column.numerator) each = -each;
  return column;
}

// By brute force over λ, up to where the smallest term would lose everything.
TEST(EmpiricalLikelihoodTest, EndsHaveTheLikelihoodOfTheLevel) {
  constexpr double kLogRatio = 1.5;
  for (const double least_term : {0.0, -2.0}) {
    const RatioColumn column = Weighted(40, 1);
    const double bound = LikelihoodLowerBound(
        {.column = column, .least_term = least_term, .least = least_term},
        kLogRatio);
    const auto log_ratio = [&](double theta) {
      double least = least_term - theta;
      std::vector<double> z;
      for (size_t b = 0; b < 40; ++b) {
        z.push_back(column.numerator[b] - theta * column.denominator[b]);
        least = std::min(least, z[b]);
      }
      return Largest(0, -1 / least, [&](double lambda) {
        double sum = 0;
        for (const double each : z) sum += std::log1p(lambda * each);
        return sum;
      });
    };
    EXPECT_NEAR(log_ratio(bound), kLogRatio, 1e-5);
    EXPECT_LT(log_ratio(bound + 1e-3), kLogRatio);
  }
}

TEST(EmpiricalLikelihoodTest, CoversAsOftenAsItSays) {
  constexpr int kLogs = 400;
  const double t = StudentQuantile(0.975, 79);
  int covered = 0;
  double width = 0;
  for (uint64_t log = 0; log < kLogs; ++log) {
    const RatioColumn column = Weighted(80, 100 + log);
    const double lower = LikelihoodLowerBound({.column = column}, t * t / 2);
    const double upper = -LikelihoodLowerBound(
        {.column = Negative(column), .least_term = -4, .least = -4}, t * t / 2);
    covered += lower <= 0.4 && 0.4 <= upper ? 1 : 0;
    width += (upper - lower) / kLogs;
  }
  // Four standard errors below 95 %.
  EXPECT_GE(covered, kLogs * 0.95 - 4 * std::sqrt(kLogs * 0.95 * 0.05));
  // √(4 · 0.4 - 0.16) a decision, of 160.
  EXPECT_NEAR(width, 2 * 1.96 * 1.2 / std::sqrt(160.0), 0.1 * width);
}

// n kl(wins / n, θ) is the level: Chernoff's bound.
TEST(EmpiricalLikelihoodTest, OfTermsOfTwoValuesItIsChernoffs) {
  constexpr double kLogRatio = 2.5;
  for (const size_t wins : {3, 20, 90}) {
    const double mean = static_cast<double>(wins) / 100;
    const double theta =
        LikelihoodLowerBound({.column = Binary(wins, 100)}, kLogRatio);
    EXPECT_NEAR(100 * (mean * std::log(mean / theta) +
                       (1 - mean) * std::log((1 - mean) / (1 - theta))),
                kLogRatio, 1e-6);
  }
}

// All terms are 1, and 0 is possible: the likelihood of 100 of 100 is θ^100.
TEST(EmpiricalLikelihoodTest, WhatWasNotSeenIsPossible) {
  const RatioColumn column = Binary(100, 100);
  EXPECT_NEAR(LikelihoodLowerBound({.column = column}, 2.5), std::exp(-0.025),
              1e-7);
  // Terms of -9 could be a tenth as frequent.
  const double far = LikelihoodLowerBound(
      {.column = column, .least_term = -9, .least = -9}, 2.5);
  EXPECT_NEAR(1 - far, 10 * (1 - std::exp(-0.025)), 1e-7);
}

// By enumeration of how many of 1,000 terms are 0, where the others are 1: no
// probability of a 0 makes the bound fail more often than it says.
TEST(EmpiricalLikelihoodTest, CautionHoldsWhereHardlyAnythingWasSeen) {
  constexpr size_t kTerms = 1000;
  constexpr size_t kMostZeros = 60;
  constexpr double kFailure = 0.025;
  const double t = StudentQuantile(1 - kFailure / 2, kTerms - 1);
  double bounds[kMostZeros + 1];
  for (size_t zeros = 0; zeros <= kMostZeros; ++zeros) {
    const LikelihoodTask task = {.column = Binary(kTerms - zeros, kTerms)};
    bounds[zeros] = CautiousLowerBound(task, t * t / 2, kFailure);
    if (zeros == 0) {
      EXPECT_NEAR(bounds[0], std::pow(kFailure, 1e-3), 1e-7);
    }
    // Of many zeros the level is that of t.
    const bool is_many = bounds[zeros] == LikelihoodLowerBound(task, t * t / 2);
    EXPECT_EQ(is_many, zeros >= 9) << zeros;
  }
  for (double p = 1e-4; p < 0.03; p += 1e-4) {
    double fails = 0;
    for (size_t zeros = 0; zeros <= kMostZeros; ++zeros) {
      if (bounds[zeros] <= 1 - p) continue;
      const double k = static_cast<double>(zeros);
      fails += std::exp(std::lgamma(kTerms + 1.0) - std::lgamma(k + 1) -
                        std::lgamma(kTerms - k + 1) + k * std::log(p) +
                        (kTerms - k) * std::log1p(-p));
    }
    EXPECT_LE(fails, kFailure) << p;
  }
}

TEST(EmpiricalLikelihoodTest, NothingSeenSaysNothing) {
  EXPECT_EQ(LikelihoodLowerBound({.column = {}, .least = -1}, 2), -1);
  EXPECT_EQ(LikelihoodLowerBound({.column = Binary(0, 50)}, 2), 0);
}

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
