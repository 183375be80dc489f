#pragma once
// The metrics of Rank, Select and Label.
#include <cstddef>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/features/schema/schema.h"
#include "core/policies/linear_policy.h"
#include "process/metrics.h"
#include "server/models/version_counters.h"
#include "sortition/v1/columns.pb.h"

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

  // Counts, by name, the columns of a request to `model` that its version,
  // which reads `schema`, ignored. Names of a model beyond kMaxUnreadColumns
  // count under the empty name.
  static constexpr size_t kMaxUnreadColumns = 200;
  void CountUnread(const std::string& model, const Schema& schema,
                   const v1::Columns& columns);

  // Counts a ranking that two versions made together.
  void CountInterleaved() { interleaved_->Increment(); }

 private:
  // Requires unread_mutex_.
  MetricCounter* UnreadCounter(const std::string& model,
                               const std::string& column);
  void ObserveFirst(double log_propensity, const VersionCounters* counters);

  Metrics* const metrics_;

  MetricHistogram* const candidates_;
  MetricHistogram* const propensities_;
  MetricCounter* const abstentions_;
  MetricCounter* const degraded_;
  MetricCounter* const interleaved_;
  MetricHistogram* const chosen_;
  MetricCounter* const games_stopped_;
  MetricHistogram* const game_rounds_;
  MetricHistogram* const game_gap_;
  std::mutex unread_mutex_;
  // By model and column.
  absl::flat_hash_map<std::string,
                      absl::flat_hash_map<std::string, MetricCounter*>>
      unread_;
};

}  // namespace sortition
