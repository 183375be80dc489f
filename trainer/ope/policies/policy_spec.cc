#include "trainer/ope/policies/policy_spec.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {
namespace {

absl::Status Wrong(absl::string_view text, absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat("policies has '", text, "', must be ", permitted));
}

// Takes "@NAME=NUMBER" from the end of `rest`, if that is what it ends with.
absl::StatusOr<bool> TakeModifier(absl::string_view text,
                                  absl::string_view* rest, PolicySpec* spec) {
  const size_t place = rest->rfind('@');
  if (place == absl::string_view::npos) return false;
  absl::string_view value = rest->substr(place + 1);
  const bool is_temperature = absl::ConsumePrefix(&value, "temperature=");
  if (!is_temperature && !absl::ConsumePrefix(&value, "mixture=")) {
    return false;
  }
  double number = 0;
  const bool is_number = absl::SimpleAtod(value, &number);
  std::optional<double>* const target =
      is_temperature ? &spec->temperature : &spec->mixture;
  if (target->has_value()) {
    return Wrong(text, "with each of @temperature and @mixture at most once");
  }
  if (is_temperature && !(is_number && number >= 1e-6 && number <= 1e6)) {
    return Wrong(text, "with a temperature in [1e-06, 1e+06]");
  }
  if (!is_temperature && !(is_number && number >= 0 && number <= 1)) {
    return Wrong(text, "with a mixture in [0, 1]");
  }
  *target = number;
  *rest = rest->substr(0, place);
  return true;
}

bool IsName(absl::string_view name) {
  return !name.empty() && name != kLogName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '_' || c == '-' || c == '.';
         });
}

// Parses what is left without modifiers.
absl::Status TakeKind(absl::string_view text, absl::string_view rest,
                      PolicySpec* spec) {
  using Kind = PolicySpec::Kind;
  if (rest == "newest" || rest == "uniform" || rest == "constant") {
    spec->kind = rest == "newest"    ? Kind::kNewest
                 : rest == "uniform" ? Kind::kUniform
                                     : Kind::kConstant;
    return absl::OkStatus();
  }
  absl::string_view version = rest;
  const bool is_shadow = absl::ConsumePrefix(&version, "shadow:");
  if (is_shadow || absl::ConsumePrefix(&version, "version:")) {
    spec->kind = is_shadow ? Kind::kShadow : Kind::kVersion;
    if (!absl::SimpleAtoi(version, &spec->version) || spec->version == 0) {
      return Wrong(text, is_shadow ? "shadow:N with an integer N of at least 1"
                                   : "version:N with an integer N of at least "
                                     "1");
    }
    return absl::OkStatus();
  }
  const size_t place = rest.find('=');
  if (place == absl::string_view::npos || place + 1 == rest.size() ||
      !IsName(rest.substr(0, place))) {
    return Wrong(
        text,
        "newest, version:N, shadow:N, uniform, constant or NAME=FILE, "
        "where NAME has letters, digits, '_', '-' and '.' and is not 'log'");
  }
  spec->kind = Kind::kFile;
  spec->name = std::string(rest.substr(0, place));
  spec->path = std::string(rest.substr(place + 1));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PolicySpec> ParsePolicy(absl::string_view text) {
  PolicySpec spec;
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  while (true) {
    ASSIGN_OR_RETURN(const bool taken, TakeModifier(text, &rest, &spec));
    if (!taken) break;
  }
  const std::string base(rest);
  RETURN_IF_ERROR(TakeKind(text, rest, &spec));
  if (spec.name.empty()) spec.name = base;
  if (spec.kind == PolicySpec::Kind::kUniform &&
      (spec.temperature || spec.mixture)) {
    return Wrong(text, "uniform, without @temperature and @mixture");
  }
  if (spec.kind == PolicySpec::Kind::kShadow &&
      (spec.temperature || spec.mixture)) {
    return Wrong(text,
                 "shadow:N, without @temperature and @mixture: the log has its "
                 "probability of one action only");
  }
  if (spec.kind == PolicySpec::Kind::kConstant && spec.temperature) {
    return Wrong(text, "constant, without @temperature");
  }
  if (spec.temperature) {
    absl::StrAppend(&spec.name, "@temperature=", *spec.temperature);
  }
  if (spec.mixture) absl::StrAppend(&spec.name, "@mixture=", *spec.mixture);
  return spec;
}

absl::StatusOr<std::vector<PolicySpec>> ParsePolicies(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  std::vector<PolicySpec> specs;
  for (const std::string& text : SplitEntries(texts)) {
    ASSIGN_OR_RETURN(PolicySpec spec, ParsePolicy(text));
    for (const PolicySpec& other : specs) {
      if (other.name == spec.name) {
        return Wrong(text, "the only one of its name");
      }
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace sortition
