#pragma once
// Which of the versions that serve answers a request, and what the caller's
// baseline for it is.
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/choices/baseline_choice.h"
#include "core/data/action.h"
#include "core/policies/linear_policy.h"
#include "server/models/baseline_agreement.h"
#include "server/models/serving_set.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

struct VersionChoice {
  const ServedModel* model = nullptr;    // Belongs to the set.
  const ServingSet::Arm* arm = nullptr;  // Null: by no split.
  // Makes the ranking together with the model; null: the model alone.
  const ServingSet::Interleaved* interleaved = nullptr;
};

// Returns the version that the request names or, if it names none, that of its
// arm or the primary one, perhaps interleaved with another one.
// FailedPrecondition: it names one that is not loaded. InvalidArgument: it
// names a version and a label.
absl::StatusOr<VersionChoice> ChooseVersion(const ServingSet& set,
                                            const v1::DecisionContext& context,
                                            const std::string& decision_id);

// Validates the baseline of a request and stores its action in document
// indexes: for a ranking the first query.top_k ranks. A request without one
// has the first eligible candidates, as many as the policy would choose.
absl::Status SetBaseline(const v1::DecisionContext& context,
                         const LinearPolicy& policy, const PolicyQuery& query,
                         Action* action);

// Counts what the model thinks of the baseline's action, if that was asked for.
// `decided` is the workspace of the decision.
void CountAgreement(const ServedModel& model, const BaselinePlan& plan,
                    const BaselineOutcome& outcome, const LinearPolicy& policy,
                    const PolicyQuery& query, PolicyWorkspace* decided,
                    BaselineAgreement* agreement);

// Fills in how the ranking of a decision was interleaved.
void FillInterleaving(const ServingSet& set,
                      const ServingSet::Interleaved& interleaved,
                      log::v1::Interleaving* record);

// Fills in how a decision came to its version. `plan` is that of the baseline;
// null: the model decides alone. `others` is memory for the policies of the
// other arms. InvalidArgument if one of them refuses the query.
absl::Status FillArmChoice(const ServingSet& set, const VersionChoice& choice,
                           const BaselinePlan* plan, const PolicyQuery& query,
                           ActionKind kind, const Draw& draw,
                           PolicyWorkspace* others, log::v1::ArmChoice* record);

}  // namespace sortition
