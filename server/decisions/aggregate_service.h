#pragma once
// Aggregate without its transport: refuses, decides, logs, answers.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/aggregation/aggregate_policy.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/decision_scratch.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Overwrites `response`; if it fails, nothing was logged and the
// response is void. INVALID_ARGUMENT names field, value and range;
// RESOURCE_EXHAUSTED or UNAVAILABLE if the record could not be logged.
class AggregateService {
 public:
  // All must outlive it. `spool` null: decisions are not logged.
  AggregateService(const config::v1::RequestLimits& limits, SpoolWriter* spool,
                   Metrics* metrics);

  // Answers before the deadline in `scratch`: a bootstrap that would take
  // longer ends early, and the answer is marked as degraded. DEADLINE_EXCEEDED
  // if there is not even time for the order; nothing was decided then.
  absl::Status Aggregate(const v1::AggregateRequest& request,
                         DecisionScratch* scratch,
                         v1::AggregateResponse* response);

 private:
  // A request that passed every check.
  struct CheckedRequest {
    AggregateQuery query;      // Views into the request.
    model::v1::Policy policy;  // No kind: nothing is drawn.
    std::unique_ptr<const CardinalityFunction> divergence;
    std::string name;  // The decision is logged under it.
    std::string degraded;
  };

  absl::StatusOr<CheckedRequest> Check(
      const v1::AggregateRequest& request) const;
  // Sets the fields of the record that only aggregations have.
  static void AddDetails(const v1::AggregateRequest& request,
                         const CheckedRequest& checked, const Draw& draw,
                         log::v1::Decision* record);
  // Adds how far each source is from what is decided in `scratch`; void once
  // time is over.
  static void AddDivergences(const CheckedRequest& checked,
                             const DecisionScratch& scratch,
                             v1::AggregateResponse* response);
  // Fills the rest of the response, but for `pairs`.
  static void AddAnswer(const v1::AggregateRequest& request,
                        const CheckedRequest& checked,
                        const DecisionScratch& scratch,
                        v1::AggregateResponse* response);

  const config::v1::RequestLimits limits_;
  DecisionRecorder recorder_;
  MetricHistogram* const sources_;
  MetricCounter* const drawn_;
};

}  // namespace sortition
