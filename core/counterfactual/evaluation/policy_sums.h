#pragma once
// What a log says of several policies at once: the sums from which all
// estimators of their values follow, in one pass and constant memory.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/counterfactual/evaluation/decision_moments.h"
#include "core/counterfactual/evaluation/estimator.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/evaluation/missing_mass.h"

namespace sortition {

// One decision as one policy sees it.
struct JudgedDecision {
  // log ρ of the logged action: the policy's probability over the logged one;
  // -infinity if the policy cannot choose it.
  double log_weight = 0;
  // Rewards that a model expects: of the logged action, and of the policy's,
  // Σ_y h(y|x) q(x, y). The model must come from other units. 0: no model.
  double modelled_logged = 0;
  double modelled_policy = 0;
  // The same of the model that was fitted for kMoreRobustDr.
  double robust_logged = 0;
  double robust_policy = 0;
  // log of the policy's probability over that of all logging policies mixed,
  // Σ_j (n_j / n) π_j. Unset: log_weight.
  std::optional<double> log_balanced_weight = std::nullopt;
  // log of the policy's probability of the logged action's category over the
  // logged one. Unset: log_weight.
  std::optional<double> log_marginal_weight = std::nullopt;
  // Missing mass of the policy in this decision. Unset: the probabilities of
  // the other actions are not known, for a reason that does not depend on the
  // logged action.
  std::optional<MissingMass> missing = std::nullopt;
  // True if the assumed logging policy contradicts the logged propensity. Its
  // probabilities of other actions are then not used, neither here nor in any
  // other decision.
  bool is_logging_refuted = false;
};

class PolicySums {
 public:
  // Logging policies that kWeighted tells apart.
  static constexpr size_t kNumStrata = 8;

  PolicySums(size_t num_policies, size_t num_groups);

  // Adds a decision with its reward r in [0, 1], as each policy sees it.
  // `unit_hash` stands for its unit; `share` in (0, 1] is how much it counts
  // (UnitSizes). Decisions of equal `logging_policy` modulo kNumStrata are one
  // stratum of kWeighted.
  void Add(uint64_t unit_hash, double share, double reward,
           std::span<const JudgedDecision> policies, size_t logging_policy = 0);
  // Requires equal shapes.
  void Merge(const PolicySums& other);

  size_t num_policies() const { return weights_.size(); }
  const GroupSums& sums() const { return sums_; }

  // The estimates as ratios of sums, each a sum of one or more of them. The
  // factor β of kControlledIps, and those of kBlendedDr and of the strata of
  // kWeighted, are those of the sums so far.
  std::vector<Ratio> RatiosOf(size_t policy, const Estimator& estimator) const;
  // The mean reward of the log.
  Ratio LoggedReward() const;
  // Mean ρ.
  Ratio MeanWeight(size_t policy) const;
  // (Σ ρ)² / Σ ρ²
  double EffectiveSampleSize(size_t policy) const;
  // Return sums over decisions for M = kClips[cut]: min(ρ, M) r, min(ρ, M), and
  // the missing mass c or, where it is not known, 1 - min(ρ, M) (support.h).
  SumFunction CutReward(size_t policy, size_t cut) const;
  SumFunction CutWeight(size_t policy, size_t cut) const;
  SumFunction MissingMassOf(size_t policy, size_t cut) const;
  // Returns true if a decision contradicts the assumed logging policy
  // (JudgedDecision::is_logging_refuted).
  bool IsLoggingRefuted(size_t policy) const {
    return supports_[policy].is_refuted;
  }
  // Records that a decision of the log outside these sums contradicts the
  // assumed logging policy.
  void RefuteLogging(size_t policy) { supports_[policy].is_refuted = true; }
  // Returns true if all decisions have a missing mass, and the assumed logging
  // policy is not refuted.
  bool IsSupportKnown(size_t policy) const;
  // Returns the largest weight of any action in any of these contexts; infinity
  // if it is not known, or if the log cannot choose an action of the policy.
  double LargestWeight(size_t policy) const;
  // Returns the largest min(ρ, M) of any action for M = kClips[cut].
  double CutLimit(size_t policy, size_t cut) const;
  // Returns the mean of a sum per decision; 0 without decisions.
  double MeanOf(const SumFunction& sum) const;
  // However much they count.
  uint64_t num_decisions() const { return rewards_.count; }

  // Of single decisions, whatever their units.
  const RewardMoments& rewards() const { return rewards_; }
  const WeightMoments& weights(size_t policy) const { return weights_[policy]; }

 private:
  size_t EntryOf(size_t policy, size_t entry) const;
  std::vector<Ratio> StrataOf(size_t policy) const;

  GroupSums sums_;
  RewardMoments rewards_;
  std::vector<WeightMoments> weights_;  // By policy.
  // Σ ρ and Σ ρ² by policy and stratum.
  std::vector<double> stratum_weights_;
  std::vector<double> stratum_squares_;
  // Support of a policy, from the contexts of the log.
  struct Support {
    uint64_t unknown = 0;  // Number of decisions without missing mass.
    bool is_refuted = false;
    double largest_weight = 0;
  };
  std::vector<Support> supports_;
};

// Returns a - b, paired by decision: the ratios of both in one sum.
std::vector<Ratio> Difference(std::vector<Ratio> a, std::vector<Ratio> b);

}  // namespace sortition
