#pragma once
// Which policies are judged, as OpeOptions.policies says.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace sortition {

struct PolicySpec {
  enum class Kind { kNewest, kVersion, kUniform, kConstant, kFile, kShadow };

  std::string name;  // What reports call it: the text, without a file's path.
  Kind kind = Kind::kNewest;
  uint64_t version = 0;                              // kVersion, kShadow
  std::string path;                                  // kFile
  std::optional<double> temperature = std::nullopt;  // Above 0.
  std::optional<double> mixture = std::nullopt;      // In [0, 1].

  bool is_stored() const {
    return kind == Kind::kNewest || kind == Kind::kVersion;
  }
};

// The name of what the log itself did.
inline constexpr absl::string_view kLogName = "log";

// Parses "newest", "version:3", "shadow:3", "uniform", "constant" or
// "NAME=FILE", each with any of "@temperature=T" and "@mixture=E" that it can
// have. InvalidArgument naming what is
// wrong.
absl::StatusOr<PolicySpec> ParsePolicy(absl::string_view text);

// Parses all; their names must differ.
absl::StatusOr<std::vector<PolicySpec>> ParsePolicies(
    const google::protobuf::RepeatedPtrField<std::string>& texts);

}  // namespace sortition
