#include "server/decisions/ranking_service.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/decisions/decision_record.h"

namespace sortition {
namespace {

// The call that a model answers.
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

void AddDegraded(absl::string_view reason, std::string* degraded) {
  absl::StrAppend(degraded, degraded->empty() ? "" : "; ", reason);
}

template <typename T>
void Assign(const std::vector<T>& values,
            google::protobuf::RepeatedField<T>* field) {
  field->Assign(values.begin(), values.end());
}

}  // namespace

RankingService::RankingService(const config::v1::RequestLimits& limits,
                               const ModelRegistry* models, SpoolWriter* spool,
                               Metrics* metrics)
    : limits_(limits),
      models_(models),
      spool_(spool),
      ids_(DecisionIdMaker::RandomSecret()),
      decision_metrics_(metrics) {}

absl::StatusOr<RankingService::Question> RankingService::Check(
    const v1::DecisionContext& context, ActionKind action_kind) const {
  Question question;
  ASSIGN_OR_RETURN(question.model, models_->Find(context.model()));
  const ServedModel& model = *question.model;
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
  question.policy = &*policy;
  ASSIGN_OR_RETURN(question.query,
                   ValidateQuery(context, limits_, model.num_features));
  question.degraded = model.degraded;
  return question;
}

absl::Status RankingService::LogDecision(const v1::DecisionContext& context,
                                         const Question& question,
                                         int64_t time_us,
                                         const std::string& decision_id,
                                         DecisionScratch* scratch) {
  const ServedModel& model = *question.model;
  const Candidates& candidates = question.query.candidates;
  const ActionKind kind = question.policy->action_kind();
  const Draw& draw = scratch->draw;
  log::v1::Decision& record = scratch->record;
  StartRecord(context, {decision_id, time_us, model.name, model.version},
              candidates, draw, &record);
  if (model.policy.kind_case() != model::v1::Policy::KIND_NOT_SET) {
    *record.mutable_policy() = model.policy;
  }
  record.set_action_kind(LoggedKind(kind));
  if (kind == ActionKind::kRank) {
    record.set_top_k(static_cast<uint32_t>(draw.action.size()));
    Assign(draw.conditional_log_propensities,
           record.mutable_conditional_log_propensities());
  } else if (kind == ActionKind::kSubset) {
    record.set_top_k(question.query.top_k);
    if (draw.game_rounds.has_value()) {
      record.set_game_rounds(*draw.game_rounds);
    }
  } else {
    record.set_can_abstain(question.policy->can_abstain());
  }
  record.set_degraded(question.degraded);
  return AppendRecord(context, candidates, spool_, &record);
}

std::function<bool()> RankingService::GameLimit(
    const v1::DecisionContext& context, double seconds_left) const {
  using Clock = std::chrono::steady_clock;
  double seconds = std::min(limits_.max_game_seconds(), seconds_left / 2);
  // For probabilities the game is played again.
  if (context.return_probabilities()) seconds /= 2;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(seconds, 0.0)));
  return [end] { return Clock::now() >= end; };
}

absl::Status RankingService::Decide(const v1::DecisionContext& context,
                                    Question* asked, DecisionScratch* scratch,
                                    v1::DecisionResult* result) {
  Question& question = *asked;
  const ServedModel& model = *question.model;
  const LinearPolicy& policy = *question.policy;
  const int64_t time_us = NowUs();
  result->set_decision_id(context.decision_id().empty()
                              ? ids_.Make(time_us)
                              : context.decision_id());
  const Hash128 key =
      context.has_seed()
          ? SeedKey(context.seed())
          : DecisionKey(model.name, model.version, result->decision_id());
  question.query.game.return_bounds = context.return_game();
  policy.Decide(question.query, key, &scratch->workspace, &scratch->draw);
  const Draw& draw = scratch->draw;
  const double log_propensity = draw.log_propensity;
  if (!std::isfinite(log_propensity)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates: features give log-propensity = ", log_propensity,
        ": must be finite; features of this size overflow the model's scores"));
  }
  if (draw.game_rounds.has_value()) {
    AddDegraded(absl::StrFormat("game stopped after %d rounds, gap %.3g",
                                *draw.game_rounds, draw.game->gap),
                &question.degraded);
  }
  if (spool_ != nullptr) {
    RETURN_IF_ERROR(LogDecision(context, question, time_us,
                                result->decision_id(), scratch));
  }
  result->mutable_model()->set_name(model.name);
  result->mutable_model()->set_version(model.version);
  result->set_log_propensity(log_propensity);
  result->set_degraded(question.degraded);
  if (context.return_scores()) {
    Assign(policy.Scores(question.query), result->mutable_scores());
  }
  if (context.return_game() && draw.game.has_value()) {
    result->mutable_game()->set_lower(draw.game->lower);
    result->mutable_game()->set_upper(draw.game->upper);
    result->mutable_game()->set_rounds(draw.game->rounds);
  }
  decision_metrics_.Count(question.query, *question.policy, draw,
                          !question.degraded.empty());
  return absl::OkStatus();
}

