#pragma once
// What the JSON form of a message does not look at, or says less clearly.
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace sortition {

// InvalidArgument if `json` is not one JSON value in UTF-8 (the message tells
// line and column), is nested more than kMaxJsonDepth deep, or has an object
// with two equal keys, or with more than kMaxJsonKeys.
//
// With a `type`, also what the parser of protobuf would read as something that
// was not said: a field under both of its names, null or a list as an entry of
// a list or map, a list for one value, one value for a list, and texts as
// numbers that JSON would not take, such as "0x10".
absl::Status CheckJson(absl::string_view json,
                       const google::protobuf::Descriptor* type = nullptr);
inline constexpr size_t kMaxJsonKeys = 4096;
inline constexpr int kMaxJsonDepth = 64;

}  // namespace sortition
