#include "client/export/shortest_float.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace sortition {
namespace {

constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                              1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
constexpr double kInverses[] = {1e0,  1e-1, 1e-2, 1e-3, 1e-4,
                                1e-5, 1e-6, 1e-7, 1e-8};
// Nine digits tell any two floats apart.
constexpr int kMostDigits = 9;
constexpr int kMantissaBits = 23;
// Numbers below 1e9 that were rounded once are nearer to the truth than this.
constexpr double kSlack = 1e-6;

// value = digits / 10^8 * 10^exponent.
struct Decimal {
  uint32_t digits;  // With zeros at the end: kMostDigits.
  int num_digits;   // Without them.
  int exponent;     // Of the first digit.
};

// Rounds a number in [0, 2^51), branch-free.
double Round(double value) {
  constexpr double kShift = 0x1.8p52;
  return value + kShift - kShift;
}

// A number in [1e8, 1e9) without its last digits.
class Shortening {
 public:
  // Numbers that are less than `near` away read back as the same float.
  Shortening(double scaled, double near) : scaled_(scaled), near_(near) {}

  // Whether `dropped` digits less still read back.
  bool Allows(int dropped) {
    const double distance = DistanceOf(dropped);
    is_close_ |= std::abs(distance - near_) < kSlack;
    return distance < near_;
  }
  double DistanceOf(int dropped) const {
    return std::abs(Rounded(dropped) * kPowers[dropped] - scaled_);
  }
  double Rounded(int dropped) const {
    return Round(scaled_ * kInverses[dropped]);
  }
  // Whether rounding may have been decisive.
  bool is_close() const { return is_close_; }

 private:
  const double scaled_;
  const double near_;
  bool is_close_ = false;
};

// Finds the fewest digits of a number in [1e-4, 1e7). Returns false where
// double precision does not decide.
bool FindDecimal(float value, Decimal* decimal) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent_bits = bits >> kMantissaBits << kMantissaBits;
  // The float below a power of two is nearer than that above.
  if (bits == exponent_bits) return false;
  const int exponent2 = static_cast<int>(bits >> kMantissaBits) - 127;
  // log10(2) is a little more than 1233 / 4096.
  int exponent = exponent2 * 1233 >> 12;
  const double exact = value;
  exponent += exact * kPowers[kMostDigits - 2 - exponent] >= 1e8 ? 1 : 0;
  const double scale = kPowers[kMostDigits - 1 - exponent];
  // Half a unit in the last place.
  const double near =
      scale *
      std::bit_cast<float>(exponent_bits - (uint32_t{24} << kMantissaBits));
  Shortening shortening(exact * scale, near);
  // Most floats have 7 to 9 digits: these without a branch.
  int dropped = static_cast<int>(shortening.Allows(1)) +
                static_cast<int>(shortening.Allows(2)) +
                static_cast<int>(shortening.Allows(3));
  if (dropped == 3) {
    while (dropped + 1 < kMostDigits && shortening.Allows(dropped + 1)) {
      ++dropped;
    }
  }
  const double digits = shortening.Rounded(dropped) * kPowers[dropped];
  decimal->digits = static_cast<uint32_t>(digits);
  decimal->num_digits = kMostDigits - dropped;
  decimal->exponent = exponent;
  const double tie = 0.5 * kPowers[dropped];
  return !shortening.is_close() && digits < 1e9 &&
         std::abs(shortening.DistanceOf(dropped) - tie) > kSlack;
}

// Writes eight digits, which are computed side by side in one word.
void WriteEightDigits(uint32_t number, char* out) {
  const uint64_t high = number / 10000;
  const uint64_t fours = high | uint64_t{number - high * 10000} << 32;
  const uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007F0000007F;
  const uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const uint64_t tens = (twos * 103 >> 10) & 0x000F000F000F000F;
  const uint64_t ones = tens | (twos - 10 * tens) << 8;
  const uint64_t text = ones + 0x3030303030303030;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(out, &text, sizeof text);
}

char* WriteSmallInteger(uint32_t number, char* out) {
  if (number < 10) {
    *out = static_cast<char>('0' + number);
    return out + 1;
  }
  return std::to_chars(out, out + kFloatRoom, number).ptr;
}

}  // namespace

char* WriteShortest(float value, char* out) {
  constexpr float kIntegers = 1e5f;  // Below, none is shorter with an exponent.
  const float size = std::abs(value);
  char* const begin = out;
  *out = '-';
  out += std::signbit(value) ? 1 : 0;
  if (size < kIntegers && size == static_cast<float>(static_cast<int>(size))) {
    return WriteSmallInteger(static_cast<uint32_t>(size), out);
  }
  Decimal decimal;
  // In double precision: the nearest float is below 1e-4.
  if (double{size} >= 1e-4 && size < 1e7f && FindDecimal(size, &decimal)) {
    const auto& [digits, count, exponent] = decimal;
    constexpr uint32_t kFirst = 100'000'000;
    constexpr char kZeros[] = {'0', '.', '0', '0', '0'};
    char text[16] = {static_cast<char>('0' + digits / kFirst)};
    WriteEightDigits(digits % kFirst, text + 1);
    if (exponent < 0 && !(exponent == -4 && count == 1)) {
      std::memcpy(out, kZeros, sizeof kZeros);
      std::memcpy(out + 1 - exponent, text, kMostDigits);
      return out + 1 - exponent + count;
    }
    if (exponent >= 0 && count > exponent + 1) {
      std::memcpy(out, text, 8);
      out[exponent + 1] = '.';
      std::memcpy(out + exponent + 2, text + exponent + 1, 8);
      return out + count + 1;
    }
  }
  return std::to_chars(begin, begin + kFloatRoom, value).ptr;
}

}  // namespace sortition
