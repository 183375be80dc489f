#pragma once
// Models the loss of a set of labels, for doubly robust learning:
//   δ̂(x, y) = b + Σ_l y_l v_l·x,
// with v and b from ridge regression of the losses of other contexts
// (LossModelFit.folds; a context is a unit). It is linear in y, so that
// the labels' independence makes the expectation exact [SwaminathanJoachims15,
// sec. 5.2]:
//   Σ_y h_w(y|x) δ̂(x, y) = b + Σ_l σ(s_l) v_l·x,  s_l = w_l·x,
//   ∇_{w_l} = σ(s_l) (1 - σ(s_l)) (v_l·x) x.
// It is not clipped to [-1, 0], because then it would not be linear.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/loss_model.h"
#include "core/learners/multilabel/label_tuples.h"
#include "core/learners/multilabel/labels_policy.h"

namespace sortition {

class LabelsLossModel : public LossModel {
 public:
  // `contexts` and `tuples`, whose weights take the place of fit.weights, must
  // outlive this and fit each other (LabelsPolicy::Create). Errors as
  // ValidateLossModelFit().
  static absl::StatusOr<LabelsLossModel> Fit(const LabelContexts& contexts,
                                             const LabelTuples& tuples,
                                             const LossModelFit& fit);

  // Returns the same model with its own state of ExpectedLosses().
  std::unique_ptr<LabelsLossModel> Clone() const;

  double LoggedLoss(size_t i) const override;
  void ExpectedLosses(const Eigen::VectorXd& parameters,
                      std::span<const uint32_t> tuples,
                      std::span<double> losses) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  LabelsLossModel(const LabelContexts& contexts, const LabelTuples& tuples);

  const LabelContexts* contexts_;
  const LabelTuples* tuples_;
  // b for this context.
  double InterceptOf(uint32_t context) const {
    return (*intercepts_)[context % intercepts_->size()];
  }

  // v_l·x of each context (contexts × q), and b of each fold.
  std::shared_ptr<const LabelScorer::Matrix> effects_;
  std::shared_ptr<const std::vector<double>> intercepts_;
  LabelScorer scorer_;
  // State of the last ExpectedLosses():
  std::vector<uint32_t> rows_;   // The contexts, each once.
  std::vector<uint32_t> place_;  // The index of each tuple's context in rows_.
  std::vector<uint32_t> place_of_context_;
  LabelScorer::Matrix scores_;
  LabelScorer::Matrix slopes_;  // σ (1 - σ) v_l·x for rows_.
};

}  // namespace sortition
