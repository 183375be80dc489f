#include "server/decisions/report_service.h"

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/request_validation.h"

namespace sortition {

ReportService::ReportService(const config::v1::RequestLimits& limits,
                             const config::v1::FeedbackLimits& rewards,
                             SpoolWriter* spool, Metrics* metrics)
    : limits_(limits),
      rewards_(rewards),
      spool_(spool),
      feedback_(metrics->Counter("sortition_feedback_total",
                                 "Feedback items logged")) {}

absl::Status ReportService::Append(DecisionScratch* scratch) {
  if (spool_ == nullptr) {
    return absl::FailedPreconditionError(
        "this server logs nothing (its option spool.dir is empty), so it takes "
        "no reports");
  }
  RequestTrace* const trace = scratch->trace;
  if (trace != nullptr) trace->append_ns = TraceNanos();
  const absl::StatusOr<bool> waits =
      spool_->Append(scratch->records, scratch->waiter);
  if (trace != nullptr) trace->appended_ns = TraceNanos();
  if (!waits.ok()) return NotLogged(waits.status());
  scratch->is_waiting = *waits;
  return absl::OkStatus();
}

absl::Status ReportService::ReportShown(const v1::ReportShownRequest& request,
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
  shown.set_first_rank(request.first_rank());
  if (request.has_seen_ranks()) shown.set_seen_ranks(request.seen_ranks());
  if (scratch->trace != nullptr) {
    scratch->trace->decision_id = request.decision_id();
    scratch->trace->num_reports = 1;
  }
  return Append(scratch);
}

absl::Status ReportService::ReportFeedback(
    const v1::ReportFeedbackRequest& request, DecisionScratch* scratch,
    v1::ReportFeedbackResponse* response) {
  response->Clear();
  RETURN_IF_ERROR(ValidateFeedback(request, limits_, rewards_));
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
    if (from.has_index()) to.set_index(from.index());
  }
  if (scratch->trace != nullptr) {
    scratch->trace->num_reports =
        static_cast<uint32_t>(request.feedback_size());
    if (request.feedback_size() == 1) {
      scratch->trace->decision_id = request.feedback(0).decision_id();
    }
  }
  RETURN_IF_ERROR(Append(scratch));
  feedback_->Increment(request.feedback_size());
  response->set_accepted(static_cast<uint32_t>(request.feedback_size()));
  return absl::OkStatus();
}

}  // namespace sortition
