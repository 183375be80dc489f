#include "server/http/field_limits.h"

#include "server/decisions/request_validation.h"
#include "server/http/batch.h"

namespace sortition {

std::map<std::string, FieldLimits> RequestFieldLimits(
    const config::v1::RequestLimits& limits) {
  const FieldLimits id = {.max_bytes = kMaxIdBytes};
  const FieldLimits at_least_one = {.min = 1};
  const FieldLimits per_candidate = {.max_items = limits.max_candidates()};
  const double candidates = limits.max_candidates();
  const FieldLimits rank = {.min = 0, .max = candidates - 1};
  return {
      {"sortition.v1.Candidates.num_features",
       {.min = 0, .max = limits.max_features()}},
      {"sortition.v1.Candidates.ids", per_candidate},
      {"sortition.v1.Columns.num_candidates", {.min = 1, .max = candidates}},
      {"sortition.v1.DecisionContext.decision_id", id},
      {"sortition.v1.DecisionContext.unit_id", id},
      {"sortition.v1.DecisionContext.eligible", per_candidate},
      {"sortition.v1.RankRequest.top_k", at_least_one},
      {"sortition.v1.RerankRequest.top_n", at_least_one},
      {"sortition.v1.RerankRequest.decision_id", id},
      {"sortition.v1.RerankRequest.unit_id", id},
      {"sortition.v1.RerankRequest.user", id},
      {"sortition.v1.RerankRequest.documents", per_candidate},
      {"sortition.v1.RerankRequest.texts", per_candidate},
      {"sortition.v1.BatchRequest.calls",
       {.max_items = uint64_t{kMaxBatchCalls}}},
      {"sortition.v1.LabelRequest.k", at_least_one},
      {"sortition.v1.AggregateRequest.top_k", at_least_one},
      {"sortition.v1.AggregateRequest.cutoff", {.min = 0, .max = 1e6}},
      {"sortition.v1.AggregateRequest.concentration",
       {.min = 0, .max = 1e6, .is_above_min = true}},
      {"sortition.v1.AggregateRequest.uniform_mixture", {.min = 0, .max = 1}},
      {"sortition.v1.AggregateRequest.bootstrap_samples",
       {.min = 0, .max = 1e5}},
      {"sortition.v1.Aggregation.weights", {.min = 0}},
      {"sortition.v1.ReportShownRequest.decision_id", id},
      {"sortition.v1.ReportShownRequest.shown", per_candidate},
      {"sortition.v1.ReportShownRequest.first_rank", rank},
      {"sortition.v1.ReportShownRequest.seen_ranks",
       {.min = 1, .max = candidates}},
      {"sortition.v1.Feedback.feedback_id", id},
      {"sortition.v1.Feedback.decision_id", id},
      {"sortition.v1.Feedback.rank", rank},
      {"sortition.v1.Feedback.index", rank},
      {"sortition.v1.ReportFeedbackRequest.feedback",
       {.max_items = limits.max_feedback_batch()}},
  };
}

}  // namespace sortition
