#pragma once
// The one check of a policy's fields and of a model's weights. The ranges are
// annotations in sortition/model/v1/model.proto; rules between fields are code
// in policy_check.cc.
#include <span>

#include "absl/status/status.h"
#include "core/base/field_range.h"
#include "google/protobuf/descriptor.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// InvalidArgument naming field, value and what is permitted where a field is
// outside its range, the kind is not set, or fields contradict each other.
absl::Status ValidatePolicy(const model::v1::Policy& policy);

// InvalidArgument where a weight is outside the range of Model.weights. Within
// it all scores of finite features are finite.
absl::Status ValidateWeights(std::span<const double> weights);

// Returns the range that model.proto states for a field, as in
// PolicyRange(*GameSubset::descriptor(), GameSubset::kThresholdFieldNumber).
// Requires that it states one.
FieldRange PolicyRange(const google::protobuf::Descriptor& message,
                       int field_number);

}  // namespace sortition
