#include "core/counterfactual/confidence/empirical_likelihood.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
