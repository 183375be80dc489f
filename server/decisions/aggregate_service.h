#pragma once
// Ranking.Aggregate without its transport: refuses, decides, logs, answers.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/aggregation/aggregate_policy.h"
#include "io/segments/spool_writer.h"
#include "process/metrics.h"
#include "server/decisions/decision_id.h"
#include "server/decisions/decision_scratch.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Thread-safe. Overwrites `response`; where it fails, nothing was logged and
// the response is void. INVALID_ARGUMENT names field, value and range;
// RESOURCE_EXHAUSTED or UNAVAILABLE where the record could not be logged.
class AggregateService {
 public:
  // All must outlive it. `spool` null: decisions are not logged.
  AggregateService(const config::v1::RequestLimits& limits, SpoolWriter* spool,
                   Metrics* metrics);

  absl::Status Aggregate(const v1::AggregateRequest& request,
                         DecisionScratch* scratch,
                         v1::AggregateResponse* response);

 private:
  // A request that passed every check.
  struct Question {
    AggregateQuery query;      // Views into the request.
    model::v1::Policy policy;  // No kind: nothing is drawn.
    std::unique_ptr<const CardinalityFunction> divergence;
    std::string name;
    std::string degraded;
  };

  absl::StatusOr<Question> Check(const v1::AggregateRequest& request) const;
  absl::Status Log(const v1::AggregateRequest& request,
                   const Question& question, const std::string& decision_id,
                   int64_t time_us, DecisionScratch* scratch);

  const config::v1::RequestLimits limits_;
  SpoolWriter* const spool_;
  DecisionIdMaker ids_;
  MetricHistogram* const sources_;
  MetricCounter* const drawn_;
};

}  // namespace sortition
