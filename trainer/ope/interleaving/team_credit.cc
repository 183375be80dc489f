#include "trainer/ope/interleaving/team_credit.h"

#include <algorithm>
#include <cmath>

#include "io/models/model_store.h"
#include "io/segments/decision_view.h"
#include "trainer/frames/model_frame.h"
#include "trainer/ope/policies/logging_policies.h"

namespace sortition {

TeamCredits::TeamCredits(const config::v1::OpeOptions& options,
                         uint32_t num_features)
    : options_(options), num_features_(num_features) {}

std::unique_ptr<const TeamCredits::Version> TeamCredits::Load(
    uint64_t version) const {
  if (options_.model_store().empty()) return nullptr;
  const auto stored =
      ModelStore(options_.model_store()).Load(options_.model(), version);
  if (!stored.ok() || SentFeatures(stored->model) != num_features_) {
    return nullptr;
  }
  auto linear = LinearPolicy::Create(stored->model);
  if (!linear.ok()) return nullptr;
  return std::make_unique<const Version>(
      Version{stored->model.policy(), *std::move(linear)});
}

const TeamCredits::Version* TeamCredits::Find(uint64_t version) {
  const auto found = versions_.find(version);
  if (found != versions_.end()) return found->second.get();
  if (versions_.size() >= kMostLoaded) return nullptr;
  return versions_.emplace(version, Load(version)).first->second.get();
}

double TeamCredits::Clamped(double reward) const {
  return std::clamp(reward, std::min(options_.reward_min(), 0.0),
                    std::max(options_.reward_max(), 0.0));
}

std::optional<TeamCredit> TeamCredits::Of(const LoggedDecision& decision) {
  const log::v1::Decision& logged = *decision.decision;
  const log::v1::Interleaving& interleaving = logged.interleaving();
  const Version* const serving = Find(logged.version());
  const Version* const other = Find(interleaving.other_version());
  if (serving == nullptr || other == nullptr) {
    ++unknown_;
    return std::nullopt;
  }
  const auto interleaver = Interleaver::Create(
      interleaving.method(), {&serving->linear, &serving->policy},
      {&other->linear, &other->policy});
  // Of the whole order, whatever ranks the reward depends on.
  PolicyQuery query = decision.query;
  query.top_k = static_cast<uint32_t>(logged.action_size());
  const double log_propensity =
      interleaver.ok() ? interleaver->LogPropensity(
                             query, SpanOf(logged.action()),
                             {&workspaces_[0], &workspaces_[1]}, &scratch_)
                       : -HUGE_VAL;
  if (!(std::abs(log_propensity - std::min(logged.log_propensity(), 0.0)) <=
        LoggingPolicies::kLogTolerance)) {
    ++contradictions_;
    return std::nullopt;
  }
  TeamLogOdds(interleaver->method(), scratch_.conditionals[0],
              scratch_.conditionals[1], &log_odds_);
  TeamCredit credit;
  if (decision.tuple == nullptr) return credit;
  for (const log::v1::RankReward& rank : decision.tuple->rank_rewards()) {
    if (rank.rank() >= log_odds_.size() || !std::isfinite(rank.reward())) {
      continue;
    }
    // 1 / (1 + e^l) - 1 / (1 + e^-l) = -tanh(l / 2)
    const double reward = Clamped(rank.reward());
    credit.preference -= reward * std::tanh(log_odds_[rank.rank()] / 2);
    credit.credited += std::abs(reward);
  }
  return credit;
}

}  // namespace sortition