absl::Status RankingService::Rank(const v1::RankRequest& request,
                                  DecisionScratch* scratch,
                                  v1::RankResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(Question question,
                   Check(request.context(), ActionKind::kRank));
  PolicyQuery& query = question.query;
  const uint32_t n = query.candidates.num_candidates();
  ASSIGN_OR_RETURN(const uint32_t top_k, ValidateTopK(TopKOf(request), n));
  const uint32_t eligible = NumEligible(query);
  if (request.has_top_k() && top_k > eligible) {
    AddDegraded(absl::StrCat("top_k = ", top_k, " cut to ", eligible,
                             ", as many as are eligible"),
                &question.degraded);
  }
  query.top_k = std::min(top_k, eligible);
  RETURN_IF_ERROR(Decide(request.context(), &question, scratch,
                         response->mutable_result()));
  const Draw& draw = scratch->draw;
  response->mutable_order()->Assign(draw.action.begin(), draw.action.end());
  Assign(draw.conditional_log_propensities,
         response->mutable_conditional_log_propensities());
  if (request.context().return_probabilities()) {
    Assign(question.policy->FirstProbabilities(query, nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  return absl::OkStatus();
}

absl::Status RankingService::Select(const v1::SelectRequest& request,
                                    DecisionScratch* scratch,
                                    v1::SelectResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(Question question,
                   Check(request.context(), ActionKind::kSelect));
  RETURN_IF_ERROR(Decide(request.context(), &question, scratch,
                         response->mutable_result()));
  const int32_t selected = scratch->draw.action[0];
  if (selected != kAbstain) {
    response->set_selected(static_cast<uint32_t>(selected));
  }
  if (request.context().return_probabilities()) {
    double abstain = 0;
    Assign(question.policy->FirstProbabilities(question.query, &abstain),
           response->mutable_result()->mutable_probabilities());
    response->set_abstain_probability(abstain);
  }
  return absl::OkStatus();
}

absl::Status RankingService::SetSize(const v1::LabelRequest& request,
                                     Question* question) {
  const LinearPolicy& policy = *question->policy;
  const ServedModel& model = *question->model;
  PolicyQuery& query = question->query;
  ASSIGN_OR_RETURN(
      const uint32_t asked,
      ValidateSubsetSize(request, query.candidates.num_candidates()));
  if (asked > 0 && !policy.takes_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("k = ", asked, ": must be unset; version ", model.version,
                     " of model \"", model.name,
                     "\" chooses as many as its F-score game ", "finds right"));
  }
  const uint32_t k = asked > 0 ? asked : policy.subset_size();
  const uint32_t eligible = NumEligible(query);
  if (k > eligible) {
    AddDegraded(absl::StrCat("k = ", k, " cut to ", eligible,
                             ", as many as are eligible"),
                &question->degraded);
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
  ASSIGN_OR_RETURN(Question question,
                   Check(request.context(), ActionKind::kSubset));
  RETURN_IF_ERROR(SetSize(request, &question));
  PolicyQuery& query = question.query;
  const std::function<bool()> limit =
      GameLimit(request.context(), scratch->seconds_left);
  query.game.stop = &limit;
  RETURN_IF_ERROR(Decide(request.context(), &question, scratch,
                         response->mutable_result()));
  const Action& chosen = scratch->draw.action;
  response->mutable_chosen()->Assign(chosen.begin(), chosen.end());
  if (request.context().return_probabilities()) {
    query.game.stop = nullptr;
    query.game.rounds = scratch->draw.game_rounds;
    Assign(question.policy->FirstProbabilities(query, nullptr),
           response->mutable_result()->mutable_probabilities());
  }
  // One huge game should not hold its memory for ever.
  constexpr uint32_t kKeptCandidates = 10'000;
  if (query.candidates.num_candidates() > kKeptCandidates) {
    scratch->workspace = PolicyWorkspace();
  }
  return absl::OkStatus();
}

absl::Status RankingService::LogReports(
    const std::vector<log::v1::LogRecord>& records) {
  if (spool_ == nullptr) {
    return absl::FailedPreconditionError(
        "this server logs nothing (its option spool.dir is empty), so it takes "
        "no reports");
  }
  const absl::Status status = spool_->Append(records);
  return status.ok() ? status : NotLogged(status);
}

absl::Status RankingService::ReportShown(const v1::ReportShownRequest& request,
                                         DecisionScratch* scratch,
                                         v1::ReportShownResponse* response) {
  response->Clear();
  RETURN_IF_ERROR(ValidateShown(request, limits_));
  scratch->records.resize(1);
  log::v1::Shown& shown = *scratch->records[0].mutable_shown();
  shown.Clear();
  shown.set_decision_id(request.decision_id());
  shown.set_time_us(NowUs());
  *shown.mutable_shown() = request.shown();
  shown.set_not_shown(request.not_shown());
  return LogReports(scratch->records);
}

absl::Status RankingService::ReportFeedback(
    const v1::ReportFeedbackRequest& request, DecisionScratch* scratch,
    v1::ReportFeedbackResponse* response) {
  response->Clear();
  RETURN_IF_ERROR(ValidateFeedback(request, limits_));
  const int64_t time_us = NowUs();
  scratch->records.resize(static_cast<size_t>(request.feedback_size()));
  for (int i = 0; i < request.feedback_size(); ++i) {
    const v1::Feedback& from = request.feedback(i);
    log::v1::Feedback& to =
        *scratch->records[static_cast<size_t>(i)].mutable_feedback();
    to.Clear();
    to.set_feedback_id(from.feedback_id());
    to.set_decision_id(from.decision_id());
    to.set_time_us(time_us);
    to.set_reward(from.has_reward() ? from.reward() : -from.loss());
    if (from.has_rank()) to.set_rank(from.rank());
  }
  RETURN_IF_ERROR(LogReports(scratch->records));
  decision_metrics_.CountFeedback(request.feedback_size());
  response->set_accepted(static_cast<uint32_t>(request.feedback_size()));
  return absl::OkStatus();
}

}  // namespace sortition
