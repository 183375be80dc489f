#pragma once
// What a log can hardly judge of a policy, from the probabilities that the
// policy and the one that logged give to all actions of a decision.
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/missing_mass.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/ope/policies/logging_policies.h"

namespace sortition {

// Not thread-safe.
class SupportView {
 public:
  // `logging` must outlive this.
  explicit SupportView(LoggingPolicies& logging) : logging_(logging) {}

  // Looks at a decision that `logging` has viewed, selections with the
  // probabilities of all candidates. Errors as JudgedPolicy::View().
  absl::Status Take(const LoggedDecision& decision);

  // Whether the policy that the decision is weighed by gives the action another
  // probability than the log says. Then it is not the one that logged, although
  // other decisions of the log may agree with it by chance.
  bool is_refuted() const { return is_refuted_; }

  // Returns the missing mass of the decision that was taken: exact for
  // selections, by one order that `policy` draws for rankings. nullopt for
  // subsets; for a policy that does not say its probabilities of other actions;
  // and if the policy that logged is not known: the store lacks it, or the
  // caller's baseline or interleaving had a part. `view` is that of `policy`.
  absl::StatusOr<std::optional<MissingMass>> Of(const LoggedDecision& decision,
                                                const PolicyView& view,
                                                JudgedPolicy* policy);

 private:
  // log Σ_j q_j π_j(action) of the versions that the decision is weighed by.
  absl::StatusOr<double> LogLogged(const LoggedDecision& decision,
                                   bool wants_first);

  struct Part {
    JudgedPolicy* policy;
    double share;
  };

  LoggingPolicies& logging_;
  std::vector<Part> parts_;     // Empty: not known.
  std::vector<double> logged_;  // By document, then abstaining.
  std::vector<double> target_;  // The same.
  bool is_refuted_ = false;
  PolicyView view_;
};

}  // namespace sortition
