#pragma once
// The formats of DecisionRows.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "io/text/input_lines.h"
#include "trainer/decision_files/decision_rows.h"

namespace sortition::internal {

std::unique_ptr<DecisionRows> MakeJsonRows(std::string path,
                                           std::unique_ptr<InputLines> lines);
// Reads the line with the names of the columns.
absl::StatusOr<std::unique_ptr<DecisionRows>> MakeCsvRows(
    std::string path, std::unique_ptr<InputLines> lines);

// Lines count the rows of the arrays, from 1.
absl::StatusOr<std::unique_ptr<DecisionRows>> MakeNpzRows(std::string path);

}  // namespace sortition::internal
