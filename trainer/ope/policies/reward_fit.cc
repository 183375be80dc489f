#include "trainer/ope/policies/reward_fit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

std::span<const float> DenseRow(const Candidates& candidates, size_t i,
                                std::vector<float>* scratch) {
  const size_t d = candidates.num_features();
  if (!candidates.sparse()) return candidates.values().subspan(i * d, d);
  scratch->assign(d, 0);
  const size_t end = candidates.row_offsets()[i + 1];
  for (size_t k = candidates.row_offsets()[i]; k < end; ++k) {
    (*scratch)[candidates.columns()[k]] = candidates.values()[k];
  }
  return *scratch;
}

absl::StatusOr<RewardModelKind> ParseRewardModel(absl::string_view text) {
  if (text == "ridge") return RewardModelKind::kRidge;
  if (text == "trees") return RewardModelKind::kTrees;
  if (text == "best") return RewardModelKind::kBest;
  if (text == "none") return RewardModelKind::kNone;
  return absl::InvalidArgumentError(absl::StrCat(
      "reward_model is '", text, "', must be ridge, trees, best or none"));
}

double ExpectedRewards::Of(const PolicyView& view) const {
  double sum = view.abstain * abstain;
  for (size_t i = 0; i < view.first.size(); ++i) {
    sum += view.first[i] * candidates[i];
  }
  return sum;
}

void RewardFit::Add(const LoggedDecision& decision, double weight) {
  RewardExample example{.features = {},
                        .abstained = decision.action[0] == kAbstain,
                        .reward = decision.reward,
                        .weight = weight,
                        .unit_hash = decision.unit};
  if (!example.abstained) {
    example.features = DenseRow(decision.query.candidates,
                                static_cast<size_t>(decision.action[0]), &row_);
  }
  sums_.Add(example);
}

absl::Status RewardFit::Fit() {
  ASSIGN_OR_RETURN(model_, sums_.Fit());
  return absl::OkStatus();
}

void RewardFit::Predict(const LoggedDecision& decision,
                        ExpectedRewards* expected) {
  const RewardModel& model = model_->For(decision.unit);
  const Candidates& candidates = decision.query.candidates;
  expected->candidates.assign(candidates.num_candidates(), 0);
  for (size_t i = 0; i < expected->candidates.size(); ++i) {
    if (!decision.is_eligible(i)) continue;
    expected->candidates[i] = model.Predict(DenseRow(candidates, i, &row_));
  }
  expected->abstain = model.abstain_reward();
}

}  // namespace sortition
