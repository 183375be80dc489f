#include "core/features/text/murmur3.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

// Published vectors of MurmurHash3_x86_32.
TEST(Murmur3Test, HasThePublishedValues) {
  EXPECT_EQ(Murmur3("", 0), 0u);
  EXPECT_EQ(Murmur3("", 1), 0x514e28b7u);
  EXPECT_EQ(Murmur3("", 0xffffffffu), 0x81f16f39u);
  EXPECT_EQ(Murmur3("test", 0), 0xba6bd213u);
  EXPECT_EQ(Murmur3("test", 0x9747b28c), 0x704b81dcu);
  EXPECT_EQ(Murmur3("Hello, world!", 0), 0xc0363e43u);
  EXPECT_EQ(Murmur3("Hello, world!", 0x9747b28c), 0x24884cbau);
  EXPECT_EQ(Murmur3("aaa", 0x9747b28c), 0x283e0130u);
  EXPECT_EQ(Murmur3("aa", 0x9747b28c), 0x5d211726u);
  EXPECT_EQ(Murmur3("The quick brown fox jumps over the lazy dog", 0),
            0x2e4ff723u);
}

TEST(VowpalHashTest, AddsNumbersToTheSeedAndHashesOtherNames) {
  EXPECT_EQ(VowpalHash("12", 100), 112u);
  EXPECT_EQ(VowpalHash("007", 100), 107u);
  // 2^32 + 1 wraps.
  EXPECT_EQ(VowpalHash("4294967297", 5), 6u);
  EXPECT_EQ(VowpalHash("12a", 100), Murmur3("12a", 100));
  EXPECT_EQ(VowpalHash("-1", 100), Murmur3("-1", 100));
  EXPECT_EQ(VowpalHash("1.5", 100), Murmur3("1.5", 100));
}

TEST(VowpalHashTest, CrossesAndNgramsAreThoseOfTheCommandLine) {
  // 3 · 16777619 = 50332857 = 0x30004b9, xor 5 = 0x30004bc.
  EXPECT_EQ(VowpalCross(3, 5), 0x30004bcu);
  // 3 · 27942141 + 5.
  EXPECT_EQ(VowpalNgram(3, 5), 83826428u);
}

}  // namespace
}  // namespace sortition
