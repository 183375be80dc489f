#pragma once
// A rollout of what `train` publishes.
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

// With options.rollout: InvalidArgument for a plan that cannot be followed.
absl::Status ValidateTrainPlan(const config::v1::TrainOptions& options);

// With options.rollout: InvalidArgument for a plan that cannot be followed,
// FailedPrecondition if another rollout is under way.
absl::Status CheckTrainRollout(const config::v1::TrainOptions& options);

// Calls `publish`, which returns the version, and returns it. With
// options.rollout, what serves is pinned before, so that the new version does
// not serve at once, and its rollout begins afterwards; `sentence` says so. A
// first version serves at once: there is nothing to compare it with.
absl::StatusOr<uint64_t> PublishWithRollout(
    const config::v1::TrainOptions& options,
    absl::FunctionRef<absl::StatusOr<uint64_t>()> publish,
    std::string* sentence);

}  // namespace sortition
