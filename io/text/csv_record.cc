#include "io/text/csv_record.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Moves the text of a quoted field to its front. `*place` is behind the first
// quote, and then behind the last one.
absl::StatusOr<absl::string_view> Unquote(const InputLine& line,
                                          size_t* place) {
  char* const begin = line.data + *place;
  char* out = begin;
  for (size_t i = *place; i < line.size; ++i) {
    if (line.data[i] == '"') {
      if (line.data[i + 1] != '"') {
        *place = i + 1;
        return absl::string_view(begin, static_cast<size_t>(out - begin));
      }
      ++i;
    }
    *out++ = line.data[i];
  }
  return absl::InvalidArgumentError(
      absl::StrCat("column ", *place, ": the quote is never closed"));
}

}  // namespace

absl::Status SplitCsvRecord(const InputLine& line,
                            std::vector<absl::string_view>* fields,
                            char delimiter) {
  fields->clear();
  if (!line.IsUtf8()) {
    return absl::InvalidArgumentError("the line is not UTF-8");
  }
  size_t place = 0;
  while (true) {
    if (line.data[place] == '"' && place < line.size) {
      ++place;
      ASSIGN_OR_RETURN(const absl::string_view field, Unquote(line, &place));
      fields->push_back(field);
      if (place < line.size && line.data[place] != delimiter) {
        const std::string name =
            delimiter == ','
                ? "comma"
                : absl::StrCat("'", std::string(1, delimiter), "'");
        return absl::InvalidArgumentError(
            absl::StrCat("column ", place + 1, ": a ", name,
                         " must follow the quoted field"));
      }
    } else {
      const void* const found =
          std::memchr(line.data + place, delimiter, line.size - place);
      const size_t end = found == nullptr
                             ? line.size
                             : static_cast<size_t>(
                                   static_cast<const char*>(found) - line.data);
      fields->emplace_back(line.data + place, end - place);
      place = end;
    }
    if (place >= line.size) return absl::OkStatus();
    ++place;
  }
}

}  // namespace sortition
