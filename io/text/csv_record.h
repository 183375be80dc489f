#pragma once
// The fields of a CSV record (RFC 4180).
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "io/text/input_lines.h"

namespace sortition {

// Splits a record, which it overwrites where fields are quoted. InvalidArgument
// naming the column where a quote stands wrongly, or if it is not UTF-8.
absl::Status SplitCsvRecord(const InputLine& line,
                            std::vector<absl::string_view>* fields,
                            char delimiter = ',');

}  // namespace sortition
