#pragma once
// Numbers from text, exactly rounded.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Parses a decimal such as -12.345 without an exponent whose digits are below
// 2^53. Returns false for all other text. The result is exactly rounded,
// because digits and power of ten are exact and only their quotient is rounded.
inline bool ParseShortDecimal(absl::string_view text, double* value) {
  static constexpr double kPowersOfTen[] = {
      1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr ptrdiff_t kMaxLength = 19;  // So many digits fit into 64 bits.
  const char* place = text.data();
  const char* const end = place + text.size();
  const bool is_negative = place != end && *place == '-';
  if (is_negative) ++place;
  if (end - place > kMaxLength || place == end) {
    return false;
  }
  const auto digit = [&] { return static_cast<unsigned>(*place - '0'); };
  uint64_t digits = 0;
  const char* const first = place;
  for (; place != end && digit() < 10; ++place) digits = digits * 10 + digit();
  if (place == first) return false;
  ptrdiff_t decimals = 0;
  if (place != end && *place == '.') {
    const char* const point = place++;
    for (; place != end && digit() < 10; ++place) {
      digits = digits * 10 + digit();
    }
    decimals = place - point - 1;
    if (decimals == 0) return false;
  }
  if (place != end || digits > uint64_t{1} << 53) return false;
  const double quotient = static_cast<double>(digits) / kPowersOfTen[decimals];
  *value = is_negative ? -quotient : quotient;
  return true;
}

// The same for a float. The double between it and the decimal decides how it is
// rounded, unless that double lies in the middle between two floats.
inline bool ParseShortDecimal(absl::string_view text, float* value) {
  double nearest = 0;
  if (!ParseShortDecimal(text, &nearest)) return false;
  constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
  constexpr uint64_t kMiddle = uint64_t{1} << 28;
  if ((std::bit_cast<uint64_t>(nearest) & kBelowFloat) == kMiddle) return false;
  *value = static_cast<float>(nearest);
  return true;
}

// Parses the whole of `text`. Numbers too small for the type become 0; false
// for those that are too large. Accepts "nan" and "inf".
template <typename Number>
bool ParseNumber(absl::string_view text, Number* value) {
  if constexpr (std::is_same_v<Number, float> ||
                std::is_same_v<Number, double>) {
    if (ParseShortDecimal(text, value)) return true;
  }
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  if (error == std::errc() && rest == end) return true;
  if constexpr (std::is_floating_point_v<Number>) {
    double small = 0;
    if (error == std::errc::result_out_of_range && rest == end &&
        absl::SimpleAtod(text, &small) && std::abs(small) < 1) {
      *value = static_cast<Number>(small);
      return true;
    }
  }
  return false;
}

// Returns `text`, shortened for a message.
inline std::string Shown(absl::string_view text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? std::string(text)
                              : absl::StrCat(text.substr(0, kMost), "…");
}

}  // namespace sortition
