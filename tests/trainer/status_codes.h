#pragma once
// Short names for the status codes that the trainer's tests expect most often.
#include "absl/status/status.h"

namespace sortition {

inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

}  // namespace sortition
