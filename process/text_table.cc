#include "process/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

bool LooksNumeric(const std::string& cell) {
  const size_t digit = cell.find_first_not_of("+-");
  return digit != std::string::npos && absl::ascii_isdigit(cell[digit]);
}

// Returns whether every cell below the heading is a number or empty.
bool IsNumericColumn(const std::vector<std::vector<std::string>>& rows,
                     size_t column) {
  return std::all_of(rows.begin() + 1, rows.end(), [column](const auto& row) {
    return column >= row.size() || row[column].empty() ||
           LooksNumeric(row[column]);
  });
}

}  // namespace

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::vector<bool> right(widths.size());
  for (size_t i = 0; i < widths.size(); ++i)
    right[i] = IsNumericColumn(rows, i);
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", right[i] ? padding : "",
                      row[i], right[i] ? "" : padding);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace sortition
