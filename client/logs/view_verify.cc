// Recomputes what shadows thought of decisions.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/logs/log_verify.h"
#include "core/base/status_macros.h"
#include "core/policies/distributions/sized_subset.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

using Found = std::optional<std::string>;

template <typename T>
std::string ActionText(const T& action) {
  return absl::StrCat("[", absl::StrJoin(action, ","), "]");
}

// Returns why the policy cannot judge the query; empty: it can.
std::string Unfit(const LinearPolicy& policy, ActionKind kind,
                  const PolicyQuery& query, size_t eligible) {
  if (policy.action_kind() != kind) return "it is for another kind of action";
  if (kind != ActionKind::kSubset) return "";
  if (!policy.takes_size()) {
    return "it plays an F-score game, whose propensities depend on time";
  }
  const size_t size = std::min<size_t>(
      query.top_k > 0 ? query.top_k : policy.subset_size(), eligible);
  if (size == 0 || SizedSubset::IsWithinLimit(eligible, size)) return "";
  return "the subset is too large";
}

}  // namespace

absl::StatusOr<Found> DecisionVerifier::ViewDifference(
    const log::v1::Decision& decision, const log::v1::ShadowView& view) {
  const std::string what =
      absl::StrCat("shadow view of version ", view.version(), ": ");
  if (view.model() != decision.model()) {
    return Found(absl::StrCat(what, "model: expected ", decision.model(),
                              ", logged ", view.model()));
  }
  const std::optional<ActionKind> kind = ActionKindOf(decision);
  const absl::StatusOr<DecisionView> logged = ViewDecision(decision);
  absl::Status status = logged.status();
  if (status.ok()) status = CheckDecidable(*logged);
  if (!status.ok() || !kind.has_value()) {
    return Found(absl::StrCat(
        what, "cannot be recomputed: ",
        status.ok() ? "the kind of action is unknown" : status.message()));
  }
  std::shared_ptr<const LinearPolicy> policy;
  if (view.version() == 0) {
    policy = std::make_shared<const LinearPolicy>(
        LinearPolicy::Uniform(*kind, /*can_abstain=*/false));
  } else {
    ASSIGN_OR_RETURN(const LoadedModel* model,
                     Load(view.model(), view.version()));
    policy = model->decider.policy;
  }
  const PolicyQuery query = {
      logged->candidates, logged->eligible, logged->top_k, {}, logged->columns};
  const std::string unfit = Unfit(*policy, *kind, query, NumEligible(decision));
  if (!unfit.empty()) {
    return Found(absl::StrCat(what, "cannot be recomputed: ", unfit));
  }
  const double expected =
      policy->LogPropensity(query, SpanOf(decision.action()), &workspace_);
  if (!workspace_.refusal.ok()) {
    return Found(absl::StrCat(
        what, "cannot be recomputed: ", workspace_.refusal.message()));
  }
  if (std::bit_cast<uint64_t>(expected) !=
      std::bit_cast<uint64_t>(view.log_propensity())) {
    return Found(absl::StrFormat(
        "%slog_propensity: expected %.17g (%a), logged %.17g (%a)", what,
        expected, expected, view.log_propensity(), view.log_propensity()));
  }
  const Action mode = policy->DecidedMode(query, &workspace_);
  if (std::equal(mode.begin(), mode.end(), view.mode().begin(),
                 view.mode().end())) {
    return Found();
  }
  return Found(absl::StrCat(what, "mode: expected ", ActionText(mode),
                            ", logged ", ActionText(view.mode())));
}

}  // namespace sortition
