#pragma once
// Missing mass of a policy in decisions of a log, from the probabilities of all
// actions under the policy and under the logging policy.
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/missing_mass.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/ope/policies/logging_policies.h"

namespace sortition {

// Usage: Take() for each decision, then is_refuted(), and Of() for each policy.
// Not thread-safe.
class SupportView {
 public:
  // `logging` must outlive this.
  explicit SupportView(LoggingPolicies& logging) : logging_(logging) {}

  // Sets the current decision. `logging` must have viewed it, with the
  // probabilities of all candidates if it is a selection. Errors as
  // JudgedPolicy::View().
  absl::Status Take(const LoggedDecision& decision);

  // Returns true if the assumed logging policy contradicts the logged
  // propensity of the decision. It then did not log, even if it agrees with
  // other decisions of the log, which may be chance.
  bool is_refuted() const { return is_refuted_; }

  // Returns the missing mass of `policy` in the current decision: exact for
  // selections, estimated from one order that `policy` draws for rankings.
  // nullopt for subsets, for a policy that does not give probabilities of other
  // actions, and if the logging policy is not known because the store lacks it,
  // or because the caller's baseline or interleaving had a part in the
  // decision. Selections between two actions need no store. `view` is that of
  // `policy`.
  absl::StatusOr<std::optional<MissingMass>> Of(const LoggedDecision& decision,
                                                const PolicyView& view,
                                                JudgedPolicy* policy);

 private:
  // Returns log Σ_j q_j π_j(action) over the versions j whose mixture is the
  // assumed logging policy.
  absl::StatusOr<double> LogLogged(const LoggedDecision& decision,
                                   bool wants_first);

  struct Part {
    JudgedPolicy* policy;
    double share;
  };

  LoggingPolicies& logging_;
  std::vector<Part> parts_;     // Empty: the store does not have the logger.
  std::vector<double> logged_;  // By document, then abstaining; of selections.
  bool is_known_ = false;       // The logging policy.
  std::vector<double> target_;  // By document, then abstaining.
  bool is_refuted_ = false;
  PolicyView view_;
};

}  // namespace sortition
