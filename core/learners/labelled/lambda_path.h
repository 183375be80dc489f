#pragma once
// The λ that a learner tries, as a regularisation path.
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"

namespace sortition {

// Returns `lambdas` in falling order, so that each minimum is near the one
// before. If there are none, returns 1 / (C n), where n is the number of terms
// of the mean loss and C = 2^-6, 2^-5, ... 2^6 is the weight of their sum
// beside ‖w‖² / 2 [WangXingAsifZiebart15, sec. 4]. InvalidArgument if a λ is
// not above 0 or not finite; `name` is the option's name. Requires n > 0.
absl::StatusOr<std::vector<double>> LambdaPath(
    const google::protobuf::RepeatedField<double>& lambdas, size_t n,
    absl::string_view name);

// Returns the number of λ that LambdaPath() returns.
size_t LambdaPathSize(const google::protobuf::RepeatedField<double>& lambdas);

}  // namespace sortition
