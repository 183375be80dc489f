#pragma once
// Models the loss of a candidate, for doubly robust learning of selections and
// rankings:
//   δ̂(x, d) = v·x_d + b, clipped to [-1, 0];  δ̂(x, abstain) = c.
// v and b come from ridge regression of the losses on the chosen candidates. c
// is the mean loss of the tuples that abstained, or 0, the worst, if none did.
// What is said of a tuple comes from other units (LossModelFit.folds).
//
// For rankings d is the document at rank 1: δ̂(x, y) = δ̂(x, y₁). Its
// probability of being first is a softmax, so Σ_y h_w(y|x) δ̂(x, y) is a sum
// over candidates. A model of later ranks would need the marginals of
// Plackett–Luce at positions beyond the first, which have no closed form (they
// are sums over all prefixes). Cross-fitted, the estimate is unbiased with this
// δ̂ as with any other: a poor model only leaves more variance.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/loss_model.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

// Returns δ̂ and its expectation under the policies of a LinearFamily. Copies
// are cheap and independent; use one for each thread.
class CandidateLossModel : public LossModel {
 public:
  // `tuples` must outlive this and fit the family (LinearTuplePolicy::Create).
  // `losses` has δ of each tuple. InvalidArgument where fit.l2 is not finite
  // and positive or there are no folds, for subsets, and for a mixture that
  // MakeActionDistribution() refuses.
  static absl::StatusOr<CandidateLossModel> Fit(
      const LinearFamily& family, std::span<const BanditTuple> tuples,
      std::span<const double> losses, const LossModelFit& fit);

  double LoggedLoss(size_t i) const override;
  void ExpectedLosses(const Eigen::VectorXd& parameters,
                      std::span<const uint32_t> tuples,
                      std::span<double> losses) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

  // Returns δ̂ of the candidates of tuple i, in their order.
  std::span<const double> CandidateLosses(size_t i) const;
  // Returns c for tuple i.
  double AbstainLoss(size_t i) const {
    return coefficients_->abstain_losses[FoldOf(i)];
  }

 private:
  // Of the model for each fold.
  struct Coefficients {
    std::vector<Eigen::VectorXd> of_candidates;  // v followed by b.
    std::vector<double> abstain_losses;          // c
  };

  CandidateLossModel(const LinearFamily& family,
                     std::span<const BanditTuple> tuples,
                     std::shared_ptr<const ActionDistribution> distribution)
      : family_(family),
        tuples_(tuples),
        distribution_(std::move(distribution)) {}

  size_t FoldOf(size_t i) const {
    return tuples_[i].unit % coefficients_->abstain_losses.size();
  }
  // Computes δ̂ of all candidates.
  void Predict();

  LinearFamily family_;
  std::span<const BanditTuple> tuples_;
  // The distribution without the mixture, whose uniform part does not depend on
  // w.
  std::shared_ptr<const ActionDistribution> distribution_;
  std::shared_ptr<const std::vector<double>> candidate_losses_;
  // Where each tuple's candidates begin.
  std::shared_ptr<const std::vector<uint64_t>> offsets_;
  std::shared_ptr<const Coefficients> coefficients_;
  // State of the last ExpectedLosses():
  std::vector<uint32_t> block_;
  FeatureBlock features_;
  std::vector<double> score_slopes_;  // For each row: derivative by its score.
  std::vector<double> abstain_slopes_;  // For each tuple.
  std::vector<double> scores_;
  std::vector<double> probabilities_;
  DistributionScratch scratch_;
};

}  // namespace sortition
