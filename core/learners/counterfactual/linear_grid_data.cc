#include "core/learners/counterfactual/linear_grid_data.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/counterfactual/training_weights.h"

namespace sortition {
namespace {

absl::StatusOr<std::unique_ptr<TuplePolicy>> MakePolicy(
    const LinearFamily& family, std::span<const BanditTuple> tuples,
    HiddenActions hidden, std::span<const double> weights) {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(family, tuples, hidden, weights));
  return std::make_unique<LinearTuplePolicy>(std::move(policy));
}

}  // namespace

LinearGridData::LinearGridData(const LinearFamily& family,
                               std::span<const BanditTuple> train,
                               std::span<const BanditTuple> validation,
                               config::v1::PoemOptions::Objective objective)
    : family_(family),
      train_(train),
      validation_(validation),
      train_weights_(TrainingWeights(train)),
      validation_weights_(TrainingWeights(validation)),
      hidden_(objective == config::v1::PoemOptions::DOUBLY_ROBUST
                  ? HiddenActions::kWeighed
                  : HiddenActions::kImpossible) {}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LinearGridData::TrainPolicy()
    const {
  return MakePolicy(family_, train_, hidden_, train_weights_);
}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LinearGridData::ValidationPolicy()
    const {
  return MakePolicy(family_, validation_, HiddenActions::kImpossible,
                    validation_weights_);
}

Eigen::VectorXd LinearGridData::FeatureScales() const {
  return sortition::FeatureScales(family_, train_, train_weights_);
}

absl::StatusOr<GridData::LossModelCopies> LinearGridData::FitLossModel(
    const LossModelFit& fit) const {
  ASSIGN_OR_RETURN(const auto policy, TrainPolicy());
  std::vector<double> losses(train_.size());
  for (size_t i = 0; i < losses.size(); ++i) losses[i] = policy->loss(i);
  LossModelFit weighted = fit;
  weighted.weights = train_weights_;
  ASSIGN_OR_RETURN(CandidateLossModel model,
                   CandidateLossModel::Fit(family_, train_, losses, weighted));
  return LossModelCopies([model = std::move(model)] {
    return std::make_unique<CandidateLossModel>(model);
  });
}

}  // namespace sortition
