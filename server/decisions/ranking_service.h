#pragma once
// Rank, Select and Label without their transport: refuses, decides, logs,
// answers.
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_metrics.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/decision_scratch.h"
#include "server/models/model_registry.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Every method overwrites `response`; if it fails, nothing was
// logged and the response is void. Errors: INVALID_ARGUMENT, NOT_FOUND,
// FAILED_PRECONDITION; RESOURCE_EXHAUSTED or UNAVAILABLE if the record could
// not be logged. A decision is always logged before it is answered.
class RankingService {
 public:
  // All must outlive it. `spool` null: decisions are not logged.
  RankingService(const config::v1::RequestLimits& limits,
                 const ModelRegistry* models, SpoolWriter* spool,
                 Metrics* metrics);

  absl::Status Rank(const v1::RankRequest& request, DecisionScratch* scratch,
                    v1::RankResponse* response);
  absl::Status Select(const v1::SelectRequest& request,
                      DecisionScratch* scratch, v1::SelectResponse* response);
  absl::Status Label(const v1::LabelRequest& request, DecisionScratch* scratch,
                     v1::LabelResponse* response);

 private:
  // A request that passed every check, with the model that answers it.
  struct CheckedRequest {
    std::shared_ptr<const ServedModel> model;
    const LinearPolicy* policy = nullptr;  // Belongs to `model`.
    PolicyQuery query;                     // Views into the request.
    std::string degraded;
  };

  // Finds the model and validates what requests of all kinds have in common.
  absl::StatusOr<CheckedRequest> Check(const v1::DecisionContext& context,
                                       ActionKind action_kind,
                                       SeenModels* seen) const;
  // Validates k and stores the size of the subset in `checked`.
  static absl::Status SetSize(const v1::LabelRequest& request,
                              CheckedRequest* checked);
  // Returns a function that tells whether an F-score game that begins now must
  // stop.
  std::function<bool()> GameLimit(const v1::DecisionContext& context,
                                  double seconds_left) const;
  // Draws into `scratch`, logs, and fills the fields that all results share.
  absl::Status Decide(const v1::DecisionContext& context,
                      CheckedRequest* checked, DecisionScratch* scratch,
                      v1::DecisionResult* result);
  // Sets the fields of the record that depend on the kind of action.
  static void AddDetails(const CheckedRequest& checked, const Draw& draw,
                         log::v1::Decision* record);

  const config::v1::RequestLimits limits_;
  const ModelRegistry* const models_;
  DecisionRecorder recorder_;
  DecisionMetrics decision_metrics_;
};

}  // namespace sortition
