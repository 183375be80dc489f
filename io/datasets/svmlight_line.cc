#include "io/datasets/svmlight_line.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxFeature = 100000000;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

absl::string_view SvmlightLine::NextToken() {
  while (place_ < line_.size() && IsSpace(line_[place_])) ++place_;
  column_ = place_ + 1;
  const size_t begin = place_;
  if (place_ < line_.size() && line_[place_] == '#') {
    place_ = line_.size();
    return {};
  }
  while (place_ < line_.size() && !IsSpace(line_[place_])) ++place_;
  return line_.substr(begin, place_ - begin);
}

absl::Status SvmlightLine::ParseFeatures(std::vector<SvmlightFeature>* features,
                                         uint64_t* extreme_values) {
  features->clear();
  absl::string_view token;
  while (!(token = NextToken()).empty()) {
    RETURN_IF_ERROR(ParseFeature(token, features, extreme_values));
  }
  return absl::OkStatus();
}

absl::Status SvmlightLine::ParseFeature(absl::string_view token,
                                        std::vector<SvmlightFeature>* features,
                                        uint64_t* extreme_values) const {
  const size_t colon = token.find(':');
  const uint32_t first = options_.first_feature;
  uint32_t feature = 0;
  const char* const end =
      token.data() + (colon == absl::string_view::npos ? 0 : colon);
  const auto parsed = std::from_chars(token.data(), end, feature);
  const bool is_number = colon != absl::string_view::npos &&
                         parsed.ec == std::errc() && parsed.ptr == end;
  if (!is_number || feature < first || feature > kMaxFeature) {
    return Error(absl::StrCat(
        "'", token, "' must be <feature>:<value> with a feature number in [",
        first, ", ", kMaxFeature, "]",
        is_number && feature < first
            ? "; read files whose features start at 0 with first_feature = 0"
            : ""));
  }
  const uint32_t column = feature - first;
  if (!features->empty() && column <= features->back().column) {
    return Error(absl::StrCat("feature ", feature, " must be above ",
                              features->back().column + first,
                              ", the one before it"));
  }
  double value = 0;
  RETURN_IF_ERROR(ParseNumber(token.substr(colon + 1), "value", &value));
  auto number = static_cast<float>(value);
  if (!std::isfinite(number)) {
    ASSIGN_OR_RETURN(number, ReadExtreme(feature, value));
    ++*extreme_values;
  }
  features->push_back({column, number});
  return absl::OkStatus();
}

absl::StatusOr<float> SvmlightLine::ReadExtreme(uint32_t feature,
                                                double value) const {
  constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
  constexpr float kLargest = std::numeric_limits<float>::max();
  switch (options_.extreme_values) {
    case ExtremeValues::kRefuse:
      break;
    case ExtremeValues::kMissing:
      return kMissing;
    case ExtremeValues::kCut:
      return std::isnan(value) ? kMissing : value > 0 ? kLargest : -kLargest;
    case ExtremeValues::kZero:
      return 0.0f;
  }
  return Error(absl::StrCat(
      "value of feature ", feature, " is ", value,
      ", must be a finite float; extreme_values = MISSING, CUT or ZERO reads "
      "such values as missing, as the largest float or as 0"));
}

absl::Status SvmlightLine::ParseNumber(absl::string_view token,
                                       absl::string_view what,
                                       double* value) const {
  if (token.size() > 1 && token[0] == '+') token.remove_prefix(1);
  const char* const end = token.data() + token.size();
  auto [rest, error] = std::from_chars(token.data(), end, *value);
  // Beyond doubles: too large, or so small that it becomes 0.
  if (error == std::errc::result_out_of_range && rest == end &&
      absl::SimpleAtod(token, value)) {
    error = std::errc();
  }
  if (token.empty() || error != std::errc() || rest != end) {
    return Error(absl::StrCat(what, " '", token, "' is not a number"));
  }
  return absl::OkStatus();
}

absl::Status SvmlightLine::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", number_, ", column ", column_, ": ", what));
}

absl::string_view SkipByteOrderMark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  return text;
}

absl::Status CheckIsText(absl::string_view text) {
  for (const auto& [begin, what, how] :
       {std::tuple("\x1f\x8b", "compressed by gzip", "decompress it first"),
        std::tuple("\x28\xb5\x2f\xfd", "compressed by zstd",
                   "decompress it first"),
        std::tuple("BZh", "compressed by bzip2", "decompress it first"),
        std::tuple("\xff\xfe", "in UTF-16", "convert it to UTF-8"),
        std::tuple("\xfe\xff", "in UTF-16", "convert it to UTF-8")}) {
    if (!absl::StartsWith(text, begin)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the file is ", what, ", must be text: ", how));
  }
  return absl::OkStatus();
}

}  // namespace sortition
