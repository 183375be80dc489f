#include "server/decisions/ranking_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "server/decisions/decision_cost.h"
#include "server/decisions/entropy_sample.h"
#include "server/decisions/request_validation.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// The `degraded` text of answers to requests with a baseline before the first
// version.
constexpr char kColdStart[] =
    "no model loaded: the baseline, with some of the uniform policy";

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
                               Metrics* metrics, ShadowScorer* shadows,
                               BaselineAgreement* agreement,
                               const config::v1::ColdStartOptions& cold_start)
    : limits_(limits),
      cold_start_explore_(cold_start.explore()),
      models_(models),
      recorder_(spool),
      decision_metrics_(metrics),
      shadows_(shadows),
      agreement_(agreement) {}

absl::StatusOr<RankingService::CheckedRequest> RankingService::Check(
    const v1::DecisionContext& context, ActionKind action_kind,
    SeenModels* seen, v1::DecisionResult* result) {
  CheckedRequest checked;
  auto found = models_->Find(context.model(), seen);
  if (!found.ok()) {
    return absl::Status(
        found.status().code(),
        absl::StrCat("context.model = ", found.status().message()));
  }
  checked.set = *std::move(found);
  // All versions answer the same calls, and take either the same number of
  // features or columns, of which each may read others.
  const ServedModel& shape = *checked.set->shape;
  if (!shape.PolicyFor(action_kind).has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "context.model = \"", shape.name, "\": version ", shape.version,
        " has policy ", shape.policy_name, ", which answers ", MethodOf(shape),
        ", not ", MethodOf(action_kind)));
  }
  ASSIGN_OR_RETURN(
      checked.query,
      ValidateQuery(context, limits_, shape.num_features, shape.schema()));
  recorder_.Name(context, result);
  ASSIGN_OR_RETURN(checked.choice,
                   ChooseVersion(*checked.set, context, result->decision_id()));
  checked.policy = &*checked.choice.model->PolicyFor(action_kind);
  checked.degraded = StartsCold(context, checked)
                         ? kColdStart
                         : checked.choice.model->degraded;
  return checked;
}

bool RankingService::StartsCold(const v1::DecisionContext& context,
                                const CheckedRequest& checked) const {
  const ServingSet& set = *checked.set;
  return set.serving.mode() == model::v1::ONLINE && set.primary->version == 0 &&
         !set.is_split() && cold_start_explore_ < 1 && context.has_baseline() &&
         !context.baseline().has_log_propensity() && !context.has_version() &&
         context.label().empty();
}

absl::Status RankingService::SetPlan(const v1::DecisionContext& context,
                                     CheckedRequest* checked,
                                     DecisionScratch* scratch) const {
  const model::v1::Serving& serving = checked->set->serving;
  const bool starts_cold = StartsCold(context, *checked);
  if (serving.mode() == model::v1::ONLINE && !starts_cold) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(SetBaseline(context, *checked->policy, checked->query,
                              &scratch->baseline));
  BaselinePlan& plan = checked->plan.emplace();
  plan.mode = starts_cold ? model::v1::EXPLORE_ABOVE_BASELINE : serving.mode();
  plan.action = scratch->baseline;
  if (context.baseline().has_log_propensity()) {
    plan.log_propensity = context.baseline().log_propensity();
  }
  if (plan.mode != model::v1::EXPLORE_ABOVE_BASELINE) return absl::OkStatus();
  if (plan.log_propensity.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.baseline.log_propensity = ", *plan.log_propensity,
        ": must be unset; in mode EXPLORE_ABOVE_BASELINE the baseline must be "
        "certain, for the probability that it gives the model's actions is not "
        "known"));
  }
  plan.model_probability =
      starts_cold ? cold_start_explore_
                  : static_cast<double>(serving.explore_parts()) / kSplitPlaces;
  return absl::OkStatus();
}

void RankingService::DrawInterleaved(const OpenDecision& decision,
                                     const CheckedRequest& checked,
                                     DecisionScratch* scratch) {
  const ServingSet::Interleaved& interleaved = *checked.choice.interleaved;
  const ServedModel& other = *interleaved.other;
  const v1::DecisionContext& context = decision.subject.context;
  const Hash128 key_of_other =
      context.has_seed()
          ? SeedKey(context.seed(), other.draw_salt)
          : DecisionKey(other.name, other.version,
                        decision.result->decision_id(), other.draw_salt);
  interleaved.interleaver.Decide(checked.query,
                                 InterleavingKey(decision.key, key_of_other),
                                 {&scratch->workspace, &scratch->others},
                                 &scratch->interleaving, &scratch->draw);
}

