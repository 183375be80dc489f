#pragma once
// Formats tables for people to read.
#include <string>
#include <vector>

namespace sortition {

// Returns the rows as lines of aligned columns; the first row has the headings.
// Columns whose other cells all start like a number are aligned to the right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace sortition
