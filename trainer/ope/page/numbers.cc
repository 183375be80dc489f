#include "trainer/ope/page/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

constexpr int kMostDecimals = 12;
constexpr int kUsualDecimals = 4;
// Larger numbers are written with an exponent.
constexpr double kLong = 1e12;

// Returns words for what is not finite, else nothing.
std::string InWords(double value) {
  if (std::isnan(value)) return "unknown";
  return std::isinf(value) ? "no limit" : "";
}

}  // namespace

int DecimalsFor(double width) {
  if (!std::isfinite(width) || width <= 0) return kUsualDecimals;
  const double digits = 1 - std::floor(std::log10(width));
  return static_cast<int>(
      std::clamp(digits, 0.0, static_cast<double>(kMostDecimals)));
}

int DecimalsFor(const std::vector<model::v1::Estimate>& estimates) {
  double narrowest = std::numeric_limits<double>::infinity();
  for (const model::v1::Estimate& estimate : estimates) {
    const double width = estimate.upper() - estimate.lower();
    if (width > 0) narrowest = std::min(narrowest, width);
  }
  return DecimalsFor(narrowest);
}

std::string FormatNumber(double value, int decimals) {
  if (std::string words = InWords(value); !words.empty()) return words;
  if (std::abs(value) >= kLong) return absl::StrFormat("%.3g", value);
  std::string text = absl::StrFormat("%.*f", decimals, value);
  // No negative zero.
  if (text.find_first_not_of("-0.") == text.npos && text[0] == '-') {
    text.erase(0, 1);
  }
  return text;
}

std::string FormatInterval(const model::v1::Estimate& estimate, int decimals) {
  if (std::isnan(estimate.lower()) || std::isnan(estimate.upper())) {
    return "no interval";
  }
  if (std::isinf(estimate.lower()) && std::isinf(estimate.upper())) {
    return "no limits";
  }
  return absl::StrCat("[", FormatNumber(estimate.lower(), decimals), ", ",
                      FormatNumber(estimate.upper(), decimals), "]");
}

std::string FormatEstimate(const model::v1::Estimate& estimate, int decimals) {
  return absl::StrCat(FormatNumber(estimate.value(), decimals), " ",
                      FormatInterval(estimate, decimals));
}

std::string FormatCount(uint64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatCountOf(uint64_t count, const std::string& noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string FormatShare(double share) {
  return absl::StrCat(FormatRounded(100 * share, 3), " %");
}

std::string FormatRounded(double value, int digits) {
  if (std::string words = InWords(value); !words.empty()) return words;
  if (std::abs(value) < 1000 || std::abs(value) >= kLong) {
    return absl::StrFormat("%.*g", digits, value);
  }
  const double unit =
      std::pow(10, std::floor(std::log10(std::abs(value))) + 1 - digits);
  const double rounded = unit > 1 ? std::round(value / unit) * unit : value;
  return absl::StrCat(
      value < 0 ? "-" : "",
      FormatCount(static_cast<uint64_t>(std::llround(std::abs(rounded)))));
}

}  // namespace sortition
