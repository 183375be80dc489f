#include "client/import/obd_items.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/csv_record.h"
#include "io/text/input_lines.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using Table = std::vector<std::vector<std::string>>;

constexpr size_t kMostItems = 1'000'000;

absl::StatusOr<Table> ReadTable(const std::string& path) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, true));
  Table table;
  InputLine line;
  std::vector<absl::string_view> fields;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) break;
    if (line.size == 0) continue;
    absl::Status status = SplitCsvRecord(line, &fields);
    if (status.ok() && !table.empty() && fields.size() != table[0].size()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("the line has ", fields.size(), " fields, must have ",
                       table[0].size()));
    }
    if (status.ok() && table.size() > kMostItems) {
      status = absl::InvalidArgumentError(
          absl::StrCat("there must be at most ", kMostItems, " items"));
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line.number, ": ", status.message()));
    }
    table.emplace_back(fields.begin(), fields.end());
  }
  if (table.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no item, must have at least one"));
  }
  return table;
}

// Returns the line of each item: the ids are 0 up to their number, in any
// order.
absl::StatusOr<std::vector<size_t>> ItemLines(const std::string& path,
                                              const Table& table,
                                              size_t id_column) {
  std::vector<size_t> line_of(table.size() - 1);
  for (size_t line = 1; line < table.size(); ++line) {
    uint32_t id = 0;
    if (!ParseNumber(table[line][id_column], &id) || id >= line_of.size() ||
        line_of[id] != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":", line + 1, ": item_id is '", Shown(table[line][id_column]),
          "', must be different numbers in [0, ", line_of.size(), ")"));
    }
    line_of[id] = line;
  }
  return line_of;
}

// Appends one column of the table to the rows. InvalidArgument if most of its
// cells are numbers, but not all.
absl::Status AddColumn(const std::string& path, const Table& table,
                       const std::vector<size_t>& line_of, size_t column,
                       ObdItems* items) {
  std::vector<float> numbers(line_of.size());
  std::map<std::string, uint32_t> texts;
  size_t num_numbers = 0;
  size_t other_line = 0;  // The last one with another text.
  for (size_t i = 0; i < line_of.size(); ++i) {
    const std::string& text = table[line_of[i]][column];
    texts[text] = 0;
    const bool is_number =
        ParseNumber(text, &numbers[i]) && std::isfinite(numbers[i]);
    num_numbers += is_number ? 1 : 0;
    if (!is_number) other_line = line_of[i];
  }
  const bool are_numbers = num_numbers == line_of.size();
  if (!are_numbers && 2 * num_numbers > line_of.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":", other_line + 1, ": column '", Shown(table[0][column]),
        "' is '", Shown(table[other_line][column]),
        "', must be a finite number, as in most lines"));
  }
  uint32_t next = 0;
  for (auto& [text, place] : texts) place = next++;
  for (size_t i = 0; i < line_of.size(); ++i) {
    const uint32_t place = are_numbers ? 0 : texts[table[line_of[i]][column]];
    const float value = are_numbers ? numbers[i] : 1;
    if (value == 0) continue;
    items->rows[i].columns.push_back(items->num_columns + place);
    items->rows[i].values.push_back(value);
  }
  items->num_columns += are_numbers ? 1 : next;
  return absl::OkStatus();
}

}  // namespace

ObdItems PlainItems(uint32_t count) {
  ObdItems items;
  items.num_columns = count;
  for (uint32_t i = 0; i < count; ++i) items.rows.push_back({{i}, {1}});
  return items;
}

absl::StatusOr<ObdItems> ReadItemContext(const std::string& path) {
  ASSIGN_OR_RETURN(const Table table, ReadTable(path));
  const auto id = std::find(table[0].begin(), table[0].end(), "item_id");
  if (id == table[0].end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":1: column 'item_id' is missing"));
  }
  const auto id_column = static_cast<size_t>(id - table[0].begin());
  ASSIGN_OR_RETURN(const std::vector<size_t> line_of,
                   ItemLines(path, table, id_column));
  ObdItems items = PlainItems(static_cast<uint32_t>(line_of.size()));
  for (size_t column = 0; column < table[0].size(); ++column) {
    // The first column of the published files has no name: a line number.
    if (column == id_column || table[0][column].empty()) continue;
    RETURN_IF_ERROR(AddColumn(path, table, line_of, column, &items));
  }
  return items;
}

}  // namespace sortition
