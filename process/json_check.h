#pragma once
// Checks JSON from outside before a parser that is less strict, or whose errors
// are less clear, reads it.
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

// InvalidArgument if `json` is not one JSON value in UTF-8 (the message names
// line and column, and what people from other languages write there), is nested
// more than kMaxJsonDepth deep, or has an object with two equal keys, or with
// more than kMaxJsonKeys.
absl::Status CheckJson(absl::string_view json);
inline constexpr size_t kMaxJsonKeys = 4096;
inline constexpr int kMaxJsonDepth = 64;

}  // namespace sortition
