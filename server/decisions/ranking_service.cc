#include "server/decisions/ranking_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "server/decisions/request_validation.h"

namespace sortition {
namespace {

// Returns the name of the call that `model` answers.
const char* MethodOf(const ServedModel& model) {
  return model.select.has_value() ? "Select"
         : model.rank.has_value() ? "Rank"
                                  : "Label";
}

const char* MethodOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSelect:
      return "Select";
    case ActionKind::kRank:
      return "Rank";
    case ActionKind::kSubset:
      break;
  }
  return "Label";
}

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

template <typename T>
void Assign(const std::vector<T>& values,
            google::protobuf::RepeatedField<T>* field) {
  field->Assign(values.begin(), values.end());
}

// Adds the ids of the candidates in `action`, if the request has ids.
void AddIds(const v1::DecisionContext& context, const Action& action,
            google::protobuf::RepeatedPtrField<std::string>* ids) {
  const auto& from = context.candidates().ids();
  if (from.empty()) return;
  ids->Reserve(static_cast<int>(action.size()));
  for (const int32_t document : action) *ids->Add() = from[document];
}

}  // namespace

RankingService::RankingService(const config::v1::RequestLimits& limits,
                               const ModelRegistry* models, SpoolWriter* spool,
                               Metrics* metrics)
    : limits_(limits),
      models_(models),
      recorder_(spool),
      decision_metrics_(metrics) {}

absl::StatusOr<RankingService::CheckedRequest> RankingService::Check(
    const v1::DecisionContext& context, ActionKind action_kind,
    SeenModels* seen) const {
  CheckedRequest checked;
  auto found = models_->Find(context.model(), seen);
  if (!found.ok()) {
    return absl::Status(
        found.status().code(),
        absl::StrCat("context.model = ", found.status().message()));
  }
  checked.model = *std::move(found);
  const ServedModel& model = *checked.model;
  if (context.has_version() && context.version() != model.version) {
    return absl::FailedPreconditionError(absl::StrCat(
        "context.version = ", context.version(), ": not loaded; must be ",
        model.version, ", which model ", model.name, " serves, or unset"));
  }
  const auto& policy = model.PolicyFor(action_kind);
  if (!policy.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "context.model = \"", model.name, "\": version ", model.version,
        " has policy ", model.policy_name, ", which answers ", MethodOf(model),
        ", not ", MethodOf(action_kind)));
  }
  checked.policy = &*policy;
  ASSIGN_OR_RETURN(checked.query,
                   ValidateQuery(context, limits_, model.num_features));
  checked.degraded = model.degraded;
  return checked;
}

void RankingService::AddDetails(const CheckedRequest& checked, const Draw& draw,
                                log::v1::Decision* record) {
  const model::v1::Policy& policy = checked.model->policy;
  if (policy.kind_case() != model::v1::Policy::KIND_NOT_SET) {
    *record->mutable_policy() = policy;
  }
  const ActionKind kind = checked.policy->action_kind();
  record->set_action_kind(LoggedKind(kind));
  if (kind == ActionKind::kRank) {
    record->set_top_k(static_cast<uint32_t>(draw.action.size()));
    Assign(draw.conditional_log_propensities,
           record->mutable_conditional_log_propensities());
  } else if (kind == ActionKind::kSubset) {
    record->set_top_k(checked.query.top_k);
    if (draw.game_rounds.has_value()) {
      record->set_game_rounds(*draw.game_rounds);
    }
  } else {
    record->set_can_abstain(checked.policy->can_abstain());
  }
}

std::function<bool()> RankingService::GameLimit(
    const v1::DecisionContext& context, double seconds_left) const {
  using Clock = std::chrono::steady_clock;
  double seconds = std::min(limits_.max_game_seconds(), seconds_left / 2);
  // The game is played a second time for the probabilities.
  if (context.return_probabilities()) seconds /= 2;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(seconds, 0.0)));
  return [end] { return Clock::now() >= end; };
}

absl::Status RankingService::Decide(const v1::DecisionContext& context,
                                    CheckedRequest* checked,
                                    DecisionScratch* scratch,
                                    v1::DecisionResult* result) {
  const ServedModel& model = *checked->model;
  const LinearPolicy& policy = *checked->policy;
  PolicyQuery& query = checked->query;
  const OpenDecision decision = recorder_.Begin(
      {context, query.candidates, model.name, model.version, model.draw_salt},
      result);
  query.game.return_bounds = context.return_game();
  policy.Decide(query, decision.key, &scratch->workspace, &scratch->draw);
  const Draw& draw = scratch->draw;
  RETURN_IF_ERROR(ValidateLogPropensity(draw.log_propensity, "features",
                                        "overflow the model's scores"));
  if (draw.game_rounds.has_value()) {
    AddDegraded(absl::StrFormat("game stopped after %d rounds, gap %.3g",
                                *draw.game_rounds, draw.game->gap),
                &checked->degraded);
  }
  RETURN_IF_ERROR(recorder_.Finish(
      decision, checked->degraded,
      [&](log::v1::Decision* record) { AddDetails(*checked, draw, record); },
      scratch));
  if (context.return_scores()) {
    Assign(LinearPolicy::Scores(query, scratch->workspace),
           result->mutable_scores());
  }
  if (context.return_game() && draw.game.has_value()) {
    result->mutable_game()->set_lower(draw.game->lower);
    result->mutable_game()->set_upper(draw.game->upper);
    result->mutable_game()->set_rounds(draw.game->rounds);
  }
  decision_metrics_.Count(query, policy, draw, !checked->degraded.empty());
  return absl::OkStatus();
}

