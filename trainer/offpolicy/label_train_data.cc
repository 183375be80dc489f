#include "trainer/offpolicy/label_train_data.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/learners/multilabel/label_weights.h"
#include "core/learners/multilabel/labels_loss_model.h"
#include "core/learners/multilabel/labels_policy.h"

namespace sortition {
namespace {

absl::StatusOr<std::unique_ptr<TuplePolicy>> MakePolicy(
    const LabelContexts& contexts, const LabelTuples& tuples) {
  ASSIGN_OR_RETURN(LabelsPolicy policy, LabelsPolicy::Create(contexts, tuples));
  return std::make_unique<LabelsPolicy>(std::move(policy));
}

LabelData WithTrainingWeights(LabelData data) {
  data.train.weights = LabelTrainingWeights(data.train);
  data.validation.weights = LabelTrainingWeights(data.validation);
  return data;
}

absl::StatusOr<WeightedTuples> WeighLabels(const LabelData& data,
                                           const Eigen::VectorXd& parameters,
                                           const LabelTuples& tuples) {
  ASSIGN_OR_RETURN(LabelsPolicy policy,
                   LabelsPolicy::Create(data.contexts, tuples));
  WeightedTuples weighted = Weigh(parameters, &policy);
  // The uniform policy draws each of the 2^q sets.
  weighted.log_uniform.assign(tuples.size(),
                              -std::log(2.0) * data.contexts.num_labels);
  // Replays of a context are one unit.
  weighted.units.reserve(tuples.size());
  for (const uint32_t context : tuples.contexts) {
    weighted.units.push_back(UnitKey("", absl::StrCat(context)));
  }
  return weighted;
}

// Returns the ball for WeightedParts.ball. ∇ log h has (yₗ - σ(sₗ)) x for each
// of q labels, so it is no longer than √q ‖x‖. That is 2 k X for k = 1 and X =
// √q ‖x‖ / 2.
LinearFamilyBall LabelBall(const LabelData& data,
                           const Eigen::VectorXd& parameters) {
  const LabelContexts& contexts = data.contexts;
  double longest = 0;  // ‖x‖²
  for (const uint32_t context : data.train.contexts) {
    double squares = 0;
    for (uint64_t k = contexts.row_offsets[context];
         k < contexts.row_offsets[context + 1]; ++k) {
      squares += static_cast<double>(contexts.values[k]) * contexts.values[k];
    }
    longest = std::fmax(longest, squares);
  }
  return {.dimension = static_cast<uint64_t>(parameters.size()),
          .radius = parameters.norm(),
          .feature_norm = std::sqrt(contexts.num_labels * longest) / 2};
}

}  // namespace

LabelTrainData::LabelTrainData(LabelData data)
    : data_(WithTrainingWeights(std::move(data))) {}

Eigen::VectorXd LabelTrainData::FeatureScales() const {
  return LabelFeatureScales(data_.contexts, data_.train);
}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LabelTrainData::TrainPolicy()
    const {
  return MakePolicy(data_.contexts, data_.train);
}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LabelTrainData::ValidationPolicy()
    const {
  return MakePolicy(data_.contexts, data_.validation);
}

absl::StatusOr<WeightedParts> LabelTrainData::Weigh(
    const Eigen::VectorXd& parameters) const {
  WeightedParts parts;
  ASSIGN_OR_RETURN(parts.train, WeighLabels(data_, parameters, data_.train));
  ASSIGN_OR_RETURN(parts.validation,
                   WeighLabels(data_, parameters, data_.validation));
  ASSIGN_OR_RETURN(parts.test, WeighLabels(data_, parameters, data_.test));
  parts.ball = LabelBall(data_, parameters);
  return parts;
}

absl::StatusOr<GridData::LossModelCopies> LabelTrainData::FitLossModel(
    const LossModelFit& fit) const {
  ASSIGN_OR_RETURN(LabelsLossModel fitted,
                   LabelsLossModel::Fit(data_.contexts, data_.train, fit));
  const auto model = std::make_shared<const LabelsLossModel>(std::move(fitted));
  return LossModelCopies([model] { return model->Clone(); });
}

std::optional<Eigen::VectorXd> LabelTrainData::ParametersOf(
    const model::v1::Model& model) const {
  const model::v1::Policy& policy = model.policy();
  if (!policy.has_independent_labels() ||
      policy.independent_labels().num_labels() != data_.contexts.num_labels ||
      model.num_features() != data_.contexts.num_features) {
    return std::nullopt;
  }
  return policy.inverse_temperature() *
         Eigen::Map<const Eigen::VectorXd>(model.weights().data(),
                                           model.weights_size());
}

void LabelTrainData::SetPolicy(const Eigen::VectorXd& parameters,
                               model::v1::Model* model) const {
  model->clear_policy();
  model->mutable_policy()->set_inverse_temperature(1);
  model->mutable_policy()->mutable_independent_labels()->set_num_labels(
      data_.contexts.num_labels);
  model->set_num_features(data_.contexts.num_features);
  model->mutable_weights()->Assign(parameters.data(),
                                   parameters.data() + parameters.size());
}

}  // namespace sortition
