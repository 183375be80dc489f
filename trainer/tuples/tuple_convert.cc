#include "trainer/tuples/tuple_convert.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/sized_subset.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

// Because of rounding, the log-propensity of a certain action may be this much
// above 0. It then counts as 0.
constexpr double kLogPropensityRounding = 1e-9;

// Copies the rows of the eligible candidates. `row_of` maps document_index to
// row, or to -1.
void PackEligible(const DecisionView& view, std::vector<int32_t>* row_of,
                  BanditTuple* result) {
  const Candidates& candidates = view.candidates;
  const uint32_t n = candidates.num_candidates();
  const size_t d = candidates.num_features();
  const bool all = view.eligible.empty();
  row_of->assign(n, -1);
  if (candidates.sparse()) result->row_offsets.push_back(0);
  const std::span<const float> values = candidates.values();
  if (all && !candidates.sparse()) {
    result->values.assign(values.begin(), values.end());
  }
  int32_t next_row = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (!view.is_eligible(i)) continue;
    (*row_of)[i] = next_row++;
    if (candidates.sparse()) {
      const uint32_t begin = candidates.row_offsets()[i];
      const uint32_t end = candidates.row_offsets()[i + 1];
      result->values.insert(result->values.end(), values.begin() + begin,
                            values.begin() + end);
      result->columns.insert(result->columns.end(),
                             candidates.columns().begin() + begin,
                             candidates.columns().begin() + end);
      result->row_offsets.push_back(
          static_cast<uint32_t>(result->values.size()));
    } else if (!all) {
      result->values.insert(result->values.end(), values.begin() + i * d,
                            values.begin() + (i + 1) * d);
    }
  }
  result->num_features = candidates.num_features();
  result->values.shrink_to_fit();
  result->columns.shrink_to_fit();
}

// Converts the action to rows. Returns false if it is malformed.
bool PackAction(const log::v1::Decision& decision, ActionKind action_kind,
                std::vector<int32_t>* row_of, BanditTuple* result) {
  const bool select = action_kind == ActionKind::kSelect;
  const bool subset = action_kind == ActionKind::kSubset;
  const auto size = static_cast<uint32_t>(decision.action_size());
  if (subset) {
    const uint32_t chosen = SubsetSize(decision);
    const size_t eligible =
        row_of->size() - std::count(row_of->begin(), row_of->end(), -1);
    if (chosen > 0 && size != std::min<size_t>(chosen, eligible)) return false;
    if (!std::is_sorted(decision.action().begin(), decision.action().end())) {
      return false;
    }
  } else if (size == 0 || (select && size != 1)) {
    return false;
  }
  for (const int32_t document_index : decision.action()) {
    if (select && document_index == kAbstain && decision.can_abstain()) {
      result->action.push_back(kAbstain);
      continue;
    }
    if (document_index < 0 ||
        document_index >= static_cast<int32_t>(row_of->size())) {
      return false;
    }
    int32_t& row = (*row_of)[document_index];
    if (row < 0) return false;  // It is not eligible, or was named before.
    result->action.push_back(row);
    row = -1;
  }
  result->action.shrink_to_fit();
  return true;
}

}  // namespace

uint32_t SubsetSize(const log::v1::Decision& decision) {
  if (decision.action_kind() != log::v1::SUBSET) return 0;
  if (decision.policy().game_subset().measure() ==
      model::v1::GameSubset::F_BETA) {
    return 0;  // They choose any size, whatever the request asks for.
  }
  return decision.top_k() > 0 ? decision.top_k()
                              : SubsetSize(decision.policy());
}

bool IsLogPropensity(double value) {
  return std::isfinite(value) && value <= kLogPropensityRounding;
}

std::optional<LeftOutReason> ConvertTuple(const log::v1::BanditTuple& logged,
                                          const TupleExpectation& expectation,
                                          BanditTuple* result) {
  const log::v1::Decision& decision = logged.decision();
  *result = BanditTuple();
  if (ActionKindOf(decision) != expectation.action_kind)
    return LeftOutReason::kOtherAction;
  if (decision.num_features() != expectation.num_features) {
    return LeftOutReason::kOtherFeatures;
  }
  if ((SubsetSize(decision) > 0) != expectation.fixed_size)
    return LeftOutReason::kOtherSize;
  // Draws with the same seed use the same numbers, and the caller chooses the
  // seed. But intervals and propensities assume independent draws.
  if (decision.has_seed()) return LeftOutReason::kSeeded;
  const RankPrefix prefix = PrefixOf(logged, expectation.ranks);
  if (!IsLogPropensity(decision.log_propensity()) ||
      !IsLogPropensity(prefix.log_propensity)) {
    return LeftOutReason::kBadPropensity;
  }
  if (!std::isfinite(logged.reward())) return LeftOutReason::kBadReward;
  const bool is_unread =
      decision.has_columns() && (expectation.features == nullptr ||
                                 expectation.features->transform() == nullptr);
  if (is_unread && expectation.empty_rows == nullptr) {
    return LeftOutReason::kColumns;
  }
  const absl::StatusOr<DecisionView> view =
      is_unread
          ? ViewWithoutFeatures(decision, expectation.empty_rows)
          : ViewFeatures(decision, expectation.features, expectation.scratch);
  if (!view.ok()) return LeftOutReason::kBadFeatures;
  std::vector<int32_t> row_of;
  PackEligible(*view, &row_of, result);
  if (!PackAction(decision, expectation.action_kind, &row_of, result)) {
    return LeftOutReason::kBadAction;
  }
  result->action.resize(prefix.ranks);
  result->action_shown = expectation.overrides == Overrides::kIntentToTreat ||
                         !prefix.shown_otherwise;
  if (!expectation.can_abstain && !result->action.empty() &&
      result->action[0] == kAbstain) {
    return LeftOutReason::kAbstained;
  }
  if (expectation.fixed_size &&
      !SizedSubset::IsWithinLimit(result->num_candidates(),
                                  result->action.size())) {
    return LeftOutReason::kTooLarge;
  }
  const std::optional<double> loss =
      expectation.rewards.LossOf(logged.reward());
  if (!loss.has_value()) return LeftOutReason::kRewardOutside;
  // A caller who gives the propensity of its baseline answers for its support.
  result->full_support =
      !IsCertain(decision) &&
      (IsOfBaseline(decision) ||
       HasFullSupport(decision.policy(), result->num_candidates()));
  result->log_propensity = std::min(prefix.log_propensity, 0.0);
  result->loss = *loss;
  return std::nullopt;
}

}  // namespace sortition
