#pragma once
// Reports about decisions without their transport: refuses, logs, answers.
#include "absl/status/status.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_scratch.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Every method overwrites `response`; if it fails, nothing was
// logged and the response is void. Where a record must reach the disk first,
// the waiter in the scratch is told; it may be in the log even if that fails.
// Errors: INVALID_ARGUMENT; RESOURCE_EXHAUSTED or UNAVAILABLE if the records
// could not be logged.
class ReportService {
 public:
  // All must outlive it. `spool` null: reports are FAILED_PRECONDITION.
  ReportService(const config::v1::RequestLimits& limits,
                const config::v1::FeedbackLimits& rewards, SpoolWriter* spool,
                Metrics* metrics);

  absl::Status ReportShown(const v1::ReportShownRequest& request,
                           DecisionScratch* scratch,
                           v1::ReportShownResponse* response);
  absl::Status ReportFeedback(const v1::ReportFeedbackRequest& request,
                              DecisionScratch* scratch,
                              v1::ReportFeedbackResponse* response);

 private:
  // Logs the records in `scratch`.
  absl::Status Append(DecisionScratch* scratch);

  const config::v1::RequestLimits limits_;
  const config::v1::FeedbackLimits rewards_;
  SpoolWriter* const spool_;
  MetricCounter* const feedback_;
};

}  // namespace sortition
