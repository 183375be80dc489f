#pragma once
// Splits lines of SVMlight text and similar formats (LETOR, multi-label) into
// tokens.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace sortition {

struct SvmlightFeature {
  uint32_t number = 0;  // From 1.
  float value = 0;      // Finite.
};

// Parses one line from left to right. Errors are InvalidArgument and name the
// line and column of what cannot be parsed.
class SvmlightLine {
 public:
  // `number` is that of the line, from 1. `line` must outlive this object.
  SvmlightLine(absl::string_view line, size_t number)
      : line_(line), number_(number) {}

  // Returns the next token; empty at the end of the line or at its comment ("#
  // …").
  absl::string_view NextToken();

  // Parses the rest of the line: "<feature>:<value>" with ascending numbers.
  absl::Status ParseFeatures(std::vector<SvmlightFeature>* features);

  // Parses the whole `token` as a number. `what` names it in error messages.
  absl::Status ParseNumber(absl::string_view token, absl::string_view what,
                           double* value) const;

  absl::Status Error(absl::string_view what) const;

 private:
  absl::Status ParseFeature(absl::string_view token,
                            std::vector<SvmlightFeature>* features) const;

  absl::string_view line_;
  size_t number_;
  size_t place_ = 0;
  size_t column_ = 1;
};

// Calls `parse(line, number)` for every line of `text` that is neither empty
// nor a comment, until one fails.
template <typename Parse>
absl::Status ForEachSvmlightLine(absl::string_view text, const Parse& parse) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == absl::string_view::npos || line[first] == '#') continue;
    RETURN_IF_ERROR(parse(line, number));
  }
  return absl::OkStatus();
}

}  // namespace sortition
