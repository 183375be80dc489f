#include "io/trec/trec_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/text/input_lines.h"

namespace sortition {
namespace {

std::vector<absl::string_view> Split(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

absl::Status AddLine(
    const std::vector<absl::string_view>& fields, absl::string_view form,
    const std::function<absl::Status(const std::vector<absl::string_view>&)>&
        add) {
  const size_t num_fields = Split(form).size();
  if (fields.size() == num_fields) return add(fields);
  return absl::InvalidArgumentError(absl::StrCat(
      "has ", fields.size(), " fields, must have ", num_fields, ": ", form));
}

}  // namespace

absl::Status ForEachTrecLine(
    const std::string& path, absl::string_view form,
    const std::function<
        absl::Status(const std::vector<absl::string_view>& fields)>& add) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, false));
  InputLine line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) return absl::OkStatus();
    const std::vector<absl::string_view> fields = Split(line.text());
    if (fields.empty()) continue;
    if (const absl::Status status = AddLine(fields, form, add); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ":", line.number,
                                                      ": ", status.message()));
    }
  }
}

}  // namespace sortition
