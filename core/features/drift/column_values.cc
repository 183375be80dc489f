#include "core/features/drift/column_values.h"

#include <cmath>

namespace sortition {

using model::v1::ColumnSchema;

double CountedNumber(const ColumnSchema& schema, const BoundColumn& column,
                     uint32_t row) {
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      return column.Number(row);
    case ColumnSchema::TEXT:
      return static_cast<double>(column.Text(row).size());
    case ColumnSchema::CATEGORY_SET:
      return static_cast<double>(column.Set(row).size());
    default:
      break;
  }
  double squares = 0;
  for (const float value : column.Vector(row)) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

}  // namespace sortition
