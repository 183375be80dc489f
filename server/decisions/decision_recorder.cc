#include "server/decisions/decision_recorder.h"

#include <cmath>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"

namespace sortition {
namespace {

// Overwrites `record` with the fields that do not depend on the kind of action.
void StartRecord(const OpenDecision& decision, const Draw& draw,
                 log::v1::Decision* record) {
  const auto& [context, query, model, version, draw_salt] = decision.subject;
  record->Clear();
  record->set_decision_id(decision.result->decision_id());
  record->set_time_us(decision.time_us);
  record->set_model(model);
  record->set_version(version);
  record->set_num_candidates(query.num_candidates());
  record->set_num_features(query.candidates.num_features());
  *record->mutable_eligible() = context.eligible();
  *record->mutable_candidate_ids() = context.candidates().ids();
  if (context.has_seed()) record->set_seed(context.seed());
  record->set_unit_id(context.unit_id());
  *record->mutable_attributes() = context.attributes();
  record->mutable_action()->Assign(draw.action.begin(), draw.action.end());
  record->set_log_propensity(draw.log_propensity);
}

void NoteDecision(const OpenDecision& decision, RequestTrace* trace) {
  const DecisionSubject& subject = decision.subject;
  trace->decision_id = decision.result->decision_id();
  trace->model = subject.model;
  trace->version = subject.version;
  trace->num_candidates = subject.query.num_candidates();
}

// Appends the record in `scratch` with the features that `subject` views.
absl::Status AppendRecord(const DecisionSubject& subject, SpoolWriter* spool,
                          DecisionScratch* scratch) {
  log::v1::Decision* const record = &scratch->record;
  std::span<const float> dense_values;
  if (subject.query.columns != nullptr) {
    *record->mutable_columns() = *subject.query.columns;
  } else if (subject.context.candidates().has_sparse()) {
    *record->mutable_sparse() = subject.context.candidates().sparse();
  } else {
    dense_values = subject.query.candidates.values();
  }
  RequestTrace* const trace = scratch->trace;
  if (trace != nullptr) {
    record->set_trace_context(PackTraceContext(trace->context()));
    trace->append_ns = TraceNanos();
  }
  const absl::StatusOr<bool> waits =
      spool->AppendDecision(*record, dense_values, scratch->waiter);
  if (trace != nullptr) trace->appended_ns = TraceNanos();
  if (!waits.ok()) return NotLogged(waits.status());
  scratch->is_waiting = *waits;
  return absl::OkStatus();
}

}  // namespace

DecisionRecorder::DecisionRecorder(SpoolWriter* spool)
    : spool_(spool),
      ids_(DecisionIdMaker::RandomSecret(),
           spool == nullptr ? "" : spool->writer_id()) {}

void DecisionRecorder::Name(const v1::DecisionContext& context,
                            v1::DecisionResult* result) {
  if (!result->decision_id().empty()) return;
  result->set_decision_id(context.decision_id().empty()
                              ? ids_.Make(NowUs())
                              : context.decision_id());
}

OpenDecision DecisionRecorder::Begin(const DecisionSubject& subject,
                                     v1::DecisionResult* result) {
  const v1::DecisionContext& context = subject.context;
  const int64_t time_us = NowUs();
  Name(context, result);
  const Hash128 key =
      context.has_seed()
          ? SeedKey(context.seed(), subject.draw_salt)
          : DecisionKey(subject.model, subject.version, result->decision_id(),
                        subject.draw_salt);
  return {subject, result, time_us, key};
}

absl::Status DecisionRecorder::Finish(
    const OpenDecision& decision, const std::string& degraded,
    absl::FunctionRef<void(log::v1::Decision*)> add_details,
    DecisionScratch* scratch) {
  const DecisionSubject& subject = decision.subject;
  if (scratch->trace != nullptr) NoteDecision(decision, scratch->trace);
  if (spool_ != nullptr) {
    log::v1::Decision& record = scratch->record;
    StartRecord(decision, scratch->draw, &record);
    add_details(&record);
    record.set_degraded(degraded);
    RETURN_IF_ERROR(AppendRecord(subject, spool_, scratch));
  }
  v1::DecisionResult& result = *decision.result;
  result.mutable_model()->set_name(subject.model);
  result.mutable_model()->set_version(subject.version);
  result.set_log_propensity(scratch->draw.log_propensity);
  result.set_degraded(degraded);
  return absl::OkStatus();
}

absl::Status ValidateLogPropensity(double log_propensity,
                                   absl::string_view input,
                                   absl::string_view reason) {
  if (std::isfinite(log_propensity)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "context.candidates: ", input, " give log-propensity = ", log_propensity,
      ": must be finite; ", input, " of this size ", reason));
}

absl::Status NotLogged(const absl::Status& status) {
  const absl::StatusCode code = absl::IsResourceExhausted(status)
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kUnavailable;
  return absl::Status(
      code, absl::StrCat("not logged, so not answered: ", status.message()));
}

}  // namespace sortition
