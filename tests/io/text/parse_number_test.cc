// Numbers are the nearest to their decimal, as those of the C library are.
#include "io/text/parse_number.h"

#include <bit>
#include <cstdlib>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// Checks against strtod() and strtof(), bit for bit.
void ExpectExact(const std::string& text) {
  double as_double = 0;
  float as_float = 0;
  ASSERT_TRUE(ParseNumber(text, &as_double)) << text;
  ASSERT_TRUE(ParseNumber(text, &as_float)) << text;
  EXPECT_EQ(std::bit_cast<uint64_t>(as_double),
            std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)))
      << text;
  EXPECT_EQ(std::bit_cast<uint32_t>(as_float),
            std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)))
      << text;
}

TEST(ParseNumberTest, DecimalsOfAnyLengthAreRoundedOnce) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    std::string text = random() % 2 == 0 ? "-" : "";
    const uint64_t before = random() % 12;
    const uint64_t after = random() % 14;
    for (uint64_t k = 0; k <= before; ++k) {
      text += static_cast<char>('0' + random() % 10);
    }
    if (after > 0) text += '.';
    for (uint64_t k = 0; k < after; ++k) {
      text += static_cast<char>('0' + random() % 10);
    }
    ExpectExact(text);
  }
}

// The double nearest to these is in the middle of two floats, although the
// decimal is not: the double alone would be rounded to the even float.
TEST(ParseNumberTest, DecimalsBesideTheMiddleOfTwoFloats) {
  for (const char* text :
       {"1.00000005960464477540", "1.0000000596046447753",
        "1.00000005960464477", "16777217", "16777217.0000001",
        "16777216.9999999", "-33554434.0000001"}) {
    ExpectExact(text);
  }
}

// 64 bits hold 19 digits; 2^64 has 20.
TEST(ParseNumberTest, ManyDigits) {
  for (const char* text :
       {"18446744073709551617", "9999999999999999999", "-0", "0.0", "-0.000",
        "9007199254740992", "9007199254740993", "0.9007199254740993",
        "00000000000000000001", "123456789.123456789", "1e5", "+2.5"}) {
    if (text[0] == '+') {
      double value = 0;
      EXPECT_TRUE(ParseNumber(text, &value));
      EXPECT_EQ(value, 2.5);
    } else {
      ExpectExact(text);
    }
  }
}

TEST(ParseNumberTest, OtherTextIsNoNumber) {
  for (const char* text : {"", "-", ".", "-.", "1.2.3", "1,5", "0x10", "1 ",
                           " 1", "--1", "1-", "1e400"}) {
    double as_double = 0;
    float as_float = 0;
    EXPECT_FALSE(ParseNumber(text, &as_double)) << text;
    EXPECT_FALSE(ParseNumber(text, &as_float)) << text;
  }
}

}  // namespace
}  // namespace sortition
