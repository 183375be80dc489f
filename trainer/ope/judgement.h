#pragma once
// The second pass over a log: what it says of each policy, as sums.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/decision_files/outcome_coverage.h"
#include "trainer/decision_files/reward_file.h"
#include "trainer/ope/context_mix.h"
#include "trainer/ope/exploration.h"
#include "trainer/ope/log_summary.h"
#include "trainer/ope/policies/categories.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/ope/policies/logging_policies.h"
#include "trainer/ope/policies/reward_fit.h"
#include "trainer/ope/policies/support_view.h"
#include "trainer/ope/slices.h"
#include "trainer/ope/weight_sample.h"

namespace sortition {

// What is judged, and with what help.
struct JudgedPolicies {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  // The policies from here on are not reported. They show what exploration
  // costs: the newest version without a mixture, and the uniform policy.
  size_t num_reported = 0;

  bool has_exploration() const { return policies.size() > num_reported; }
};

// Further rewards by decision id.
struct NamedRewards {
  std::string name;
  RewardFile file;
  OutcomeCoverage coverage = {};

  // Returns a reward in [0, 1], by its range; 0 if that is not known.
  double Scaled(double reward) const;
};

class Judgement {
 public:
  // The models, in the order of policies, are for kMoreRobustDr; null where
  // there is none. Everything given must outlive this.
  struct Parts {
    const config::v1::OpeOptions& options;
    const LogSummary& summary;
    JudgedPolicies& policies;
    RewardFit* model;  // Null: none.
    std::vector<std::unique_ptr<RewardFit>>& robust_models;
    LoggingPolicies& logging;
    Categories& categories;
    std::vector<NamedRewards>& rewards;
  };

  static absl::StatusOr<std::unique_ptr<Judgement>> Plan(const Parts& parts);

  // Requires a decision that all policies know.
  absl::Status Add(const LoggedDecision& decision);
  // Call after the last decision. Marks a logging policy that any decision
  // refutes as refuted in slices and further rewards, too, whose own decisions
  // may agree with it by chance.
  void Finish();

  const JudgedPolicy& policy(size_t k) const {
    return *parts_.policies.policies[k];
  }
  size_t num_reported() const { return parts_.policies.num_reported; }

  const PolicySums& all() const { return all_; }
  // With decisions that follow each other in groups of options.group_size().
  const PolicySums& grouped() const { return grouped_; }
  // By further reward.
  const std::vector<PolicySums>& rewards() const { return reward_sums_; }
  const Slices& slices() const { return slices_; }
  const WeightSample& weights() const { return weights_; }
  const Exploration& exploration() const { return exploration_; }

  uint64_t decisions() const { return decisions_; }
  // Decisions of units that count less than fully.
  uint64_t weighed_down() const { return weighed_down_; }
  // Decisions that are older than what the policy learned from logs.
  uint64_t learned_after(size_t policy) const { return learned_after_[policy]; }
  // Whether the model's estimates, and the weights, are there for all decisions
  // that were judged.
  bool has_model(size_t policy) const { return has_model_[policy]; }
  bool has_robust_model(size_t policy) const {
    return has_model(policy) && parts_.robust_models[policy] != nullptr;
  }
  // Returns true if several policies logged, few enough to have a stratum each.
  // False if some decisions of a split are weighed against its mixture and cut
  // orders are not, or if versions met different contexts, because a stratum
  // alone then does not give the value.
  bool has_strata() const {
    return !(has_cut_ && has_mixed_arms_) && has_several_versions() &&
           !other_contexts().has_value();
  }
  bool has_balanced() const {
    return has_balanced_ && decisions_ > 0 && !other_contexts().has_value();
  }
  // Returns the version whose contexts differ most from those of the others;
  // nullopt if none differ, or if estimators do not mix versions.
  std::optional<ContextMix::Difference> other_contexts() const {
    if (!has_several_versions()) return std::nullopt;
    return context_mix_.Find();
  }
  bool has_marginal(size_t policy) const { return has_marginal_[policy]; }

 private:
  Judgement(const Parts& parts, Slices slices);

  bool has_several_versions() const {
    const size_t versions = parts_.summary.versions.size();
    return versions > 1 && versions <= PolicySums::kNumStrata;
  }
  // Fills in judged_[k] from views_[k].
  absl::Status Judge(const LoggedDecision& decision, size_t k);
  JudgedRow RowOf(const LoggedDecision& decision);

  const Parts parts_;
  PolicySums all_;
  PolicySums grouped_;
  std::vector<PolicySums> reward_sums_;
  Slices slices_;
  WeightSample weights_;
  Exploration exploration_;
  ContextMix context_mix_;
  uint64_t decisions_ = 0;
  uint64_t weighed_down_ = 0;
  std::vector<uint64_t> learned_after_;
  std::vector<bool> has_model_;
  bool has_balanced_ = true;
  bool has_cut_ = false;         // Orders that are cut.
  bool has_mixed_arms_ = false;  // Decisions weighed against a split's mixture.
  std::vector<bool> has_marginal_;

  // Of one decision.
  SupportView support_;
  std::vector<PolicyView> views_;
  std::vector<JudgedDecision> judged_;
  std::vector<double> log_weights_;
  ExpectedRewards expected_;
  ExpectedRewards robust_;
  std::unique_ptr<JudgedPolicy> uniform_ = MakeUniformPolicy("uniform");
  PolicyView uniform_view_;
};

}  // namespace sortition
