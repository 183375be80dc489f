#pragma once
// The sidecar's counters, and how they appear at /metrics.
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/metrics.h"
#include "sidecar/join/join_records.h"
#include "sidecar/model_reward_metrics.h"
#include "sidecar/spools/record_wire.h"
#include "sidecar/spools/spool_tail.h"
#include "sidecar/upkeep/tuple_keeper.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Counts since this process started. Records that are read again after a
// restart count again; `tuples`, `matched`, `defaulted` and `late_*` count what
// was written.
struct SidecarCounts {
  JoinCounts join;
  TailCounts tail;
  uint64_t tuples = 0;
  uint64_t matched = 0;
  uint64_t defaulted = 0;
  // Tuples by reason; one with two reasons counts twice.
  std::array<uint64_t, log::v1::CensorReason_ARRAYSIZE> censored = {};
  uint64_t censored_tuples = 0;  // With any reason.
  // Feedback in tuples, and how long all of it took together.
  uint64_t reward_waits = 0;
  double reward_wait_seconds = 0;
  uint64_t ambiguous_decisions = 0;  // One id, two answers: no tuple.
  uint64_t not_shown = 0;            // Left out by only_if_shown.
  // Of these, abstentions and empty subsets that no report came for.
  uint64_t unreported_abstentions = 0;
  uint64_t sampled_out = 0;     // Left out by keep_probability.
  uint64_t written_before = 0;  // Decisions that an earlier process wrote.
  uint64_t late_after_window = 0;
  uint64_t late_unknown_decision = 0;
  uint64_t late_out_of_range = 0;
  uint64_t late_no_such_candidate = 0;
  uint64_t late_too_many = 0;
  uint64_t malformed_records = 0;     // Intact frames with malformed content.
  uint64_t unreadable_decisions = 0;  // When their tuple was to be written.
  uint64_t unreadable_views = 0;      // Of shadows; left out of the tuple.
  uint64_t gap_records = 0;           // That the server says it has lost.
  uint64_t output_torn_bytes = 0;
  uint64_t full_disk_retries = 0;
  uint64_t removed_segments = 0;
  uint64_t foreign_feedback = 0;  // For decisions of servers not read here.
  uint64_t unknown_feedback = 0;  // For other decisions that never came.
  uint64_t incomplete_marks = 0;  // Written into the log.
  TupleKeeperCounts keeper;
  // Current values, not counts:
  uint64_t spools = 0;
  uint64_t pending = 0;
  uint64_t spool_lag_bytes = 0;
  int64_t watermark_us = 0;
};

class SidecarMetrics {
 public:
  // `metrics` must outlive this object. `window_seconds` is how long feedback
  // is waited for.
  SidecarMetrics(Metrics* metrics, double window_seconds);

  void Update(const SidecarCounts& counts);
  // Observes a tuple that was written; the reward of a censored one is not
  // known.
  void ObserveTuple(const ClosedDecision& closed, const DecidingModel& model);

 private:
  using Read = std::function<uint64_t(const SidecarCounts&)>;
  struct Counter {
    MetricCounter* metric;
    Read read;
  };

  void Add(Metrics* metrics, const char* name, const char* help, Read read,
           const MetricLabels& labels = {});
  void AddJoinCounters(Metrics* metrics);
  void AddSidecarCounters(Metrics* metrics);
  void AddKeeperCounters(Metrics* metrics);

  std::vector<Counter> counters_;
  MetricGauge* spools_;
  MetricGauge* pending_;
  MetricGauge* spool_lag_bytes_;
  MetricGauge* expired_seconds_;
  MetricGauge* watermark_seconds_;
  MetricHistogram* reward_latency_;
  ModelRewardMetrics model_rewards_;
};

}  // namespace sortition
