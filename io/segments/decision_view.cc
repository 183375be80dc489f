#include "io/segments/decision_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

absl::StatusOr<Candidates> ViewCandidates(const log::v1::Decision& decision) {
  if (!decision.has_sparse()) {
    return Candidates::Dense(SpanOf(decision.dense_values()),
                             decision.num_features());
  }
  const v1::SparseFeatures& sparse = decision.sparse();
  return Candidates::Sparse(SpanOf(sparse.row_offsets()),
                            SpanOf(sparse.columns()), SpanOf(sparse.values()),
                            decision.num_features());
}

absl::Status CheckColumnsAlone(const log::v1::Decision& decision) {
  if (decision.has_sparse() || !decision.dense_values().empty() ||
      decision.num_features() != 0) {
    return absl::InvalidArgumentError(
        "columns are set, and so are features: must be one of the two");
  }
  if (decision.columns().num_candidates() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "columns.num_candidates is 0, must be at least 1");
}

}  // namespace

absl::StatusOr<DecisionView> ViewQuery(const log::v1::Decision& decision) {
  DecisionView view;
  if (decision.has_columns()) {
    RETURN_IF_ERROR(CheckColumnsAlone(decision));
    view.columns = &decision.columns();
  } else {
    ASSIGN_OR_RETURN(view.candidates, ViewCandidates(decision));
  }
  view.eligible = SpanOf(decision.eligible());
  view.top_k = decision.top_k();
  const uint32_t n = view.num_candidates();
  if (!view.eligible.empty() && view.eligible.size() != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("eligible has ", view.eligible.size(),
                     " entries, must have ", n, ", one for each candidate"));
  }
  return view;
}

absl::StatusOr<DecisionView> ViewDecision(const log::v1::Decision& decision) {
  ASSIGN_OR_RETURN(const DecisionView view, ViewQuery(decision));
  const uint32_t n = view.num_candidates();
  if (n != decision.num_candidates()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_candidates is ", decision.num_candidates(),
                     ", must be ", n, ", the rows of features or columns"));
  }
  return view;
}

absl::Status CheckDecidable(const DecisionView& view) {
  if (view.eligible.empty() ||
      std::find(view.eligible.begin(), view.eligible.end(), true) !=
          view.eligible.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("eligible has ", view.eligible.size(),
                   " entries and none is true, must have at least one"));
}

size_t NumEligible(const log::v1::Decision& decision) {
  if (decision.eligible().empty()) return decision.num_candidates();
  return static_cast<size_t>(
      std::count(decision.eligible().begin(), decision.eligible().end(), true));
}

std::optional<ActionKind> ActionKindOf(const log::v1::Decision& decision) {
  switch (decision.action_kind()) {
    case log::v1::SELECT:
      return ActionKind::kSelect;
    case log::v1::RANK:
      return ActionKind::kRank;
    case log::v1::SUBSET:
      return ActionKind::kSubset;
    default:
      return std::nullopt;
  }
}

bool IsOfBaseline(const log::v1::Decision& decision) {
  // A version that plays an F-score game is not asked even in that mode.
  return decision.has_baseline() &&
         (decision.baseline().mode() != model::v1::EXPLORE_ABOVE_BASELINE ||
          !decision.baseline().has_model_log_propensity());
}

bool IsCertain(const log::v1::Decision& decision) {
  if (IsOfBaseline(decision)) return !decision.baseline().has_log_propensity();
  return decision.has_aggregation() &&
         decision.policy().kind_case() == model::v1::Policy::KIND_NOT_SET;
}

}  // namespace sortition
