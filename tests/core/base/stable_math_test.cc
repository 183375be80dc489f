#include "core/base/stable_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

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

TEST(StableMathTest, ExpIsWithinOneUlp) {
  for (const double x : UniformNumbers(-707, 709, 100000)) {
    ASSERT_LT(UlpError(stable::Exp(x), std::exp(static_cast<long double>(x))),
              1)
        << x;
  }
  for (const double x : UniformNumbers(-2, 2, 100000)) {
    ASSERT_LT(UlpError(stable::Exp(x), std::exp(static_cast<long double>(x))),
              1)
        << x;
  }
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
  for (const double x : UniformNumbers(-700, 700, 100000)) {
    const double y = std::exp(x);
    ASSERT_LT(UlpError(stable::Log(y), std::log(static_cast<long double>(y))),
              1)
        << y;
  }
  for (const double x : UniformNumbers(0, 2, 100000)) {
    ASSERT_LT(UlpError(stable::Log(x), std::log(static_cast<long double>(x))),
              1)
        << x;
  }
}

TEST(StableMathTest, LogTakesAnyPositiveNumber) {
  EXPECT_EQ(stable::Log(1), 0);
  EXPECT_NEAR(stable::Log(5e-324), -1074 * std::log(2.0), 1e-12);
  EXPECT_NEAR(stable::Log(std::numeric_limits<double>::max()),
              1024 * std::log(2.0), 1e-12);
}

TEST(StableMathTest, Log1pAndExpm1KeepSmallArguments) {
  for (const double exponent : UniformNumbers(-40, 3, 100000)) {
    const double x = std::exp(exponent);
    ASSERT_LT(
        UlpError(stable::Log1p(x), std::log1p(static_cast<long double>(x))), 4)
        << x;
    ASSERT_LT(
        UlpError(stable::Expm1(-x), std::expm1(-static_cast<long double>(x))),
        4)
        << x;
  }
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

}  // namespace
}  // namespace sortition
