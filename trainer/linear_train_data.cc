#include "trainer/linear_train_data.h"

#include <utility>

#include "core/base/status_macros.h"

namespace sortition {

LinearTrainData::LinearTrainData(TupleData data,
                                 const config::v1::TrainOptions& options)
    : data_(std::move(data)),
      family_{.action_kind = data_.action_kind,
              .num_features = data_.num_features,
              .can_abstain = data_.can_abstain,
              .uniform_mixture = options.uniform_mixture()},
      grid_data_(family_, data_.train, data_.validation,
                 options.poem().objective()) {}

absl::StatusOr<std::unique_ptr<TuplePolicy>> LinearTrainData::TestPolicy()
    const {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(family_, data_.test));
  return std::make_unique<LinearTuplePolicy>(std::move(policy));
}

std::vector<double> LinearTrainData::ShownLosses() const {
  std::vector<double> losses;
  for (const BanditTuple& tuple : data_.train) {
    if (tuple.action_shown) losses.push_back(tuple.loss);
  }
  return losses;
}

void LinearTrainData::SetPolicy(const Eigen::VectorXd& parameters,
                                model::v1::Model* model) const {
  *model->mutable_policy() = PolicyAt(family_, parameters);
  model->set_num_features(family_.num_features);
  model->clear_weights();
  for (const double weight : WeightsAt(family_, parameters)) {
    model->add_weights(weight);
  }
}

}  // namespace sortition
