#include "core/base/stable_math.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/hash.h"
#include "core/base/log_mixture.h"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// |value - exact| in units of the last place of a double near `exact`. long
// double has 11 more bits, so its rounding is 1/2000 of such a unit.
double UlpError(double value, long double exact) {
  const double rounded = std::abs(static_cast<double>(exact));
  const double ulp = std::nextafter(rounded, kInfinity) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(value) - exact) /
                             ulp);
}

std::vector<double> UniformNumbers(double low, double high, int count) {
  RandomSequence random(SeedKey(7));
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    number = low + (high - low) * random.Uniform();
  }
  return numbers;
}

// Expects `fast` to be within `most` units of the last place of `exact`.
template <typename Fast, typename Exact>
void ExpectWithin(double most, const std::vector<double>& numbers,
                  const Fast& fast, const Exact& exact) {
  for (const double x : numbers) {
    ASSERT_LT(UlpError(fast(x), exact(static_cast<long double>(x))), most) << x;
  }
}

TEST(StableMathTest, ExpIsWithinOneUlp) {
  const auto exact = [](long double x) { return std::exp(x); };
  ExpectWithin(1, UniformNumbers(-707, 709, 100000), stable::Exp, exact);
  ExpectWithin(1, UniformNumbers(-2, 2, 100000), stable::Exp, exact);
}

TEST(StableMathTest, ExpIsExactAtItsEnds) {
  EXPECT_EQ(stable::Exp(0), 1);
  EXPECT_EQ(stable::Exp(-0.0), 1);
  EXPECT_EQ(stable::Exp(-kInfinity), 0);
  EXPECT_EQ(stable::Exp(-1e300), 0);
  EXPECT_EQ(stable::Exp(std::nextafter(-708, -1000)), 0);
  EXPECT_GT(stable::Exp(-708), 0);
  EXPECT_TRUE(std::isfinite(stable::Exp(709)));
}

TEST(StableMathTest, LogIsWithinOneUlp) {
  const auto exact = [](long double x) { return std::log(x); };
  std::vector<double> numbers = UniformNumbers(-700, 700, 100000);
  for (double& x : numbers) x = std::exp(x);
  ExpectWithin(1, numbers, stable::Log, exact);
  ExpectWithin(1, UniformNumbers(0, 2, 100000), stable::Log, exact);
}

TEST(StableMathTest, LogTakesAnyPositiveNumber) {
  EXPECT_EQ(stable::Log(1), 0);
  EXPECT_NEAR(stable::Log(5e-324), -1074 * std::log(2.0), 1e-12);
  EXPECT_NEAR(stable::Log(std::numeric_limits<double>::max()),
              1024 * std::log(2.0), 1e-12);
}

TEST(StableMathTest, Log1pAndExpm1KeepSmallArguments) {
  std::vector<double> numbers = UniformNumbers(-40, 3, 100000);
  for (double& x : numbers) x = std::exp(x);
  ExpectWithin(4, numbers, stable::Log1p,
               [](long double x) { return std::log1p(x); });
  for (double& x : numbers) x = -x;
  ExpectWithin(4, numbers, stable::Expm1,
               [](long double x) { return std::expm1(x); });
  EXPECT_EQ(stable::Log1p(1e-300), 1e-300);
  EXPECT_EQ(stable::Expm1(-1e-300), -1e-300);
  EXPECT_EQ(stable::Expm1(-kInfinity), -1);
  EXPECT_EQ(stable::Log1p(0), 0);
}

TEST(StableMathTest, SoftplusNeitherOverflowsNorCancels) {
  EXPECT_EQ(stable::Softplus(1e4), 1e4);
  EXPECT_EQ(stable::Softplus(-1e4), 0);
  EXPECT_EQ(stable::Softplus(-kInfinity), 0);
  EXPECT_NEAR(stable::Softplus(0), std::log(2.0), 1e-16);
  EXPECT_NEAR(stable::Softplus(-50) / std::exp(-50.0), 1, 1e-14);
}

TEST(StableMathTest, LogAddExpOfInfinities) {
  EXPECT_EQ(stable::LogAddExp(-kInfinity, 3), 3);
  EXPECT_EQ(stable::LogAddExp(3, -kInfinity), 3);
  EXPECT_EQ(stable::LogAddExp(-kInfinity, -kInfinity), -kInfinity);
  EXPECT_NEAR(stable::LogAddExp(1e4, 1e4) - 1e4, std::log(2.0), 1e-11);
  EXPECT_EQ(stable::LogAddExp(1, 2), stable::LogAddExp(2, 1));
}

