#pragma once
// The data plane without its transport: refuses, decides, logs, answers.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/policies/linear_policy.h"
#include "io/segments/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_id.h"
#include "server/decisions/decision_metrics.h"
#include "server/decisions/decision_scratch.h"
#include "server/decisions/request_validation.h"
#include "server/models/model_registry.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Every method overwrites `response`; where it fails, nothing was
// logged and the response is void. Errors are those of DESIGN:
// INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION; RESOURCE_EXHAUSTED or
// UNAVAILABLE where the record could not be logged. Logged before answered,
// always.
class RankingService {
 public:
  // All must outlive it. `spool` null: decisions are not logged, and reports
  // are FAILED_PRECONDITION.
  RankingService(const config::v1::RequestLimits& limits,
                 const ModelRegistry* models, SpoolWriter* spool,
                 Metrics* metrics);

  absl::Status Rank(const v1::RankRequest& request, DecisionScratch* scratch,
                    v1::RankResponse* response);
  absl::Status Select(const v1::SelectRequest& request,
                      DecisionScratch* scratch, v1::SelectResponse* response);
  absl::Status Label(const v1::LabelRequest& request, DecisionScratch* scratch,
                     v1::LabelResponse* response);
  absl::Status ReportShown(const v1::ReportShownRequest& request,
                           DecisionScratch* scratch,
                           v1::ReportShownResponse* response);
  absl::Status ReportFeedback(const v1::ReportFeedbackRequest& request,
                              DecisionScratch* scratch,
                              v1::ReportFeedbackResponse* response);

 private:
  // A request that passed every check.
  struct Question {
    std::shared_ptr<const ServedModel> model;
    const LinearPolicy* policy = nullptr;  // Of `model`.
    PolicyQuery query;                     // Views into the request.
    std::string degraded;
  };

  absl::StatusOr<Question> Check(const v1::DecisionContext& context,
                                 ActionKind action_kind) const;
  // Draws, logs and fills what all answers have; the draw is in `scratch`.
  absl::Status Decide(const v1::DecisionContext& context, Question* question,
                      DecisionScratch* scratch, v1::DecisionResult* result);
  // Of the subset.
  static absl::Status SetSize(const v1::LabelRequest& request,
                              Question* question);
  // When an F-score game that begins now has to end.
  std::function<bool()> GameLimit(const v1::DecisionContext& context,
                                  double seconds_left) const;
  absl::Status LogDecision(const v1::DecisionContext& context,
                           const Question& question, int64_t time_us,
                           const std::string& decision_id,
                           DecisionScratch* scratch);
  absl::Status LogReports(const std::vector<log::v1::LogRecord>& records);

  const config::v1::RequestLimits limits_;
  const ModelRegistry* const models_;
  SpoolWriter* const spool_;
  DecisionIdMaker ids_;
  DecisionMetrics decision_metrics_;
};

}  // namespace sortition
