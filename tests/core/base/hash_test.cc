#include "core/base/hash.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Golden values: logged decisions are verified with them in any later release.
TEST(HashTest, NeverChanges) {
  const Hash128 decision = DecisionKey("default", 3, "decision-1");
  EXPECT_EQ(decision.low, 0x82e5a84a77968917);
  EXPECT_EQ(decision.high, 0x4a3a3bce732c57de);
  const Hash128 seed = SeedKey(42);
  EXPECT_EQ(seed.low, 0x8bf2d171fe6e82df);
  EXPECT_EQ(seed.high, 0x8bd5a1703eafe576);
  EXPECT_EQ(DecisionKey("default", 3, "decision-1", ""), decision);
  EXPECT_EQ(SeedKey(42, ""), seed);
  const Hash128 split = StableHash(HashDomain::kSplit, {"abc"});
  EXPECT_EQ(split.low, 0x281b2fca3f0122e4);
  EXPECT_EQ(split.high, 0x7d03ab16af3c554a);
}

// XXH3_128bits of no bytes with seed 0, from the specification of xxHash.
TEST(HashTest, HashOfNothingIsThatOfTheSpecification) {
  EXPECT_EQ(HashBytes("").high, 0x99aa06d3014798d8u);
  EXPECT_EQ(HashBytes("").low, 0x6001c324468d497fu);
}

TEST(HashTest, PartsCountWithTheirLengths) {
  EXPECT_NE(StableHash(HashDomain::kAction, {"ab", "c"}),
            StableHash(HashDomain::kAction, {"a", "bc"}));
  EXPECT_NE(StableHash(HashDomain::kAction, {"a"}),
            StableHash(HashDomain::kAction, {"a", ""}));
  EXPECT_NE(DecisionKey("m", 1, "x"), DecisionKey("m", 2, "x"));
  EXPECT_NE(DecisionKey("m", 1, "x"), DecisionKey("m", 1, "y"));
  EXPECT_NE(DecisionKey("m", 1, "x"), DecisionKey("n", 1, "x"));
}

TEST(HashTest, SaltsChangeKeys) {
  const Hash128 salted = DecisionKey("m", 1, "x", "s");
  EXPECT_NE(salted, DecisionKey("m", 1, "x"));
  EXPECT_NE(salted, DecisionKey("m", 1, "x", "t"));
  EXPECT_NE(salted, DecisionKey("m", 2, "x", "s"));
  EXPECT_NE(salted, DecisionKey("m", 1, "y", "s"));
  EXPECT_NE(SeedKey(1, "s"), SeedKey(1));
  EXPECT_NE(SeedKey(1, "s"), SeedKey(1, "t"));
  EXPECT_NE(SeedKey(1, "s"), SeedKey(2, "s"));
}

// On the stack or on the heap, the same bytes have the same hash.
TEST(HashTest, LongPartsHashLikeShortOnes) {
  const std::string id(5000, 'x');
  EXPECT_EQ(StableHash(HashDomain::kSplit, {id}),
            StableHash(HashDomain::kSplit, {std::string(5000, 'x')}));
  EXPECT_NE(StableHash(HashDomain::kSplit, {id}),
            StableHash(HashDomain::kSplit, {id.substr(1)}));
}

TEST(HashTest, UnitIntervalCoversItsRange) {
  EXPECT_EQ(UnitInterval({0, 0}), 0);
  EXPECT_LT(UnitInterval({~0ull, ~0ull}), 1);
  EXPECT_GT(UnitInterval({~0ull, ~0ull}), 1 - 1e-15);
}

// Split, sub-sample, keeping and action of one id are independent: the
// correlation of 1e5 independent pairs has standard deviation 1/√1e5 = 0.0032;
// 4 of those are exceeded with probability 6e-5 (fixed ids).
TEST(HashTest, DomainsAreIndependent) {
  constexpr int kIds = 100000;
  constexpr int kUses = 5;
  const double limit = 4 / std::sqrt(kIds);
  double sums[kUses] = {};
  double squares[kUses] = {};
  double products[kUses][kUses] = {};
  for (int i = 0; i < kIds; ++i) {
    const std::string id = absl::StrCat("decision-", i);
    const double numbers[kUses] = {
        UnitInterval(StableHash(HashDomain::kSplit, {id})),
        UnitInterval(StableHash(HashDomain::kSubsample, {id})),
        CounterRandom(DecisionKey("default", 1, id)).Uniform(0),
        KeepNumber("", id), KeepNumber(id, "")};
    for (int a = 0; a < kUses; ++a) {
      sums[a] += numbers[a];
      squares[a] += numbers[a] * numbers[a];
      for (int b = 0; b < a; ++b) products[a][b] += numbers[a] * numbers[b];
    }
  }
  const auto variance = [&](int a) {
    return squares[a] / kIds - sums[a] / kIds * (sums[a] / kIds);
  };
  for (int a = 0; a < kUses; ++a) {
    for (int b = 0; b < a; ++b) {
      const double covariance =
          products[a][b] / kIds - sums[a] / kIds * (sums[b] / kIds);
      EXPECT_LT(std::abs(covariance) / std::sqrt(variance(a) * variance(b)),
                limit)
          << a << " and " << b;
    }
    // Each is uniform: mean ½ with standard deviation √(1/12 / n).
    EXPECT_NEAR(sums[a] / kIds, 0.5, 4 * std::sqrt(1.0 / 12 / kIds));
  }
}

// A unit counts whatever is decided for it; without one, each decision counts.
TEST(HashTest, DecisionsOfAUnitAreKeptTogether) {
  EXPECT_EQ(KeepNumber("unit", "a"), KeepNumber("unit", "b"));
  EXPECT_NE(KeepNumber("", "a"), KeepNumber("", "b"));
  EXPECT_NE(KeepNumber("a", "x"), KeepNumber("", "a"));
}

}  // namespace
}  // namespace sortition
