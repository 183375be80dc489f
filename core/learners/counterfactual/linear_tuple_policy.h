#pragma once
// The served policies (core/policies/linear_policy.h) as functions of their
// parameters over bandit tuples: what is trained is what will be served.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/policies/distributions/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// A family of policies with scores s(d) = w·x(d) at inverse temperature 1 (a
// free w needs no other) and a constant: the score of abstaining for selections
// that may abstain, or the threshold for subsets of any size. The parameters
// are w (num_features), then the constant.
struct LinearFamily {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;
  bool can_abstain = false;    // For kSelect only.
  double uniform_mixture = 0;  // ε of the served mixture, part of h.
  // For kSubset: the size that is served if a request asks for none; 0: any
  // size. If it is not 0, each tuple is of the size that it was logged with.
  uint32_t subset_size = 0;
  // For kRank. Set: Boltzmann orders with these rank weights, head, tail and
  // mixture with Plackett-Luce. Unset: Plackett-Luce.
  std::optional<model::v1::BoltzmannRanking> boltzmann = {};
  // For Plackett-Luce: its rank factors; empty: all are 1.
  std::vector<double> rank_factors = {};

  bool has_constant() const {
    return can_abstain ||
           (action_kind == ActionKind::kSubset && subset_size == 0);
  }
  Eigen::Index dimension() const {
    return static_cast<Eigen::Index>(num_features) + (has_constant() ? 1 : 0);
  }
};

// Return the policy to serve, and its weights, at `parameters`.
model::v1::Policy PolicyAt(const LinearFamily& family,
                           const Eigen::VectorXd& parameters);
std::vector<double> WeightsAt(const LinearFamily& family,
                              const Eigen::VectorXd& parameters);

// Returns the parameters at which the family serves the same as `model`, whose
// weights multiply the same features, except for the mixture: α w and α times
// the constant. Empty if the model is not of this family: if it differs in the
// kind of action, number of weights, ability to abstain, subsets of any or of
// fixed size, or law of rankings (rank factors too, but not the mixture).
std::optional<Eigen::VectorXd> ParametersOf(const LinearFamily& family,
                                            const model::v1::Model& model);

// The log-probability that an action has where something else was shown. The
// loss there is 0.
enum class HiddenActions {
  kImpossible,  // -infinity, so that its weight is 0.
  // The action's own: its outcome counts as the loss 0, the worst. Doubly
  // robust terms need this: with weight 0, they would claim a modelled loss and
  // never correct it.
  kWeighed,
};

class LinearTuplePolicy : public TuplePolicy {
 public:
  // `tuples` and `weights` must outlive this. `weights` has weight() of each
  // tuple; empty: 1. InvalidArgument if the mixture is outside [0, 1], or if a
  // tuple does not fit the family in its number of features, the
  // rows that its action names, or the length of its action.
  static absl::StatusOr<LinearTuplePolicy> Create(
      const LinearFamily& family, std::span<const BanditTuple> tuples,
      HiddenActions hidden = HiddenActions::kImpossible,
      std::span<const double> weights = {});

  size_t num_tuples() const override { return tuples_.size(); }
  Eigen::Index dimension() const override { return family_.dimension(); }
  // 0 where something else than the action was shown: nothing can be learned
  // there.
  double loss(size_t i) const override {
    return tuples_[i].action_shown ? tuples_[i].loss : 0;
  }
  double log_propensity(size_t i) const override {
    return tuples_[i].log_propensity;
  }
  double weight(size_t i) const override {
    return weights_.empty() ? 1 : weights_[i];
  }
  std::optional<uint64_t> unit(size_t i) const override {
    return tuples_[i].unit;
  }
  // Also -infinity where something else than the action was shown, except with
  // kWeighed: what the policy would get there is unknown.
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  size_t block_size() const override { return 128; }

  // What OffPolicyEstimator::Add() takes. The reward, in [0, 1], is the
  // observed one, whatever was shown: it counts for the logging policy. The
  // weight is 0 (-infinity) where something else than the action was shown:
  // what the new policy would get is unknown, and the bounds hold without it.
  // Leaving such tuples out would condition on the action.
  double reward(size_t i) const override { return -tuples_[i].loss; }
  double LogWeight(const Eigen::VectorXd& parameters, size_t i) {
    return LogProbability(parameters, i) - log_propensity(i);
  }

 protected:
  // Where the scores of rows come from, for policies that have more than w.
  // Write the scores of all rows at the parameters.
  virtual void ScoreRows(const Candidates& candidates,
                         const Eigen::VectorXd& parameters,
                         std::span<double> scores);
  // Adds Σ_row factors[row] · ∇ score(row) at the parameters of the last
  // LogProbabilities().
  virtual void AddRows(const Candidates& candidates,
                       std::span<const double> factors,
                       Eigen::VectorXd* gradient);

  const LinearFamily& family() const { return family_; }

 private:
  LinearTuplePolicy(const LinearFamily& family,
                    std::span<const BanditTuple> tuples, HiddenActions hidden,
                    std::span<const double> weights,
                    std::unique_ptr<const ActionDistribution> distribution)
      : family_(family),
        tuples_(tuples),
        hidden_(hidden),
        weights_(weights),
        distribution_(std::move(distribution)) {}

  bool IsPossible(const BanditTuple& tuple) const {
    return tuple.action_shown || hidden_ == HiddenActions::kWeighed;
  }

  // Returns what the distribution needs of tuple i if its rows have these
  // scores.
  ScoredCandidates Scored(size_t i, std::span<const double> scores);

  LinearFamily family_;
  std::span<const BanditTuple> tuples_;
  HiddenActions hidden_;
  std::span<const double> weights_;
  std::unique_ptr<const ActionDistribution> distribution_;
  // State of the last LogProbabilities(): scores of the rows of all its tuples.
  std::vector<uint32_t> block_;
  FeatureBlock features_;
  std::vector<double> scores_;
  double constant_ = 0;
  std::vector<uint32_t> indexes_;  // 0, 1, 2 …
  std::vector<double> score_gradient_;
  DistributionScratch scratch_;
};

}  // namespace sortition
