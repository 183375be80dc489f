#include "io/models/successor.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/schema.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

// Returns the call that a policy answers; "labels" where none does.
std::string ActionName(const model::v1::Policy& policy) {
  if (policy.has_independent_labels() || policy.has_label_chain()) {
    return "labels";
  }
  switch (ActionKindOf(policy)) {
    case ActionKind::kSelect:
      return "Select";
    case ActionKind::kRank:
      return "Rank";
    case ActionKind::kSubset:
      break;
  }
  return "Label";
}

}  // namespace

std::string WhyNoSuccessor(const model::v1::Model& before,
                           const model::v1::Model& model) {
  const std::string action = ActionName(before.policy());
  if (ActionName(model.policy()) != action) {
    return absl::StrCat("policy is ", PolicyKindName(model.policy()),
                        ", which is for ", ActionName(model.policy()),
                        ", must be for ", action);
  }
  if (model.has_features() != before.has_features()) {
    return absl::StrCat("features is ", model.has_features() ? "set" : "unset",
                        ", must be ", before.has_features() ? "set" : "unset");
  }
  if (model.has_features()) {
    // Versions may read different columns, but callers send one type of each.
    const std::string conflict = FindTypeConflict(
        model.features().spec().schema(), before.features().spec().schema());
    return conflict.empty() ? "" : absl::StrCat("features: ", conflict);
  }
  if (model.num_features() != before.num_features()) {
    return absl::StrCat("num_features is ", model.num_features(), ", must be ",
                        before.num_features());
  }
  return "";
}

absl::StatusOr<std::optional<StoredModel>> FindPredecessor(
    const ModelStore& store, const model::v1::Model& model) {
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(model.name()));
  for (auto version = versions.rbegin(); version != versions.rend();
       ++version) {
    auto newest = store.Load(model.name(), *version);
    if (!newest.ok()) continue;
    const std::string reason = WhyNoSuccessor(newest->model, model);
    if (reason.empty()) return *std::move(newest);
    return absl::FailedPreconditionError(
        absl::StrCat("model '", model.name(), "': ", reason, ", as in version ",
                     *version, "; publish under another name"));
  }
  return std::nullopt;
}

}  // namespace sortition
