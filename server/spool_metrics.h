#pragma once
// What operators see of the spool: metrics and log lines.
#include <functional>
#include <mutex>

#include "io/spool/spool_writer.h"
#include "process/metrics.h"

namespace sortition {

class SpoolMetrics final : public SpoolObserver {
 public:
  // `metrics` must outlive it.
  explicit SpoolMetrics(Metrics* metrics);

  // Exports the counts of `spool`, which must outlive `metrics`' scrapes.
  void Export(const SpoolWriter* spool);

  void OnAppend(double seconds) override { append_->Observe(seconds); }
  void OnSync(double seconds) override { sync_->Observe(seconds); }
  void OnEvent(const SpoolEvent& event) override;
  void OnState(SpoolState state) override;

  // Calls `follow` with the present state, and after each change.
  void Follow(std::function<void(SpoolState)> follow);

 private:
  Metrics* const metrics_;
  MetricHistogram* const append_;
  MetricHistogram* const sync_;
  std::mutex mutex_;
  std::function<void(SpoolState)> follow_;  // Guarded by `mutex_`.
  SpoolState state_ = SpoolState::kOk;      // Guarded by `mutex_`.
};

}  // namespace sortition
