#pragma once
// The items of an Open Bandit Dataset and what their file says of them.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

// Columns of a candidate's row: one for each item, then those of the item
// context (a column of numbers is one, of texts one for each text).
struct ObdItems {
  struct Row {
    std::vector<uint32_t> columns;
    std::vector<float> values;
  };
  std::vector<Row> rows;  // By item_id.
  uint32_t num_columns = 0;
};

// Items that nothing is known of.
ObdItems PlainItems(uint32_t count);

// Reads item_context.csv. Errors name file and line.
absl::StatusOr<ObdItems> ReadItemContext(const std::string& path);

}  // namespace sortition
