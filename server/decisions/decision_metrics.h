#pragma once
// What is counted of decisions, and of feedback to them.
#include "core/policies/linear_policy.h"
#include "process/metrics.h"

namespace sortition {

// Thread-safe.
class DecisionMetrics {
 public:
  // `metrics` must outlive it.
  explicit DecisionMetrics(Metrics* metrics);

  // A decision of `policy` that was logged.
  void Count(const PolicyQuery& query, const LinearPolicy& policy,
             const Draw& draw, bool degraded);
  void CountFeedback(int items);

 private:
  MetricHistogram* const candidates_;
  MetricHistogram* const propensities_;
  MetricCounter* const abstentions_;
  MetricCounter* const degraded_;
  MetricCounter* const feedback_;
  MetricHistogram* const chosen_;
  MetricCounter* const games_stopped_;
  MetricHistogram* const game_rounds_;
  MetricHistogram* const game_gap_;
};

}  // namespace sortition
