#pragma once
// Model of the loss of a candidate, for doubly robust learning of selections
// and rankings:
//   δ̂(x, d) = v·x_d + b, cut to [-1, 0];  δ̂(x, abstain) = c.
// v, b by ridge regression of the losses on the chosen candidates, c the mean
// loss of the tuples that abstained (0, the worst, where none did).
//
// For rankings d is the document at rank 1: δ̂(x, y) = δ̂(x, y₁). Its probability
// to be first is a softmax, so that Σ_y h_w(y|x) δ̂(x, y) is a sum over
// candidates. A model of later ranks would need Plackett–Luce's marginals of a
// position beyond the first, which have no closed form (sums over all
// prefixes). The estimate is unbiased with this δ̂ as with any other; what it
// does not model only stays in the variance.
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
#include "core/policies/action_distribution.h"

namespace sortition {

// δ̂ and its expectation under the policies of a LinearFamily. Copies are cheap
// and independent: one for each thread.
class CandidateLossModel : public LossModel {
 public:
  // `tuples` must outlive this and fit the family (LinearTuplePolicy::Create).
  // `losses`: δ of each. InvalidArgument where l2, the weight of ‖v‖² beside
  // the sum of squared errors, is not finite and positive; for subsets; as
  // MakeActionDistribution() for the mixture.
  static absl::StatusOr<CandidateLossModel> Fit(
      const LinearFamily& family, std::span<const BanditTuple> tuples,
      std::span<const double> losses, double l2);

  double LoggedLoss(size_t i) const override;
  void ExpectedLosses(const Eigen::VectorXd& parameters,
                      std::span<const uint32_t> tuples,
                      std::span<double> losses) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

  // δ̂ of the candidates of tuple i, in their order.
  std::span<const double> CandidateLosses(size_t i) const;
  double abstain_loss() const { return abstain_loss_; }  // c

 private:
  CandidateLossModel(const LinearFamily& family,
                     std::span<const BanditTuple> tuples,
                     std::shared_ptr<const ActionDistribution> distribution)
      : family_(family),
        tuples_(tuples),
        distribution_(std::move(distribution)) {}

  // δ̂ of all candidates, from v followed by b.
  void Predict(const Eigen::VectorXd& coefficients);

  LinearFamily family_;
  std::span<const BanditTuple> tuples_;
  // Without the mixture: the uniform part does not depend on w.
  std::shared_ptr<const ActionDistribution> distribution_;
  std::shared_ptr<const std::vector<double>> candidate_losses_;
  std::shared_ptr<const std::vector<uint64_t>> offsets_;  // By tuple.
  double abstain_loss_ = 0;
  // State of the last ExpectedLosses():
  std::vector<uint32_t> block_;
  FeatureBlock features_;
  std::vector<double> score_slopes_;    // By row: derivative by its score.
  std::vector<double> abstain_slopes_;  // By tuple.
  std::vector<double> scores_;
  std::vector<double> probabilities_;
  DistributionScratch scratch_;
};

}  // namespace sortition
