#pragma once
// Splits lines of SVMlight text and similar formats (LETOR, multi-label) into
// tokens.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace sortition {

// What becomes of feature values that are no finite floats
// (LabelFileOptions.extreme_values).
enum class ExtremeValues { kRefuse, kMissing, kCut, kZero };

struct SvmlightOptions {
  uint32_t first_feature = 1;  // Number of the first feature: 0 or 1.
  ExtremeValues extreme_values = ExtremeValues::kRefuse;
};

struct SvmlightFeature {
  uint32_t column = 0;  // From 0, whatever the number of the first feature is.
  float value = 0;      // Finite, or NaN where it is missing (kMissing, kCut).
};

// Parses one line from left to right. Errors are InvalidArgument and name the
// line and column of what cannot be parsed.
class SvmlightLine {
 public:
  // `number` is that of the line, from 1. `line` must outlive this object.
  SvmlightLine(absl::string_view line, size_t number,
               const SvmlightOptions& options = {})
      : line_(line), number_(number), options_(options) {}

  // Returns the next token; empty at the end of the line or at its comment ("#
  // …").
  absl::string_view NextToken();
  // Goes back to the beginning of the last token.
  void Unread() { place_ = column_ - 1; }

  // Parses the rest of the line: "<feature>:<value>" with ascending numbers.
  // Adds the number of extreme values that were read to `extreme_values`.
  absl::Status ParseFeatures(std::vector<SvmlightFeature>* features,
                             uint64_t* extreme_values);

  // Parses the whole `token` as a number, which may be nan or inf. Numbers
  // beyond doubles become inf. `what` names it in error messages.
  absl::Status ParseNumber(absl::string_view token, absl::string_view what,
                           double* value) const;

  absl::Status Error(absl::string_view what) const;

 private:
  absl::Status ParseFeature(absl::string_view token,
                            std::vector<SvmlightFeature>* features,
                            uint64_t* extreme_values) const;
  // Returns what the options make of a value that is no finite float.
  absl::StatusOr<float> ReadExtreme(uint32_t feature, double value) const;

  absl::string_view line_;
  size_t number_;
  SvmlightOptions options_;
  size_t place_ = 0;
  size_t column_ = 1;
};

// Returns `text` without a UTF-8 byte order mark at its beginning.
absl::string_view SkipByteOrderMark(absl::string_view text);

// InvalidArgument for files that are no text: compressed ones, and UTF-16.
absl::Status CheckIsText(absl::string_view text);

// Calls `parse(line, number)` for every line of `text` that is neither empty
// nor a comment, until one fails. Skips a UTF-8 byte order mark.
template <typename Parse>
absl::Status ForEachSvmlightLine(absl::string_view text, const Parse& parse) {
  RETURN_IF_ERROR(CheckIsText(text));
  text = SkipByteOrderMark(text);
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
