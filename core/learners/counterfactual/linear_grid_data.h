#pragma once
// Supplies selections, rankings and subsets to the grid.
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

class LinearGridData : public GridData {
 public:
  // The tuples must outlive this. The objective decides how tuples with hidden
  // actions are weighted in training. Tuples count as TrainingWeights() says.
  LinearGridData(const LinearFamily& family, std::span<const BanditTuple> train,
                 std::span<const BanditTuple> validation,
                 config::v1::PoemOptions::Objective objective);

  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override;
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override;
  Eigen::VectorXd FeatureScales() const override;
  absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& fit) const override;
  // How much each training tuple counts.
  std::span<const double> train_weights() const { return train_weights_; }
  std::span<const double> validation_weights() const {
    return validation_weights_;
  }

 private:
  LinearFamily family_;
  std::span<const BanditTuple> train_;
  std::span<const BanditTuple> validation_;
  std::vector<double> train_weights_;
  std::vector<double> validation_weights_;
  HiddenActions hidden_;  // How training weighs hidden actions.
};

}  // namespace sortition
