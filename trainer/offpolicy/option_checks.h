#pragma once
// Checks options that several commands have.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

// InvalidArgument if the parts leave nothing to train on, or the range of
// rewards is empty. For TrainOptions and CalibrateOptions.
template <typename Options>
absl::Status ValidatePartsAndRewards(const Options& options) {
  if (options.validation_fraction() + options.test_fraction() >= 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation_fraction + test_fraction is ",
                     options.validation_fraction() + options.test_fraction(),
                     ", must be below 1"));
  }
  if (!(options.reward_min() < options.reward_max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("reward_min is ", options.reward_min(),
                     ", must be below reward_max, ", options.reward_max()));
  }
  return absl::OkStatus();
}

// InvalidArgument for options of `train` from tuples that are out of range
// whatever the log has.
absl::Status ValidateTupleTraining(const config::v1::TrainOptions& options);

}  // namespace sortition
