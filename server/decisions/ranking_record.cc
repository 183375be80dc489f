// RankingService: what the log says of a decision.
#include "server/decisions/ranking_service.h"

namespace sortition {
namespace {

log::v1::ActionKind LoggedKind(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSelect:
      return log::v1::SELECT;
    case ActionKind::kRank:
      return log::v1::RANK;
    case ActionKind::kSubset:
      break;
  }
  return log::v1::SUBSET;
}

}  // namespace

void RankingService::AddDetails(const CheckedRequest& checked, const Draw& draw,
                                log::v1::Decision* record) {
  const model::v1::Policy& policy = checked.choice.model->policy;
  if (policy.kind_case() != model::v1::Policy::KIND_NOT_SET) {
    *record->mutable_policy() = policy;
  }
  const ActionKind kind = checked.policy->action_kind();
  record->set_action_kind(LoggedKind(kind));
  if (kind == ActionKind::kRank) {
    record->set_top_k(static_cast<uint32_t>(draw.action.size()));
    record->mutable_conditional_log_propensities()->Assign(
        draw.conditional_log_propensities.begin(),
        draw.conditional_log_propensities.end());
  } else if (kind == ActionKind::kSubset) {
    record->set_top_k(checked.query.top_k);
    if (draw.game_rounds.has_value()) {
      record->set_game_rounds(*draw.game_rounds);
    }
  } else {
    record->set_can_abstain(checked.policy->can_abstain());
  }
}

void RankingService::AddChoice(const CheckedRequest& checked,
                               log::v1::Decision* record) {
  const BaselinePlan* const plan =
      checked.plan.has_value() ? &*checked.plan : nullptr;
  if (plan != nullptr) {
    log::v1::BaselineChoice& baseline = *record->mutable_baseline();
    baseline.set_mode(plan->mode);
    baseline.mutable_action()->Assign(plan->action.begin(), plan->action.end());
    if (plan->log_propensity.has_value()) {
      baseline.set_log_propensity(*plan->log_propensity);
    }
    baseline.set_model_probability(plan->model_probability);
    if (checked.outcome.model_log_propensity.has_value()) {
      baseline.set_model_log_propensity(*checked.outcome.model_log_propensity);
    }
    baseline.set_model_decided(checked.outcome.model_decided);
  }
  if (checked.choice.interleaved != nullptr) {
    FillInterleaving(*checked.set, *checked.choice.interleaved,
                     record->mutable_interleaving());
  }
  if (checked.choice.arm != nullptr) *record->mutable_arm() = checked.arm;
}

}  // namespace sortition
