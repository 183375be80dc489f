#pragma once
// What a log says of several policies at once: the sums from which all
// estimators of their values follow, in one pass and constant memory.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/counterfactual/evaluation/group_sums.h"

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
};

// Estimators of the value of a policy. ρ is the weight, r the reward in [0, 1],
// q and q_h what the model expects. Each is a mean over decisions unless it
// says otherwise.
enum class EstimatorKind {
  kIps,            // ρ r [HorvitzThompson52]
  kControlledIps,  // ρ r - β (ρ - 1), β of least variance; E[ρ] = 1 needed
  kSelfNormalised,    // Σ ρ r / Σ ρ
  kClipped,           // min(ρ, M) r [BottouEtAl13]
  kLogSmoothed,       // ln(1 + λ ρ r) / λ [SakhiEtAl24]
  kSubGaussian,       // ρ r / (1 - λ + λ ρ) [MetelliRussoRestelli21]
  kDirect,            // q_h
  kDoublyRobust,      // q_h + ρ (r - q) [DudikLangfordLi11]
  kSelfNormalisedDr,  // mean q_h + Σ ρ (r - q) / Σ ρ
  kClippedDr,         // q_h + min(ρ, M) (r - q) [SuEtAl20]
  kOptimisticDr,      // q_h + λ ρ / (ρ² + λ) (r - q) [SuEtAl20]
  kSwitch,            // q_h + ρ 1{ρ <= τ} (r - q) [WangAgarwalDudik17]
};
std::string EstimatorName(EstimatorKind kind);

struct Estimator {
  EstimatorKind kind;
  double parameter = 0;  // M, λ or τ, where the kind has one.
};

// The values of the parameter of `kind` among which is chosen, from most bias
// to least; empty if it has none. Weights are compared with them, so that they
// do not depend on rewards.
std::vector<double> ParametersOf(EstimatorKind kind);

class PolicySums {
 public:
  PolicySums(size_t num_policies, size_t num_groups);

  // Adds a decision with its reward r in [0, 1], as each policy sees it.
  // `unit_hash` stands for its unit.
  void Add(uint64_t unit_hash, double reward,
           std::span<const JudgedDecision> policies);
  void Merge(const PolicySums& other) { sums_.Merge(other.sums_); }

  size_t num_policies() const { return num_policies_; }
  const GroupSums& sums() const { return sums_; }

  // The estimates as ratios of sums, each a sum of one or two of them. For
  // kControlledIps the factor β is that of the sums so far.
  std::vector<Ratio> RatiosOf(size_t policy, const Estimator& estimator) const;
  // The mean reward of the log.
  Ratio LoggedReward() const;
  // Mean ρ.
  Ratio MeanWeight(size_t policy) const;
  // (Σ ρ)² / Σ ρ²
  double EffectiveSampleSize(size_t policy) const;
  uint64_t num_decisions() const;

 private:
  size_t EntryOf(size_t policy, size_t entry) const;

  size_t num_policies_;
  GroupSums sums_;
};

// Returns a - b, paired by decision: the ratios of both in one sum.
std::vector<Ratio> Difference(std::vector<Ratio> a, std::vector<Ratio> b);

}  // namespace sortition