// Vector code must not depend on where an element stands.
TEST(StableMathTest, ArraysHaveTheBitsOfScalars) {
  const std::vector<double> numbers = UniformNumbers(0.001, 30, 1003);
  std::vector<double> logs = numbers;
  std::vector<double> exps = numbers;
  for (double& x : exps) x = -30 * x;  // Some are below -708.
  const std::vector<double> arguments = exps;
  // From 1 down to 0.
  std::vector<double> log1ps = arguments;
  stable::ExpInPlace(log1ps);
  log1ps[0] = 1;
  const std::vector<double> shares = log1ps;
  stable::Log1pInPlace(log1ps);
  stable::LogInPlace(logs);
  stable::ExpInPlace(exps);
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(logs[i], stable::Log(numbers[i])) << i;
    ASSERT_EQ(exps[i], stable::Exp(arguments[i])) << i;
    ASSERT_EQ(log1ps[i], stable::Log1p(shares[i])) << i;
  }
}

TEST(StableMathTest, SumAndMaxTakeEveryElement) {
  for (size_t size = 1; size < 40; ++size) {
    std::vector<double> numbers(size, 1);
    EXPECT_EQ(stable::Sum(numbers), static_cast<double>(size));
    for (size_t place = 0; place < size; ++place) {
      std::vector<double> values(size, -3);
      values[place] = -2;
      EXPECT_EQ(stable::Max(values), -2) << size << " " << place;
    }
  }
  EXPECT_EQ(stable::Sum({}), 0);
}

// Golden bits: a logged propensity is verified with them on any machine and in
// any later release. They are those of this implementation at first release.
TEST(StableMathTest, BitsNeverChange) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  EXPECT_EQ(bits(stable::Exp(-1.25)), 0x3fd25618372a584f);
  EXPECT_EQ(bits(stable::Exp(-123.456)), 0x34cda9fb9e4ee720);
  EXPECT_EQ(bits(stable::Log(0.3)), 0xbff34378fcbda721);
  EXPECT_EQ(bits(stable::Log(12345.678)), 0x4022d79559791e31);
  EXPECT_EQ(bits(stable::Log1p(0.001)), 0x3f5060354f8c3ec0);
  EXPECT_EQ(bits(stable::Expm1(-0.001)), 0xbf50603521cac48c);
}

// Log-probabilities of every size, some of them 0.
std::vector<double> LogProbabilities(size_t size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> values(size);
  for (double& value : values) {
    value = std::log(random.Uniform()) * std::exp(8 * random.Normal());
    if (random.Below(20) == 0) value = 0;
  }
  return values;
}

// The ranks are taken in groups, and the logarithms of a group together: each
// must have the bits that one rank alone has.
TEST(LogMixtureTest, OrdersHaveTheBitsOfTheirRanks) {
  for (const double epsilon : {0.0, 1e-300, 0.02, 0.5, 1.0}) {
    const LogMixture mixture(epsilon);
    for (const size_t size : {0, 1, 2, 10, 63, 64, 65, 200}) {
      std::vector<double> policy = LogProbabilities(size, size);
      if (size > 70) policy[70] = -HUGE_VAL;
      const std::vector<double> other = LogProbabilities(size, size + 1000);
      std::vector<double> conditionals = policy;
      double log_odds = 7;
      const double log_h = MixOrders(mixture, other, conditionals, &log_odds);
      double expected_odds = mixture.PriorLogOdds();
      double log_p = 0;
      double log_q = 0;
      for (size_t r = 0; r < size; ++r) {
        const bool both = mixture.has_policy() && mixture.has_uniform();
        const double expected =
            both ? LogMixture::Conditional(expected_odds, policy[r], other[r])
                 : (mixture.has_policy() ? policy : other)[r];
        EXPECT_EQ(conditionals[r], expected) << epsilon << " " << r;
        log_p += policy[r];
        log_q += other[r];
        expected_odds += policy[r] - other[r];
      }
      EXPECT_EQ(log_h, mixture(log_p, log_q));
      if (mixture.has_policy() && mixture.has_uniform()) {
        EXPECT_EQ(log_odds, expected_odds);
      }
    }
  }
}

TEST(LogMixtureTest, UniformOrdersAreOrders) {
  const LogMixture mixture(0.3);
  constexpr size_t kItems = 150;
  for (const size_t size : {1, 64, 150}) {
    std::vector<double> uniform(size);
    for (size_t r = 0; r < size; ++r) {
      uniform[r] = 0 - stable::Log(static_cast<double>(kItems - r));
    }
    std::vector<double> expected = LogProbabilities(size, size);
    std::vector<double> conditionals = expected;
    double expected_odds = 0;
    double log_odds = 0;
    EXPECT_EQ(MixWithUniformOrders(mixture, kItems, conditionals, &log_odds),
              MixOrders(mixture, uniform, expected, &expected_odds));
    EXPECT_EQ(conditionals, expected);
    EXPECT_EQ(log_odds, expected_odds);
  }
}

}  // namespace
}  // namespace sortition
