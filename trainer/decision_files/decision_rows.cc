#include "trainer/decision_files/decision_rows.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/text/input_lines.h"
#include "trainer/decision_files/row_formats.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<DecisionRows>> DecisionRows::Open(
    const std::string& path) {
  if (path == "-") {
    return absl::InvalidArgumentError(
        "the file is '-', must be a path: it is opened twice");
  }
  bool is_json = false;
  {
    ASSIGN_OR_RETURN(const auto lines,
                     InputLines::Open(path, /*quoted=*/false));
    InputLine line;
    ASSIGN_OR_RETURN(const bool has_line, lines->Next(&line));
    if (!has_line) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": the file is empty, must have a row for each decision"));
    }
    if (absl::StartsWith(line.text(), "PK\x03\x04")) {
      return internal::MakeNpzRows(path);
    }
    is_json =
        absl::StripLeadingAsciiWhitespace(line.text()).substr(0, 1) == "{";
  }
  ASSIGN_OR_RETURN(auto lines, InputLines::Open(path, /*quoted=*/!is_json));
  if (is_json) return internal::MakeJsonRows(path, std::move(lines));
  return internal::MakeCsvRows(path, std::move(lines));
}

absl::Status DecisionRows::CheckNotEnded() const {
  if (through_.empty()) return absl::OkStatus();
  return Wrong(absl::StrCat("a row follows the declaration 'through', ",
                            "which must be the last line"));
}

absl::Status DecisionRows::Wrong(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ":", line_, ": ", what));
}

}  // namespace sortition
