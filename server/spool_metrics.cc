#include "server/spool_metrics.h"

#include <array>
#include <string>
#include <utility>

#include "process/log.h"

namespace sortition {
namespace {

// Raises `counter` to a total that is kept elsewhere.
void CatchUp(MetricCounter* counter, uint64_t total) {
  counter->Increment(static_cast<double>(total) - counter->value());
}

}  // namespace

SpoolMetrics::SpoolMetrics(Metrics* metrics)
    : metrics_(metrics),
      append_(metrics->Histogram(
          "sortition_spool_append_seconds", "Time to append records, seconds",
          {2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2, 0.1, 1})),
      sync_(metrics->Histogram(
          "sortition_spool_sync_seconds", "Time of fdatasync, seconds",
          {1e-4, 1e-3, 5e-3, 0.02, 0.05, 0.1, 0.5, 1, 5, 30})) {}

void SpoolMetrics::Export(const SpoolWriter* spool) {
  const auto counter = [&](const char* name, const char* help) {
    return metrics_->Counter(name, help);
  };
  const auto gauge = [&](const char* name, const char* help) {
    return metrics_->Gauge(name, help);
  };
  auto* records = counter("sortition_spool_records_total", "Records appended");
  auto* bytes = counter("sortition_spool_bytes_total", "Bytes appended");
  auto* refused =
      counter("sortition_spool_refused_total",
              "Appends refused: spool full, or the disk fails (REFUSE)");
  auto* lost = counter("sortition_spool_lost_records_total",
                       "Records answered but not logged (COUNT), or lost with "
                       "a failed fdatasync");
  auto* saved = counter("sortition_spool_saved_records_total",
                        "Records written again after a failed fdatasync");
  auto* segments = counter("sortition_spool_segments_total", "Segments opened");
  auto* size =
      gauge("sortition_spool_size_bytes", "Size of all spool segments, bytes");
  auto* limit = gauge("sortition_spool_max_bytes",
                      "Limit of that size (option spool.max_bytes), bytes");
  auto* free = gauge("sortition_spool_disk_free_bytes",
                     "Free space on the disk of the spool, bytes");
  auto* waiting = gauge("sortition_spool_waiting",
                        "Appends that wait for an fdatasync (POWER)");
  auto* longest_wait =
      gauge("sortition_spool_longest_wait_seconds",
            "How long the first of them has waited until now, seconds");
  std::array<MetricGauge*, kNumSpoolStates> states;
  for (size_t i = 0; i < kNumSpoolStates; ++i) {
    const auto name = SpoolStateName(static_cast<SpoolState>(i));
    states[i] = metrics_->Gauge("sortition_spool_state",
                                "1 for the state that the spool is in",
                                {{"state", std::string(name)}});
  }
  metrics_->OnScrape([=] {
    const SpoolStats stats = spool->stats();
    CatchUp(records, stats.records);
    CatchUp(bytes, stats.bytes);
    CatchUp(refused, stats.refused);
    CatchUp(lost, stats.lost);
    CatchUp(saved, stats.saved);
    CatchUp(segments, stats.segments);
    size->Set(static_cast<double>(stats.spool_bytes));
    limit->Set(static_cast<double>(stats.max_bytes));
    free->Set(static_cast<double>(stats.free_bytes));
    waiting->Set(static_cast<double>(stats.waiting));
    longest_wait->Set(stats.longest_wait_seconds);
    for (size_t i = 0; i < kNumSpoolStates; ++i) {
      states[i]->Set(stats.state == static_cast<SpoolState>(i) ? 1 : 0);
    }
  });
}

void SpoolMetrics::OnEvent(const SpoolEvent& event) {
  if (event.is_error) {
    LogError(event.message, {{"error", event.error}, {"count", event.count}});
  } else {
    LogInfo(event.message);
  }
}

void SpoolMetrics::OnState(SpoolState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  if (follow_) follow_(state);
}

void SpoolMetrics::Follow(std::function<void(SpoolState)> follow) {
  const std::lock_guard lock(mutex_);
  follow_ = std::move(follow);
  follow_(state_);
}

}  // namespace sortition
