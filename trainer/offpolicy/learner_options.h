#pragma once
// What `train` tells the learner beside its data.
#include <optional>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/poem.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/offpolicy/train_data.h"

namespace sortition {

// Returns the options of the learner, with defaults that depend on the kind of
// action, the number of decisions and prior_version.
config::v1::PoemOptions LearnerOptions(const config::v1::TrainOptions& options,
                                       const TrainData& data);

// Returns true if the options leave open how the reward of a rank is weighed,
// and the newest decisions that they read are orders of a law with a gradient
// by rank, with several ranks, rewards by rank and propensities by rank.
// Learning from prefixes (PoemOptions.PREFIXES) then finds more than learning
// from whole orders, even if users do not read from the top: the gate weighs
// whole orders in any case.
absl::StatusOr<bool> LearnsFromPrefixes(
    const config::v1::TrainOptions& options,
    const std::optional<StoredModel>& baseline);

// Returns the parameters of the newest policy that logged; empty if it is not
// in the store or not of the family.
Eigen::VectorXd ParentStart(const config::v1::TrainOptions& options,
                            const ModelStore& store, const TrainData& data);

// Before hours of reading: InvalidArgument if there is a prior_version without
// penalty PROXIMAL, FailedPrecondition if it is not in the store.
absl::Status CheckPrior(const config::v1::TrainOptions& options,
                        const ModelStore& store);

// Returns the parameters of prior_version; empty if it is 0.
// FailedPrecondition if it is not in the store or not of the family.
absl::StatusOr<Eigen::VectorXd> PriorOf(const config::v1::TrainOptions& options,
                                        const ModelStore& store,
                                        const TrainData& data);

}  // namespace sortition
