// Floats as text: what the standard library writes, faster.
#include "client/export/shortest_float.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace sortition {
namespace {

std::string Shortest(float value) {
  char text[kFloatRoom];
  return {text, WriteShortest(value, text)};
}

std::string Standard(float value) {
  char text[kFloatRoom];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void ExpectStandard(float value) {
  ASSERT_EQ(Shortest(value), Standard(value)) << std::hexfloat << value;
  ASSERT_EQ(Shortest(-value), Standard(-value)) << std::hexfloat << value;
}

TEST(ShortestFloatTest, WritesWhatTheStandardLibraryWrites) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000000; ++i) {
    ExpectStandard(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  // Where it does not ask the library.
  std::uniform_real_distribution<float> logarithm(-5, 8);
  for (int i = 0; i < 2000000; ++i) {
    ExpectStandard(std::pow(10.0f, logarithm(random)));
  }
}

// Shorter by many digits, next to such numbers, and powers of two, whose
// neighbours are not equally far.
TEST(ShortestFloatTest, WritesDecimalsAndTheirNeighbours) {
  for (int exponent = -6; exponent < 9; ++exponent) {
    for (int digits = 1; digits < 20000; ++digits) {
      const float value = static_cast<float>(digits * std::pow(10, exponent));
      ExpectStandard(value);
      ExpectStandard(std::nextafter(value, 0.0f));
      ExpectStandard(std::nextafter(value, 1e30f));
    }
  }
  for (int exponent = -149; exponent < 128; ++exponent) {
    const float value = std::ldexp(1.0f, exponent);
    ExpectStandard(value);
    ExpectStandard(std::nextafter(value, 0.0f));
    ExpectStandard(std::nextafter(value, 1e38f));
  }
}

TEST(ShortestFloatTest, WritesWhatIsNoNumber) {
  for (const float value : {0.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max()}) {
    ExpectStandard(value);
  }
}

}  // namespace
}  // namespace sortition
