#include "trainer/tuples/labels/label_record.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_scaling.h"
#include "io/segments/decision_view.h"
#include "io/segments/shown_action.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

// Returns false unless there is exactly one context, with valid features.
bool ReadContext(const log::v1::Decision& decision, LabelRecord* record) {
  const absl::StatusOr<DecisionView> view = ViewDecision(decision);
  if (!view.ok() || view->candidates.num_candidates() != 1 ||
      !view->eligible.empty()) {
    return false;
  }
  const Candidates& context = view->candidates;
  for (size_t k = 0; k < context.values().size(); ++k) {
    if (context.values()[k] == 0) continue;
    record->columns.push_back(context.sparse() ? context.columns()[k]
                                               : static_cast<uint32_t>(k));
    record->values.push_back(context.values()[k]);
  }
  return true;
}

bool ReadLabels(const log::v1::Decision& decision, LabelRecord* record) {
  record->labels.assign(decision.num_labels(), 0);
  int64_t last = -1;
  for (const int32_t label : decision.action()) {
    if (label <= last || label >= int64_t{decision.num_labels()}) return false;
    record->labels[static_cast<size_t>(label)] = 1;
    last = label;
  }
  return true;
}

// Returns whether the user saw something else than the chosen labels. The
// reward then says nothing about those.
bool OthersWereShown(const log::v1::BanditTuple& logged) {
  const auto& shown = logged.shown().shown();
  const auto& action = logged.decision().action();
  return logged.has_shown() && !IsViewportOnly(logged.shown()) &&
         (logged.shown().not_shown() ||
          !std::is_permutation(shown.begin(), shown.end(), action.begin(),
                               action.end()));
}

// Checks the fields of fixed length. Returns why the tuple cannot be used, or
// nothing.
std::optional<LeftOutReason> HeadReason(const log::v1::Decision& decision,
                                        const LabelExpectation& expectation) {
  if (decision.action_kind() != log::v1::LABELS)
    return LeftOutReason::kOtherAction;
  if (decision.num_features() != expectation.num_features) {
    return LeftOutReason::kOtherFeatures;
  }
  if (decision.num_labels() != expectation.num_labels)
    return LeftOutReason::kOtherLabels;
  if (decision.num_labels() == 0) return LeftOutReason::kBadLabels;
  if (uint64_t{decision.num_features()} * decision.num_labels() >
      kMaxLabelWeights) {
    return LeftOutReason::kTooManyWeights;
  }
  if (decision.has_seed()) return LeftOutReason::kSeeded;
  return std::nullopt;
}

}  // namespace

void SetContext(const LabelContexts& contexts, size_t row,
                std::span<const uint8_t> labels, log::v1::Decision* decision) {
  const auto begin = static_cast<ptrdiff_t>(contexts.row_offsets[row]);
  const auto end = static_cast<ptrdiff_t>(contexts.row_offsets[row + 1]);
  decision->set_action_kind(log::v1::LABELS);
  decision->set_num_candidates(1);
  decision->set_num_features(contexts.num_features);
  decision->set_num_labels(contexts.num_labels);
  decision->clear_sparse();
  decision->clear_dense_values();
  if (2 * (end - begin) < contexts.num_features) {
    auto* sparse = decision->mutable_sparse();
    sparse->add_row_offsets(0);
    sparse->add_row_offsets(static_cast<uint32_t>(end - begin));
    sparse->mutable_columns()->Add(contexts.columns.begin() + begin,
                                   contexts.columns.begin() + end);
    sparse->mutable_values()->Add(contexts.values.begin() + begin,
                                  contexts.values.begin() + end);
  } else {
    decision->mutable_dense_values()->Resize(
        static_cast<int>(contexts.num_features), 0);
    for (ptrdiff_t k = begin; k < end; ++k) {
      const auto place = static_cast<size_t>(k);
      decision->set_dense_values(static_cast<int>(contexts.columns[place]),
                                 contexts.values[place]);
    }
  }
  decision->clear_action();
  for (size_t l = 0; l < labels.size(); ++l) {
    if (labels[l] == 1) decision->add_action(static_cast<int32_t>(l));
  }
}

Hash128 LabelRecord::ContextHash() const {
  return StableHash(HashDomain::kContext, {BytesOf(columns), BytesOf(values)});
}

absl::StatusOr<std::optional<LeftOutReason>> ConvertLabelTuple(
    const log::v1::BanditTuple& logged, const LabelExpectation& expectation,
    LabelRecord* record) {
  const log::v1::Decision& decision = logged.decision();
  *record = LabelRecord();
  const auto reason = HeadReason(decision, expectation);
  if (reason.has_value()) return reason;
  if (!IsLogPropensity(decision.log_propensity()))
    return LeftOutReason::kBadPropensity;
  if (!std::isfinite(logged.reward())) return LeftOutReason::kBadReward;
  if (!ReadContext(decision, record)) return LeftOutReason::kBadFeatures;
  if (!ReadLabels(decision, record)) return LeftOutReason::kBadLabels;
  if (OthersWereShown(logged)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "other labels were shown than decision '", decision.decision_id(),
        "' chose, must be the same: its reward is that of another action"));
  }
  const std::optional<double> loss =
      expectation.rewards.LossOf(logged.reward());
  if (!loss.has_value()) return LeftOutReason::kRewardOutside;
  record->log_propensity = std::min(decision.log_propensity(), 0.0);
  record->loss = *loss;
  return std::nullopt;
}

}  // namespace sortition
