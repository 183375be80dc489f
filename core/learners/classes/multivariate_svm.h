#pragma once
// Support vector machine for a measure of a whole vector of labels
// [Joachims05] (seed 001, sec. 17.5.2):
//
//   min_w  λ/2 ‖w‖² + max_v [Δ(v, y) + Σᵢ (vᵢ - yᵢ) w·xᵢ],
//
// by one_slack.h, with the inference of core/losses/multivariate_loss.h. A
// plane costs O(n d + n log n).
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"
#include "core/losses/multivariate_loss.h"
#include "core/optim/one_slack.h"

namespace sortition {

class MultivariateSvm {
 public:
  // Trains on `items`, which must outlive it and have one label each, 0 or 1.
  // InvalidArgument if sizes disagree, and for the reasons of
  // MultivariateInference::Create().
  static absl::StatusOr<std::unique_ptr<MultivariateSvm>> Create(
      const Candidates& items, std::span<const uint8_t> labels,
      const MultivariateLoss& loss, const config::v1::OneSlackOptions& options);

  MultivariateSvm(const MultivariateSvm&) = delete;
  MultivariateSvm& operator=(const MultivariateSvm&) = delete;

  // Trains as OneSlackSolver::Minimise() does. The C of the literature is 1 /
  // lambda. Planes are kept for the next lambda.
  absl::StatusOr<OneSlackResult> Train(double lambda,
                                       const Eigen::VectorXd& start) {
    return solver_.Minimise(lambda, start);
  }

 private:
  MultivariateSvm(const Candidates& items, std::span<const uint8_t> labels,
                  MultivariateInference inference,
                  const config::v1::OneSlackOptions& options);
  void Evaluate(const Eigen::VectorXd& w, RiskPlane* plane);

  const Candidates items_;
  const std::vector<uint8_t> labels_;
  std::vector<uint32_t> indexes_;  // 0, 1, ..
  MultivariateInference inference_;
  OneSlackSolver solver_;
  std::vector<double> scores_;
  LossAugmentedLabels augmented_;
};

}  // namespace sortition
