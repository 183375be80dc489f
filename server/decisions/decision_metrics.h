#pragma once
// The metrics of Rank, Select and Label.
#include "core/policies/linear_policy.h"
#include "process/metrics.h"
#include "server/models/version_counters.h"

namespace sortition {

// Thread-safe.
class DecisionMetrics {
 public:
  // `metrics` must outlive it.
  explicit DecisionMetrics(Metrics* metrics);

  // Counts a decision of `policy` that was logged. `degraded`: its answer falls
  // short of what was asked for. `counters` are those of the version; null:
  // none.
  void Count(const PolicyQuery& query, const LinearPolicy& policy,
             const Draw& draw, bool degraded, const VersionCounters* counters);

  // Counts a ranking that two versions made together.
  void CountInterleaved() { interleaved_->Increment(); }

 private:
  void ObserveFirst(double log_propensity, const VersionCounters* counters);

  MetricHistogram* const candidates_;
  MetricHistogram* const propensities_;
  MetricCounter* const abstentions_;
  MetricCounter* const degraded_;
  MetricCounter* const interleaved_;
  MetricHistogram* const chosen_;
  MetricCounter* const games_stopped_;
  MetricHistogram* const game_rounds_;
  MetricHistogram* const game_gap_;
};

}  // namespace sortition
