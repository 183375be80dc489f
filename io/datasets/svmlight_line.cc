#include "io/datasets/svmlight_line.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/str_cat.h"
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

absl::Status SvmlightLine::ParseFeatures(
    std::vector<SvmlightFeature>* features) {
  features->clear();
  absl::string_view token;
  while (!(token = NextToken()).empty()) {
    RETURN_IF_ERROR(ParseFeature(token, features));
  }
  return absl::OkStatus();
}

absl::Status SvmlightLine::ParseFeature(
    absl::string_view token, std::vector<SvmlightFeature>* features) const {
  const size_t colon = token.find(':');
  uint32_t feature = 0;
  const char* const end =
      token.data() + (colon == absl::string_view::npos ? 0 : colon);
  const auto parsed = std::from_chars(token.data(), end, feature);
  if (colon == absl::string_view::npos || parsed.ec != std::errc() ||
      parsed.ptr != end || feature == 0 || feature > kMaxFeature) {
    return Error(absl::StrCat("'", token,
                              "' must be <feature>:<value> with a feature "
                              "number in [1, ",
                              kMaxFeature, "]"));
  }
  if (!features->empty() && feature <= features->back().number) {
    return Error(absl::StrCat("feature ", feature, " must be above ",
                              features->back().number, ", the one before it"));
  }
  double value = 0;
  RETURN_IF_ERROR(ParseNumber(token.substr(colon + 1), "value", &value));
  if (!std::isfinite(static_cast<float>(value))) {
    return Error(absl::StrCat("value of feature ", feature, " is ", value,
                              ", must be a finite float"));
  }
  features->push_back({feature, static_cast<float>(value)});
  return absl::OkStatus();
}

absl::Status SvmlightLine::ParseNumber(absl::string_view token,
                                       absl::string_view what,
                                       double* value) const {
  if (token.size() > 1 && token[0] == '+') token.remove_prefix(1);
  const auto parsed =
      std::from_chars(token.data(), token.data() + token.size(), *value);
  if (token.empty() || parsed.ec != std::errc() ||
      parsed.ptr != token.data() + token.size()) {
    return Error(absl::StrCat(what, " '", token, "' is not a number"));
  }
  return absl::OkStatus();
}

absl::Status SvmlightLine::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", number_, ", column ", column_, ": ", what));
}

}  // namespace sortition
