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

// log(t), continued below ε as a parabola [Owen01, sec. 3.14].
double Log(double t) {
  constexpr double kLeast = 1e-4;
  if (t >= kLeast) return std::log(t);
  const double x = t / kLeast;
  return std::log(kLeast) - 1.5 + 2 * x - x * x / 2;
}

double SumOfLogs(const std::vector<double>& z, const std::vector<double>& c,
                 double x, double y) {
  double sum = 0;
  for (size_t b = 0; b < z.size(); ++b) {
    sum += Log(1 + x * z[b] + y * c[b]);
  }
  return sum;
}

void AppendBalance(std::vector<double>* values) {
  double sum = 0;
  for (const double value : *values) sum += value;
  const double n = static_cast<double>(values->size());
  values->push_back(-std::max(1.0, std::log(n) / 2) * sum / n);
}

struct World {
  std::vector<double> numerator;
  std::vector<double> denominator;
  std::vector<double> zero_mean;
};

// Groups of 1 to 3 decisions with weights 0 or 4 (mean 1); θ = 0.4.
World Weighted(size_t groups, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  World world;
  for (size_t g = 0; g < groups; ++g) {
    const int size = 1 + static_cast<int>(random.Below(3));
    double gain = 0;
    double weight = 0;
    for (int i = 0; i < size; ++i) {
      const double w = random.Uniform() < 0.25 ? 4 : 0;
      weight += w;
      gain += random.Uniform() < 0.4 ? w : 0;
    }
    world.numerator.push_back(gain);
    world.denominator.push_back(size);
    world.zero_mean.push_back(weight - size);
  }
  return world;
}

LikelihoodTask TaskOf(const World& world, bool is_constrained) {
  LikelihoodTask task;
  task.blocks = {{world.numerator, world.denominator, 1}};
  if (is_constrained) task.zero_mean = world.zero_mean;
  return task;
}

// By brute force over the multipliers.
TEST(EmpiricalLikelihoodTest, EndsHaveTheLikelihoodOfTheLevel) {
  World world = Weighted(40, 1);
  for (const bool is_constrained : {false, true}) {
    const auto interval =
        EmpiricalLikelihoodInterval(TaskOf(world, is_constrained), 0.9);
    ASSERT_TRUE(interval.has_value());
    EXPECT_LT(interval->lower, interval->value);
    EXPECT_LT(interval->value, interval->upper);
    const double t = StudentQuantile(0.95, 39);
    std::vector<double> c = world.zero_mean;
    AppendBalance(&c);
    const auto log_ratio = [&](double theta) {
      std::vector<double> z;
      for (size_t b = 0; b < 40; ++b) {
        z.push_back(world.numerator[b] - theta * world.denominator[b]);
      }
      AppendBalance(&z);
      return Largest(-3, 3, [&](double x) {
        if (!is_constrained) return SumOfLogs(z, c, x, 0);
        return Largest(-3, 3, [&](double y) { return SumOfLogs(z, c, x, y); });
      });
    };
    const double top = log_ratio(interval->value);
    EXPECT_NEAR(log_ratio(interval->lower) - top, t * t / 2, 1e-5);
    EXPECT_NEAR(log_ratio(interval->upper) - top, t * t / 2, 1e-5);
    EXPECT_GE(log_ratio(interval->value + 1e-3), top);
    EXPECT_GE(log_ratio(interval->value - 1e-3), top);
  }
}

TEST(EmpiricalLikelihoodTest, CoversAsOftenAsItSays) {
  constexpr int kLogs = 400;
  for (const bool is_constrained : {false, true}) {
    int covered = 0;
    double width = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      const auto interval = EmpiricalLikelihoodInterval(
          TaskOf(Weighted(80, 100 + log), is_constrained), 0.95);
      ASSERT_TRUE(interval.has_value());
      covered += interval->lower <= 0.4 && 0.4 <= interval->upper ? 1 : 0;
      width += (interval->upper - interval->lower) / kLogs;
    }
    // Four standard errors below 95 %.
    EXPECT_GE(covered, kLogs * 0.95 - 4 * std::sqrt(kLogs * 0.95 * 0.05));
    // √(4 · 0.4 - 0.16) and √(4 · 0.4 · 0.6) a decision, of 160.
    const double spread = is_constrained ? 0.98 : 1.2;
    EXPECT_NEAR(width, 2 * 1.96 * spread / std::sqrt(160.0), 0.1 * width);
  }
}

// Constant rewards and a known mean weight leave nothing open.
TEST(EmpiricalLikelihoodTest, ConstraintTakesAwayTheVarianceOfWeights) {
  World world = Weighted(60, 2);
  for (size_t b = 0; b < 60; ++b) {
    world.numerator[b] = 0.7 * (world.zero_mean[b] + world.denominator[b]);
  }
  const auto interval = EmpiricalLikelihoodInterval(TaskOf(world, true), 0.95);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->value, 0.7, 1e-6);
  EXPECT_NEAR(interval->lower, 0.7, 1e-6);
  EXPECT_NEAR(interval->upper, 0.7, 1e-6);
}

// For many blocks all intervals are the same.
TEST(EmpiricalLikelihoodTest, DifferentDenominatorsGoByDeviations) {
  const World world = Weighted(1000, 3);
  LikelihoodTask task = TaskOf(world, false);
  std::vector<double> weight = world.zero_mean;
  for (size_t b = 0; b < weight.size(); ++b) weight[b] += world.denominator[b];
  task.blocks.push_back({world.numerator, weight, 1});
  task.most = 2;
  const Deviations deviations = DeviationsOf(task.blocks);
  const auto interval = EmpiricalLikelihoodInterval(task, 0.95);
  ASSERT_TRUE(interval.has_value());
  const double slack = 1.96 * deviations.StandardError();
  EXPECT_NEAR(interval->value, deviations.value, 1e-9);
  EXPECT_NEAR(interval->lower, deviations.value - slack, 0.05 * slack);
  EXPECT_NEAR(interval->upper, deviations.value + slack, 0.05 * slack);
}

TEST(EmpiricalLikelihoodTest, FewBlocksSayNothing) {
  LikelihoodTask task;
  task.blocks = {{{1, 0}, {1, 1}, 1}};
  EXPECT_FALSE(EmpiricalLikelihoodInterval(task, 0.95).has_value());
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
