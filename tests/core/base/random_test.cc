#include "core/base/random.h"

#include <bit>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

// Known answers of Philox4x32-10 (kat_vectors of Random123): counter 0 and key
// 0 give 6627e8d5 e169c58d bc57ac4c 9b00dbd8. A number takes the first word as
// its high 32 bits and 20 bits of the second.
TEST(CounterRandomTest, IsPhilox) {
  const auto [first, second] = CounterRandom(Hash128{0, 0}).UniformPair(0);
  EXPECT_EQ(first, (0x6627e8d5e169cp0 + 0.5) * 0x1p-52);
  EXPECT_EQ(second, (0xbc57ac4c9b00dp0 + 0.5) * 0x1p-52);
}

// Golden bits: logged decisions are verified with them in any later release.
TEST(CounterRandomTest, BitsNeverChange) {
  const CounterRandom random(Hash128{0x0123456789abcdef, 0xfedcba9876543210},
                             5);
  EXPECT_EQ(std::bit_cast<uint64_t>(random.Uniform(0)), 0x3fe7072283eb6a7f);
  EXPECT_EQ(std::bit_cast<uint64_t>(random.Uniform(1)), 0x3fd2a333c0b4be96);
  EXPECT_EQ(std::bit_cast<uint64_t>(random.Uniform(1001)), 0x3fece39ccb0cf535);
}

TEST(CounterRandomTest, BlocksHoldTheSameNumbers) {
  const CounterRandom random(SeedKey(3));
  for (const size_t size : {0, 1, 2, 7, 15, 16, 17, 100}) {
    std::vector<double> numbers(size);
    random.UniformBlocks(11, numbers);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_EQ(numbers[i], random.Uniform(static_cast<uint32_t>(22 + i)));
    }
  }
}

TEST(CounterRandomTest, StreamsDiffer) {
  EXPECT_NE(CounterRandom(SeedKey(3), 0).Uniform(0),
            CounterRandom(SeedKey(3), 1).Uniform(0));
}

// 1e6 numbers in 1000 cells; fixed seed, fails for 1 seed in 1e4.
TEST(CounterRandomTest, IsUniform) {
  const CounterRandom random(SeedKey(1));
  std::vector<uint64_t> counts(1000);
  for (uint32_t i = 0; i < 1000000; ++i) {
    const double number = random.Uniform(i);
    ASSERT_GT(number, 0);
    ASSERT_LT(number, 1);
    ++counts[static_cast<size_t>(number * 1000)];
  }
  EXPECT_GT(ChiSquarePValue(counts, std::vector<double>(1000, 0.001)), 1e-4);
}

// The first number of many keys, as many decisions draw it.
TEST(CounterRandomTest, IsUniformOverKeys) {
  std::vector<uint64_t> counts(1000);
  for (uint64_t seed = 0; seed < 1000000; ++seed) {
    ++counts[static_cast<size_t>(CounterRandom(SeedKey(seed)).Uniform(0) *
                                 1000)];
  }
  EXPECT_GT(ChiSquarePValue(counts, std::vector<double>(1000, 0.001)), 1e-4);
}

// Mean 0 and variance 1 within 4 standard deviations: 1/√n, √(2/n).
TEST(RandomSequenceTest, NormalHasItsMoments) {
  constexpr int kDraws = 100000;
  RandomSequence random(SeedKey(2));
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 4 * std::sqrt(2.0 / kDraws));
}

TEST(RandomSequenceTest, BelowStaysBelow) {
  RandomSequence random(SeedKey(2));
  std::vector<uint64_t> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts.at(random.Below(7));
  EXPECT_GT(ChiSquarePValue(counts, std::vector<double>(7, 1.0 / 7)), 1e-4);
}

}  // namespace
}  // namespace sortition
