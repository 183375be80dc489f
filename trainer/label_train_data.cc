#include "trainer/label_train_data.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/learners/labels_loss_model.h"
#include "core/learners/labels_policy.h"

namespace sortition {
namespace {

absl::StatusOr<std::unique_ptr<TuplePolicy>> MakePolicy(
    const LabelContexts& contexts, const LabelTuples& tuples) {
  ASSIGN_OR_RETURN(LabelsPolicy policy, LabelsPolicy::Create(contexts, tuples));
  return std::make_unique<LabelsPolicy>(std::move(policy));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TuplePolicy>> LabelTrainData::TrainPolicy()
    const {
  return MakePolicy(data_.contexts, data_.train);
}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LabelTrainData::ValidationPolicy()
    const {
  return MakePolicy(data_.contexts, data_.validation);
}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LabelTrainData::TestPolicy()
    const {
  return MakePolicy(data_.contexts, data_.test);
}

absl::StatusOr<GridData::LossModelCopies> LabelTrainData::FitLossModel(
    double l2) const {
  ASSIGN_OR_RETURN(LabelsLossModel fitted,
                   LabelsLossModel::Fit(data_.contexts, data_.train, l2));
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
