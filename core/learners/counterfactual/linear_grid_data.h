#pragma once
// Supplies selections, rankings and subsets to the grid.
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

class LinearGridData : public GridData {
 public:
  // The tuples must outlive this. The objective decides how tuples with hidden
  // actions are weighted in training.
  LinearGridData(const LinearFamily& family, std::span<const BanditTuple> train,
                 std::span<const BanditTuple> validation,
                 config::v1::PoemOptions::Objective objective);

  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override;
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override;
  absl::StatusOr<LossModelCopies> FitLossModel(double l2) const override;

 private:
  LinearFamily family_;
  std::span<const BanditTuple> train_;
  std::span<const BanditTuple> validation_;
  HiddenActions hidden_;  // How training weighs hidden actions.
};

}  // namespace sortition