void RankingService::DrawAction(const OpenDecision& decision,
                                CheckedRequest* checked,
                                DecisionScratch* scratch) {
  if (checked->choice.interleaved != nullptr) {
    DrawInterleaved(decision, *checked, scratch);
    return;
  }
  if (!checked->plan.has_value()) {
    checked->policy->Decide(checked->query, decision.key, &scratch->workspace,
                            &scratch->draw);
    return;
  }
  const ServedModel& model = *checked->choice.model;
  checked->outcome = DecideWithBaseline(
      *checked->plan, *checked->policy, checked->query, decision.key,
      BaselineNumber(model.name, model.draw_salt,
                     decision.result->decision_id()),
      &scratch->workspace, &scratch->draw);
}

void RankingService::TellOnlookers(const v1::DecisionContext& context,
                                   const CheckedRequest& checked,
                                   const std::string& decision_id,
                                   DecisionScratch* scratch) {
  // Decisions with a seed are no independent sample of anything.
  if (context.has_seed()) return;
  DriftMonitor* const drift = checked.choice.model->drift.get();
  if (drift != nullptr && checked.is_scored()) {
    const ModelFeatureScratch& made = *scratch->workspace.computed;
    drift->Offer(made.columns.columns(), made.inputs, NowUs());
  }
  // In a cold start there is no model that could agree with the baseline.
  if (agreement_ != nullptr && checked.plan.has_value() &&
      checked.set->serving.mode() != model::v1::ONLINE) {
    CountAgreement(*checked.choice.model, *checked.plan, checked.outcome,
                   *checked.policy, checked.query, &scratch->workspace,
                   agreement_);
  }
  if (shadows_ == nullptr) return;
  shadows_->Offer({checked.set, decision_id, checked.policy->action_kind(),
                   checked.query, scratch->draw.action});
}

std::function<bool()> RankingService::GameLimit(double seconds_left) const {
  const double seconds = std::min(limits_.max_game_seconds(), seconds_left / 2);
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(seconds, 0.0)));
  return [end] { return Clock::now() >= end; };
}

absl::Status RankingService::Decide(const v1::DecisionContext& context,
                                    CheckedRequest* checked,
                                    DecisionScratch* scratch,
                                    v1::DecisionResult* result) {
  const Clock::time_point start = Clock::now();
  if (scratch->trace != nullptr) {
    scratch->trace->policy = checked->choice.model->policy_name;
  }
  const auto seconds =
      DecisionSeconds(context, *checked->set, checked->choice, checked->query);
  if (seconds.ok() && IsTooLong(*seconds, scratch)) return TooLong();
  const absl::Status status =
      seconds.ok() ? DrawAndLog(context, checked, scratch, result)
                   : seconds.status();
  const VersionCounters* const counters = checked->choice.model->counters.get();
  if (counters != nullptr) {
    counters->Count(
        status.code(),
        std::chrono::duration<double>(Clock::now() - start).count());
  }
  return status;
}

absl::Status RankingService::DrawAndLog(const v1::DecisionContext& context,
                                        CheckedRequest* checked,
                                        DecisionScratch* scratch,
                                        v1::DecisionResult* result) {
  const ServedModel& model = *checked->choice.model;
  const LinearPolicy& policy = *checked->policy;
  PolicyQuery& query = checked->query;
  RETURN_IF_ERROR(SetPlan(context, checked, scratch));
  const OpenDecision decision = recorder_.Begin(
      {context, query, model.name, model.version, model.draw_salt}, result);
  query.game.return_bounds = context.return_game();
  DrawAction(decision, checked, scratch);
  if (!scratch->workspace.refusal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates: ", scratch->workspace.refusal.message()));
  }
  const Draw& draw = scratch->draw;
  RETURN_IF_ERROR(ValidateLogPropensity(draw.log_propensity, "features",
                                        "overflow the model's scores"));
  if (checked->choice.arm != nullptr) {
    RETURN_IF_ERROR(FillArmChoice(
        *checked->set, checked->choice,
        checked->plan.has_value() ? &*checked->plan : nullptr, query,
        policy.action_kind(), draw, &scratch->others, &checked->arm));
  }
  if (draw.game_rounds.has_value()) {
    AddDegraded(absl::StrFormat("game stopped after %d rounds, gap %.3g",
                                *draw.game_rounds, draw.game->gap),
                &checked->degraded);
  }
  RETURN_IF_ERROR(recorder_.Finish(
      decision, checked->degraded,
      [&](log::v1::Decision* record) {
        AddDetails(*checked, draw, record);
        AddChoice(*checked, record);
      },
      scratch));
  if (checked->choice.arm != nullptr) {
    result->set_arm_probability(checked->choice.arm->probability);
  }
  if (checked->choice.interleaved != nullptr) {
    result->set_interleaved_version(
        checked->choice.interleaved->other->version);
    decision_metrics_.CountInterleaved();
  }
  result->set_is_baseline(checked->is_baseline());
  if (context.return_scores() && checked->is_scored()) {
    Assign(LinearPolicy::Scores(query, scratch->workspace),
           result->mutable_scores());
  }
  if (context.return_game() && draw.game.has_value()) {
    result->mutable_game()->set_lower(draw.game->lower);
    result->mutable_game()->set_upper(draw.game->upper);
    result->mutable_game()->set_rounds(draw.game->rounds);
  }
  // Draws that another version or a baseline had a part in say nothing of one.
  const bool is_alone =
      checked->choice.interleaved == nullptr && !checked->plan.has_value();
  decision_metrics_.Count(query, policy, draw, !checked->degraded.empty(),
                          is_alone ? model.counters.get() : nullptr);
  if (is_alone) {
    SampleEntropy(model, policy, query, decision.key, &scratch->others,
                  &scratch->probabilities);
  }
  if (model.schema() != nullptr && query.columns != nullptr) {
    decision_metrics_.CountUnread(model.name, *model.schema(), *query.columns);
  }
  TellOnlookers(context, *checked, result->decision_id(), scratch);
  return absl::OkStatus();
}

