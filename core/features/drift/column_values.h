#pragma once
// What statistics of a column count.
#include "core/features/schema/bound_columns.h"

namespace sortition {

// True for columns that are counted by category, not as numbers.
inline bool CountsCategories(const model::v1::ColumnSchema& schema) {
  return schema.type() == model::v1::ColumnSchema::CATEGORY;
}

// Returns the number of a row that statistics count: a number itself, the bytes
// of a text, the size of a set, the Euclidean norm of a vector. Requires that
// it is not missing, and no category.
double CountedNumber(const model::v1::ColumnSchema& schema,
                     const BoundColumn& column, uint32_t row);

}  // namespace sortition
