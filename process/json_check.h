#pragma once
// What the JSON form of a message does not look at, or says less clearly.
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

// InvalidArgument if `json` is not one JSON value in UTF-8 (the message tells
// line and column), is nested more than kMaxJsonDepth deep, or has an object
// with two equal keys, of which the JSON form of messages would take either, or
// mix them.
absl::Status CheckJson(absl::string_view json);
inline constexpr int kMaxJsonDepth = 64;

}  // namespace sortition
