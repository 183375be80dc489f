#include "server/ranking_service.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

int64_t NowUs() { return absl::GetCurrentTimeNanos() / 1000; }

std::vector<double> CandidateBuckets() {
  return {1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6};
}

std::vector<double> PropensityBuckets() {
  return {1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3,
          0.4,  0.5,  0.6,  0.7,  0.8,  0.9, 0.99};
}

void AddDegraded(absl::string_view reason, std::string* degraded) {
  absl::StrAppend(degraded, degraded->empty() ? "" : "; ", reason);
}

// What a caller sees when the spool refuses: nothing was logged, no answer.
absl::Status NotLogged(const absl::Status& status) {
  const absl::StatusCode code = absl::IsResourceExhausted(status)
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kUnavailable;
  return absl::Status(
      code, absl::StrCat("not logged, so not answered: ", status.message()));
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
      candidates_(metrics->Histogram("sortition_candidates",
                                     "Candidates of a decision",
                                     CandidateBuckets())),
      propensities_(metrics->Histogram(
          "sortition_propensity",
          "Probability of what was selected, or placed first",
          PropensityBuckets())),
      abstentions_(metrics->Counter("sortition_abstentions_total",
                                    "Selections of no candidate")),
      degraded_(metrics->Counter("sortition_degraded_total",
                                 "Answers with less than was asked for")),
      feedback_(metrics->Counter("sortition_feedback_total",
                                 "Feedback items logged")) {}

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
    const bool selects = action_kind != ActionKind::kSelect;
    return absl::FailedPreconditionError(absl::StrCat(
        "context.model = \"", model.name, "\": version ", model.version,
        " has policy ", model.policy_name, ", which answers ",
        selects ? "Select, not Rank" : "Rank, not Select"));
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
  const bool ranks = question.policy->action_kind() == ActionKind::kRank;
  log::v1::Decision& record = scratch->record;
  record.Clear();
  record.set_decision_id(decision_id);
  record.set_time_us(time_us);
  record.set_model(model.name);
  record.set_version(model.version);
  if (model.policy.kind_case() != model::v1::Policy::KIND_NOT_SET) {
    *record.mutable_policy() = model.policy;
  }
  record.set_action_kind(ranks ? log::v1::RANK : log::v1::SELECT);
  record.set_num_candidates(candidates.num_candidates());
  record.set_num_features(candidates.num_features());
  *record.mutable_eligible() = context.eligible();
  *record.mutable_candidate_ids() = context.candidates().ids();
  if (context.has_seed()) record.set_seed(context.seed());
  Assign(scratch->draw.action, record.mutable_action());
  record.set_log_propensity(scratch->draw.log_propensity);
  if (ranks) {
    record.set_top_k(static_cast<uint32_t>(scratch->draw.action.size()));
    Assign(scratch->draw.conditional_log_propensities,
           record.mutable_conditional_log_propensities());
  } else {
    record.set_can_abstain(question.policy->can_abstain());
  }
  record.set_degraded(question.degraded);
  std::span<const float> dense_values;
  if (context.candidates().has_sparse()) {
    *record.mutable_sparse() = context.candidates().sparse();
  } else {
    dense_values = candidates.values();
  }
  return spool_->AppendDecision(record, dense_values);
}

absl::Status RankingService::Decide(const v1::DecisionContext& context,
                                    const Question& question,
                                    DecisionScratch* scratch,
                                    v1::DecisionResult* result) {
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
  policy.Decide(question.query, key, &scratch->workspace, &scratch->draw);
  const double log_propensity = scratch->draw.log_propensity;
  if (!std::isfinite(log_propensity)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates: features give log-propensity = ", log_propensity,
        ": must be finite; features of this size overflow the model's scores"));
  }
  if (spool_ != nullptr) {
    if (absl::Status status = LogDecision(context, question, time_us,
                                          result->decision_id(), scratch);
        !status.ok()) {
      return NotLogged(status);
    }
  }
  result->mutable_model()->set_name(model.name);
  result->mutable_model()->set_version(model.version);
  result->set_log_propensity(log_propensity);
  result->set_degraded(question.degraded);
  if (context.return_scores()) {
    Assign(policy.Scores(question.query), result->mutable_scores());
  }
  Count(question, scratch->draw);
  return absl::OkStatus();
}

void RankingService::Count(const Question& question, const Draw& draw) {
  candidates_->Observe(question.query.candidates.num_candidates());
  const bool ranks = !draw.conditional_log_propensities.empty() &&
                     question.policy->action_kind() == ActionKind::kRank;
  propensities_->Observe(std::exp(ranks ? draw.conditional_log_propensities[0]
                                        : draw.log_propensity));
  if (!ranks && draw.action[0] == kAbstain) abstentions_->Increment();
  if (!question.degraded.empty()) degraded_->Increment();
}

absl::Status RankingService::Rank(const v1::RankRequest& request,
                                  DecisionScratch* scratch,
                                  v1::RankResponse* response) {
  response->Clear();
  ASSIGN_OR_RETURN(Question question,
                   Check(request.context(), ActionKind::kRank));
  PolicyQuery& query = question.query;
  const uint32_t n = query.candidates.num_candidates();
  ASSIGN_OR_RETURN(const uint32_t top_k, ValidateTopK(request, n));
  const auto eligible =
      query.eligible.empty()
          ? n
          : static_cast<uint32_t>(
                std::count(query.eligible.begin(), query.eligible.end(), true));
  if (request.has_top_k() && top_k > eligible) {
    AddDegraded(absl::StrCat("top_k = ", top_k, " cut to ", eligible,
                             ", as many as are eligible"),
                &question.degraded);
  }
  query.top_k = std::min(top_k, eligible);
  RETURN_IF_ERROR(
      Decide(request.context(), question, scratch, response->mutable_result()));
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
  ASSIGN_OR_RETURN(const Question question,
                   Check(request.context(), ActionKind::kSelect));
  RETURN_IF_ERROR(
      Decide(request.context(), question, scratch, response->mutable_result()));
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
  feedback_->Increment(request.feedback_size());
  response->set_accepted(static_cast<uint32_t>(request.feedback_size()));
  return absl::OkStatus();
}

}  // namespace sortition
