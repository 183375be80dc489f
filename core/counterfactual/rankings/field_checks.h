#pragma once
// Errors of fields that hold one number per rank.
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sortition {

inline bool IsUnit(double value) { return value >= 0 && value <= 1; }

// Returns InvalidArgument that names the entry of the field and its range.
inline absl::Status OutOfRange(absl::string_view field, size_t rank,
                               double value, absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, "[", rank, "] is ", value, ", must be ", range));
}

// Returns InvalidArgument unless the field has the expected number of entries.
inline absl::Status CheckSize(absl::string_view field, size_t size,
                              size_t expected) {
  if (size == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", size, " numbers, must have ", expected));
}

}  // namespace sortition
