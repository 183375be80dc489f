#include "core/base/random.h"

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/hash.h"
#include "core/base/tagged_uuid.h"
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

// A unit counts whatever is decided for it; without one, each decision counts.
TEST(HashTest, DecisionsOfAUnitAreKeptTogether) {
  EXPECT_EQ(KeepNumber("unit", "a"), KeepNumber("unit", "b"));
  EXPECT_NE(KeepNumber("", "a"), KeepNumber("", "b"));
  EXPECT_NE(KeepNumber("a", "x"), KeepNumber("", "a"));
}

TEST(TaggedUuidTest, SaysWhenAndByWhomItWasMade) {
  const uint32_t tag = WriterTag("server-1");
  for (uint64_t serial : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 38) - 1}) {
    const std::string id = MakeTaggedUuid(1'700'000'000'123'456, serial, tag);
    const auto uuid = ParseUuidV7(id);
    ASSERT_TRUE(uuid.has_value()) << id;
    EXPECT_EQ(uuid->time_us, 1'700'000'000'123'000);
    EXPECT_EQ(uuid->writer_tag, tag);
  }
}

TEST(TaggedUuidTest, WritersDiffer) {
  EXPECT_NE(WriterTag("server-1"), WriterTag("server-2"));
  EXPECT_LT(WriterTag("server-1"), 1u << 24);
  EXPECT_NE(MakeTaggedUuid(0, 5, WriterTag("server-1")),
            MakeTaggedUuid(0, 5, WriterTag("server-2")));
}

// The tag must not show: ids of one writer share no bits beyond the time.
TEST(TaggedUuidTest, IdsOfOneWriterLookRandom) {
  std::set<std::string> tag_digits;
  for (uint64_t serial = 0; serial < 200; ++serial) {
    tag_digits.insert(
        MakeTaggedUuid(1'000'000, serial, WriterTag("a")).substr(20, 3));
  }
  // Of 1,024 values, 200 draws leave out no more than 37 by chance.
  EXPECT_GT(tag_digits.size(), 150u);
}

// One in 4,096 by the 12 check bits: 24 of 100,000, with a standard deviation
// of 5.
TEST(TaggedUuidTest, FewOthersLookTagged) {
  std::mt19937_64 random(3);
  int tagged = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string id = absl::StrFormat(
        "01234567-89ab-7%03x-%04x-%012x", random() & 0xFFF,
        0x8000 | (random() & 0x3FFF), random() & 0xFFFFFFFFFFFF);
    const auto uuid = ParseUuidV7(id);
    ASSERT_TRUE(uuid.has_value()) << id;
    if (uuid->writer_tag.has_value()) ++tagged;
  }
  EXPECT_GT(tagged, 4);
  EXPECT_LT(tagged, 50);
}

TEST(TaggedUuidTest, OtherTextsAreNoUuids) {
  const std::string id = MakeTaggedUuid(0, 1, 2);
  EXPECT_FALSE(ParseUuidV7("").has_value());
  EXPECT_FALSE(ParseUuidV7("click-7").has_value());
  EXPECT_FALSE(ParseUuidV7(id + "0").has_value());
  std::string other = id;
  other[14] = '4';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
  other = id;
  other[8] = '0';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
  other = id;
  other[0] = 'g';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
}

}  // namespace
}  // namespace sortition