std::vector<double> RankingService::FirstProbabilities(
    const CheckedRequest& checked, DecisionScratch* scratch, double* abstain) {
  std::vector<double> probabilities = checked.policy->DecidedFirstProbabilities(
      checked.query, &scratch->workspace, abstain);
  if (checked.plan.has_value()) {
    const bool are_known = MixFirstProbabilities(
        *checked.plan, checked.policy->action_kind(), probabilities, abstain);
    return are_known ? probabilities : std::vector<double>();
  }
  if (checked.choice.interleaved == nullptr) return probabilities;
  // A fair coin says which of the two versions fills the first rank.
  const std::vector<double> of_other =
      checked.choice.interleaved->other->rank->DecidedFirstProbabilities(
          checked.query, &scratch->others, nullptr);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = (probabilities[i] + of_other[i]) / 2;
  }
  return probabilities;
}

absl::Status RankingService::Rank(const v1::RankRequest& request,
                                  DecisionScratch* scratch,
                                  v1::RankResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(CheckedRequest checked,
                   Check(request.context(), ActionKind::kRank, &scratch->models,
                         response->mutable_result()));
  RETURN_IF_ERROR(
      SetTopK(RequestedTopK(request), &checked.query, &checked.degraded));
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const Draw& draw = scratch->draw;
  response->mutable_order()->Assign(draw.action.begin(), draw.action.end());
  AddIds(request.context(), draw.action, response->mutable_order_ids());
  Assign(draw.conditional_log_propensities,
         response->mutable_conditional_log_propensities());
  if (request.context().return_probabilities() && checked.is_scored()) {
    Assign(FirstProbabilities(checked, scratch, nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  return absl::OkStatus();
}

absl::Status RankingService::Select(const v1::SelectRequest& request,
                                    DecisionScratch* scratch,
                                    v1::SelectResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(CheckedRequest checked,
                   Check(request.context(), ActionKind::kSelect,
                         &scratch->models, response->mutable_result()));
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const int32_t selected = scratch->draw.action[0];
  response->set_abstained(selected == kAbstain);
  if (selected != kAbstain) {
    response->set_selected(static_cast<uint32_t>(selected));
    const auto& ids = request.context().candidates().ids();
    if (!ids.empty()) response->set_selected_id(ids[selected]);
  }
  if (request.context().return_probabilities() && checked.is_scored()) {
    double abstain = 0;
    Assign(FirstProbabilities(checked, scratch, &abstain),
           response->mutable_result()->mutable_probabilities());
    if (!response->result().probabilities().empty()) {
      response->set_abstain_probability(abstain);
    }
  }
  return absl::OkStatus();
}

absl::Status RankingService::SetSize(const v1::LabelRequest& request,
                                     CheckedRequest* checked) {
  const LinearPolicy& policy = *checked->policy;
  const ServedModel& model = *checked->choice.model;
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
  ASSIGN_OR_RETURN(CheckedRequest checked,
                   Check(request.context(), ActionKind::kSubset,
                         &scratch->models, response->mutable_result()));
  RETURN_IF_ERROR(SetSize(request, &checked));
  PolicyQuery& query = checked.query;
  const std::function<bool()> limit = GameLimit(scratch->seconds_left);
  query.game.stop = &limit;
  RETURN_IF_ERROR(
      Decide(request.context(), &checked, scratch, response->mutable_result()));
  const Action& chosen = scratch->draw.action;
  response->mutable_chosen()->Assign(chosen.begin(), chosen.end());
  AddIds(request.context(), chosen, response->mutable_chosen_ids());
  if (request.context().return_probabilities() && checked.is_scored()) {
    query.game.stop = nullptr;
    query.game.rounds = scratch->draw.game_rounds;
    Assign(FirstProbabilities(checked, scratch, nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  return absl::OkStatus();
}

}  // namespace sortition
