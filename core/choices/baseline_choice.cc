#include "core/choices/baseline_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/stable_math.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// The subsets of an F-score game are the only ones without a size to ask for.
bool PlaysFBetaGame(const LinearPolicy& policy) {
  return policy.action_kind() == ActionKind::kSubset && !policy.takes_size();
}

// Takes the baseline's action, with the caller's propensity of it.
void TakeBaseline(const BaselinePlan& plan, ActionKind kind, Draw* draw) {
  draw->action.assign(plan.action.begin(), plan.action.end());
  draw->log_propensity = plan.log_propensity.value_or(0);
  draw->game_rounds.reset();
  draw->game.reset();
  draw->conditional_log_propensities.clear();
  if (kind == ActionKind::kRank && !plan.log_propensity.has_value()) {
    draw->conditional_log_propensities.assign(plan.action.size(), 0);
  }
}

// Replaces the model's propensities of `draw`, which are by rank where
// `conditionals` are there, by those of the mixture. The probability that an
// order begins so is w exp(Σ_r l_r), and 1 - w more while it is the baseline's.
void MixRanks(const BaselinePlan& plan, Draw* draw) {
  const double w = plan.model_probability;
  double log_model = 0;
  double log_before = 0;
  bool is_baseline = true;
  for (size_t rank = 0; rank < draw->conditional_log_propensities.size();
       ++rank) {
    log_model += draw->conditional_log_propensities[rank];
    is_baseline = is_baseline && draw->action[rank] == plan.action[rank];
    const double log_prefix = LogAboveBaseline(w, log_model, is_baseline);
    draw->conditional_log_propensities[rank] = log_prefix - log_before;
    log_before = log_prefix;
  }
}

}  // namespace

double BaselineNumber(absl::string_view model, absl::string_view draw_salt,
                      absl::string_view decision_id) {
  return UnitInterval(
      StableHash(HashDomain::kBaseline, {model, draw_salt, decision_id}));
}

double LogOfMixture(std::span<const double> probabilities,
                    std::span<const double> log_propensities) {
  // What has no part must not set the scale: exp(l - largest) of the others
  // could be 0 in doubles.
  double largest = -HUGE_VAL;
  for (size_t a = 0; a < probabilities.size(); ++a) {
    if (probabilities[a] > 0) largest = std::max(largest, log_propensities[a]);
  }
  if (largest == -HUGE_VAL) return largest;
  double sum = 0;
  for (size_t a = 0; a < probabilities.size(); ++a) {
    if (probabilities[a] <= 0) continue;
    sum += probabilities[a] * stable::Exp(log_propensities[a] - largest);
  }
  return largest + stable::Log(sum);
}

double LogAboveBaseline(double model_probability, double log_propensity,
                        bool is_baseline) {
  return LogOfMixture(
      std::array{model_probability, 1 - model_probability},
      std::array{log_propensity, is_baseline ? 0.0 : -HUGE_VAL});
}

bool MixFirstProbabilities(const BaselinePlan& plan, ActionKind kind,
                           std::span<double> probabilities, double* abstain) {
  if (plan.log_propensity.has_value()) return false;
  const double w = plan.mode == model::v1::EXPLORE_ABOVE_BASELINE
                       ? plan.model_probability
                       : 0;
  for (double& probability : probabilities) probability *= w;
  if (abstain != nullptr) *abstain *= w;
  const size_t num_chosen = kind == ActionKind::kSubset
                                ? plan.action.size()
                                : std::min<size_t>(1, plan.action.size());
  for (const int32_t document : plan.action.first(num_chosen)) {
    if (document != kAbstain) {
      probabilities[static_cast<size_t>(document)] += 1 - w;
    } else if (abstain != nullptr) {
      *abstain += 1 - w;
    }
  }
  return true;
}

absl::StatusOr<double> MixtureLogPropensity(
    std::span<const MixedArm> arms, size_t own, const BaselinePlan* plan,
    const PolicyQuery& query, const Draw& draw, PolicyWorkspace* workspace) {
  const bool explores =
      plan != nullptr && plan->mode == model::v1::EXPLORE_ABOVE_BASELINE;
  // Otherwise all arms take the baseline.
  if (plan != nullptr && !explores) return draw.log_propensity;
  const bool is_baseline =
      explores && std::equal(draw.action.begin(), draw.action.end(),
                             plan->action.begin(), plan->action.end());
  std::vector<double> probabilities;
  std::vector<double> log_propensities;
  for (size_t a = 0; a < arms.size(); ++a) {
    probabilities.push_back(arms[a].probability);
    double& log_propensity = log_propensities.emplace_back(draw.log_propensity);
    if (a == own) continue;
    log_propensity =
        arms[a].policy->LogPropensity(query, draw.action, workspace);
    RETURN_IF_ERROR(workspace->refusal);
    if (explores) {
      log_propensity = LogAboveBaseline(plan->model_probability, log_propensity,
                                        is_baseline);
    }
  }
  return LogOfMixture(probabilities, log_propensities);
}

BaselineOutcome DecideWithBaseline(const BaselinePlan& plan,
                                   const LinearPolicy& policy,
                                   const PolicyQuery& query, const Hash128& key,
                                   double baseline_number,
                                   PolicyWorkspace* workspace, Draw* draw) {
  BaselineOutcome outcome;
  workspace->refusal = absl::OkStatus();
  if (plan.mode == model::v1::SHADOW || plan.mode == model::v1::OFF ||
      PlaysFBetaGame(policy)) {
    TakeBaseline(plan, policy.action_kind(), draw);
    return outcome;
  }
  if (plan.mode == model::v1::APPRENTICE) {
    TakeBaseline(plan, policy.action_kind(), draw);
    outcome.model_log_propensity =
        policy.LogPropensity(query, draw->action, workspace);
    return outcome;
  }
  outcome.model_decided = baseline_number < plan.model_probability;
  if (outcome.model_decided) {
    policy.Decide(query, key, workspace, draw);
  } else {
    TakeBaseline(plan, policy.action_kind(), draw);
    draw->log_propensity = policy.LogPropensity(
        query, draw->action, workspace, &draw->conditional_log_propensities);
  }
  outcome.model_log_propensity = draw->log_propensity;
  draw->log_propensity =
      LogAboveBaseline(plan.model_probability, draw->log_propensity,
                       std::equal(draw->action.begin(), draw->action.end(),
                                  plan.action.begin(), plan.action.end()));
  if (policy.action_kind() == ActionKind::kRank) MixRanks(plan, draw);
  return outcome;
}

}  // namespace sortition
