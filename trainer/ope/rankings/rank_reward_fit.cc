#include "trainer/ope/rankings/rank_reward_fit.h"

#include <algorithm>
#include <cmath>

#include "core/base/status_macros.h"
#include "trainer/ope/policies/reward_fit.h"

namespace sortition {
namespace {

constexpr uint32_t kExtraColumns = RankRewardFit::kRankColumns + 1;

}  // namespace

RankRewardFit::RankRewardFit(RewardModelKind kind, uint32_t num_features,
                             uint32_t num_folds)
    : num_features_(num_features),
      sums_(kind, num_features + kExtraColumns, num_folds) {}

void RankRewardFit::SetCandidate(const Candidates& candidates,
                                 size_t document) {
  row_.assign(num_features_ + kExtraColumns, 0);
  const std::span<const float> features =
      DenseRow(candidates, document, &dense_);
  std::copy(features.begin(), features.end(), row_.begin());
}

void RankRewardFit::SetRank(size_t rank) {
  const std::span<float> extra = std::span(row_).subspan(num_features_);
  std::fill(extra.begin(), extra.end(), 0);
  extra[0] = static_cast<float>(1 / std::log2(static_cast<double>(rank) + 2));
  if (rank < kRankColumns) extra[1 + rank] = 1;
}

void RankRewardFit::Add(const LoggedDecision& decision,
                        std::span<const double> rewards) {
  for (size_t k = 0; k < rewards.size(); ++k) {
    const int32_t document = decision.decision->action(static_cast<int>(k));
    SetCandidate(decision.query.candidates, static_cast<size_t>(document));
    SetRank(k);
    sums_.Add({.features = row_,
               .abstained = false,
               .reward = rewards[k],
               .weight = 1,
               .unit_hash = decision.unit});
  }
}

absl::Status RankRewardFit::Fit() {
  ASSIGN_OR_RETURN(model_, sums_.Fit());
  return absl::OkStatus();
}

void RankRewardFit::Predict(const LoggedDecision& decision, size_t ranks,
                            std::vector<double>* expected) {
  const RewardModel& model = model_->For(decision.unit);
  const size_t m = decision.num_eligible();
  expected->resize(m * ranks);
  size_t i = 0;
  for (size_t d = 0; d < decision.query.num_candidates(); ++d) {
    if (!decision.is_eligible(d)) continue;
    SetCandidate(decision.query.candidates, d);
    for (size_t k = 0; k < ranks; ++k) {
      SetRank(k);
      (*expected)[k * m + i] = model.Predict(row_);
    }
    ++i;
  }
}

}  // namespace sortition
