#pragma once
// Decides which learner `train` runs, and whether the options fit it.
#include "absl/status/statusor.h"
#include "core/learners/learners.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

// Returns the learner that `options` name. InvalidArgument if `train` has no
// learner of that name, if the data it learns from are missing, or if an option
// is set that the learner does not use.
absl::StatusOr<LearnerInfo> ChooseLearner(
    const config::v1::TrainOptions& options);

// Whether `learner` reads the option, a field of TrainOptions; of a group, all
// its options.
bool LearnerUses(const LearnerInfo& learner,
                 const google::protobuf::FieldDescriptor& option);

// Replaces the learner's group in `options` by `own`, which must be of the
// group's type. Requires a learner that `train` runs.
void SetOwnOptions(const LearnerInfo& learner,
                   const google::protobuf::Message& own,
                   config::v1::TrainOptions* options);

}  // namespace sortition
