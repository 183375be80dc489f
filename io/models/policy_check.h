#pragma once
// What the store asks of a policy before it takes or gives out a model.
#include "absl/status/status.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// InvalidArgument where the kind is not set or a field is outside the range
// that sortition/model/v1/model.proto states.
absl::Status ValidatePolicy(const model::v1::Policy& policy);

}  // namespace sortition
