#pragma once
// Which learner `train` runs, and whether the options are for it.
#include "absl/status/statusor.h"
#include "core/learners/learners.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

// The learner that `options` name. InvalidArgument where `train` has none of
// that name, where what it learns from is missing, and where an option is set
// that has no meaning for it.
absl::StatusOr<LearnerInfo> ChooseLearner(
    const config::v1::TrainOptions& options);

// The field of `options` with the learner's own, LearnerInfo::options. Requires
// a learner of labelled queries.
const google::protobuf::Message& OwnOptions(
    const LearnerInfo& learner, const config::v1::TrainOptions& options);
void SetOwnOptions(const LearnerInfo& learner,
                   const google::protobuf::Message& own,
                   config::v1::TrainOptions* options);

}  // namespace sortition
