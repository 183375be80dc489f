#pragma once
// Ranges that annotations of sortition/model/v1/field_range.proto state.
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/field_range.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sortition {

// Returns the range that the declaration of a model's field states, if any.
std::optional<FieldRange> AnnotatedRange(
    const google::protobuf::FieldDescriptor& field);

// InvalidArgument, beginning with `name` and the path of the field, where a
// field of `message` is outside its range: "schema.column[2].size is 5000,
// must be in [0, 4096]".
absl::Status CheckAnnotatedRanges(const google::protobuf::Message& message,
                                  absl::string_view name);

}  // namespace sortition
