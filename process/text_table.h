#pragma once
// Tables for people.
#include <string>
#include <vector>

namespace sortition {

// Rows of cells as lines of aligned columns, the first row being the heads.
// Cells that start like a number are aligned to the right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace sortition