absl::Status RankingService::Rank(const v1::RankRequest& request,
                                  DecisionScratch* scratch,
                                  v1::RankResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(
      CheckedRequest checked,
      Check(request.context(), ActionKind::kRank, &scratch->models));
  RETURN_IF_ERROR(
      SetTopK(RequestedTopK(request), &checked.query, &checked.degraded));
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const Draw& draw = scratch->draw;
  response->mutable_order()->Assign(draw.action.begin(), draw.action.end());
  AddIds(request.context(), draw.action, response->mutable_order_ids());
  Assign(draw.conditional_log_propensities,
         response->mutable_conditional_log_propensities());
  if (request.context().return_probabilities()) {
    Assign(checked.policy->DecidedFirstProbabilities(
               checked.query, &scratch->workspace, nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  return absl::OkStatus();
}

absl::Status RankingService::Select(const v1::SelectRequest& request,
                                    DecisionScratch* scratch,
                                    v1::SelectResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(
      CheckedRequest checked,
      Check(request.context(), ActionKind::kSelect, &scratch->models));
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const int32_t selected = scratch->draw.action[0];
  response->set_abstained(selected == kAbstain);
  if (selected != kAbstain) {
    response->set_selected(static_cast<uint32_t>(selected));
    const auto& ids = request.context().candidates().ids();
    if (!ids.empty()) response->set_selected_id(ids[selected]);
  }
  if (request.context().return_probabilities()) {
    double abstain = 0;
    Assign(checked.policy->DecidedFirstProbabilities(
               checked.query, &scratch->workspace, &abstain),
           response->mutable_result()->mutable_probabilities());
    response->set_abstain_probability(abstain);
  }
  return absl::OkStatus();
}

absl::Status RankingService::SetSize(const v1::LabelRequest& request,
                                     CheckedRequest* checked) {
  const LinearPolicy& policy = *checked->policy;
  const ServedModel& model = *checked->model;
  PolicyQuery& query = checked->query;
  ASSIGN_OR_RETURN(const uint32_t asked, ValidateSubsetSize(request));
  if (asked > 0 && !policy.takes_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "k = ", asked, ": must be unset; version ", model.version,
        " of model \"", model.name, "\" chooses the size by its F-score game"));
  }
  const uint32_t k = asked > 0 ? asked : policy.subset_size();
  const uint32_t eligible = NumEligible(query);
  if (k > eligible) {
    AddDegraded(CutToEligible("k", k, eligible), &checked->degraded);
  }
  query.top_k = std::min(k, eligible);
  if (query.top_k > 0 && model.policy.has_independent_subset() &&
      model.policy.uniform_mixture() < 1 &&
      !SizedSubset::IsWithinLimit(eligible, query.top_k)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "k = ", query.top_k, " of ", eligible,
        " eligible candidates: their product must be at most ",
        SizedSubset::kMaxCells, " for policy ", model.policy_name));
  }
  return absl::OkStatus();
}

absl::Status RankingService::Label(const v1::LabelRequest& request,
                                   DecisionScratch* scratch,
                                   v1::LabelResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(
      CheckedRequest checked,
      Check(request.context(), ActionKind::kSubset, &scratch->models));
  RETURN_IF_ERROR(SetSize(request, &checked));
  PolicyQuery& query = checked.query;
  const std::function<bool()> limit =
      GameLimit(request.context(), scratch->seconds_left);
  query.game.stop = &limit;
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const Action& chosen = scratch->draw.action;
  response->mutable_chosen()->Assign(chosen.begin(), chosen.end());
  AddIds(request.context(), chosen, response->mutable_chosen_ids());
  if (request.context().return_probabilities()) {
    query.game.stop = nullptr;
    query.game.rounds = scratch->draw.game_rounds;
    Assign(checked.policy->DecidedFirstProbabilities(query, &scratch->workspace,
                                                     nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  // One huge game must not hold its memory for ever.
  constexpr uint32_t kKeptCandidates = 10'000;
  if (query.candidates.num_candidates() > kKeptCandidates) {
    scratch->workspace = PolicyWorkspace();
  }
  return absl::OkStatus();
}

}  // namespace sortition
