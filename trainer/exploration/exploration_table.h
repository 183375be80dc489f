#pragma once
// What explorations of a version's scores cost, and how soon their logs tell
// two policies apart.
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sortition/config/v1/calibrate.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct ExplorationTask {
  const model::v1::Model& model;  // Whose policy RanksByScores().
  // The policy to tell from the present one; its weights multiply the same.
  // Null: the same scores at twice the inverse temperature.
  const model::v1::Model* against = nullptr;
  std::span<const BanditTuple> validation;  // Chooses clips.
  std::span<const BanditTuple> test;
  // As CalibrateOptions.explorations.
  const google::protobuf::RepeatedPtrField<std::string>& explorations;
  double confidence = 0.95;
  double delta = 0;  // In units of rewards; 0: a share of the present reward.
  double reward_min = 0;
  double reward_max = 1;
};

// Weighs each exploration on the test part as `calibrate` weighs temperatures.
//
// Costs are differences of self-normalised estimates, paired by decision, with
// errors by unit and normal intervals. They are against the order by score, or
// where the log cannot support that, against the present policy. A row that the
// log cannot support says why and has no cost.
//
// The numbers of decisions are those of
// core/counterfactual/exploration/difference_variance.h, for independent
// decisions. Weights are of all ranks of a tuple's order: where tuples are cut
// to the ranks that were seen, of these. A row has none where its variance
// rests on too few tuples; no row has any if the log cannot support both
// policies that are to be told apart.
//
// InvalidArgument for explorations that cannot be parsed, and for tuples that
// have another number of features than the weights.
absl::StatusOr<config::v1::ExplorationTable> MeasureExplorations(
    const ExplorationTask& task);

}  // namespace sortition
