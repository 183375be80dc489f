#pragma once
// The λ that a learner tries.
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"

namespace sortition {

// Falling, so that each start is near: `lambdas`, where there are none
// 1 / (C n), with n what the mean loss is a mean of, and C = 2^-6, 2^-5, .. 2^6
// its weight as a sum beside ‖w‖² / 2 [WangXingAsifZiebart15, sec. 4].
// InvalidArgument where one is not above 0 and finite; `name` is the option's.
// Requires n > 0.
absl::StatusOr<std::vector<double>> LambdaGrid(
    const google::protobuf::RepeatedField<double>& lambdas, size_t n,
    absl::string_view name);

// How many those are.
size_t LambdaGridSize(const google::protobuf::RepeatedField<double>& lambdas);

}  // namespace sortition
