#pragma once
// Records that were erased, and whose place stays (docs/log_format.md).
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/erased.pb.h"

namespace sortition {

// Number of the field of LogRecord that an erased record has.
inline constexpr int kErasedField = 11;

// Returns the serialised ErasedRecord of exactly `size` bytes that holds
// `kept`, whose padding must be empty. InvalidArgument if `kept` does not fit.
absl::StatusOr<std::string> MakeErasedPayload(const log::v1::Erased& kept,
                                              size_t size);

// Returns whether the payload of a frame is an erased record.
bool IsErasedPayload(absl::string_view payload);

}  // namespace sortition
