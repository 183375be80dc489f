#pragma once
// The metrics of shadows.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "process/metrics.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// CountDropped() is thread-safe; the others are for one thread.
class ShadowMetrics {
 public:
  // `metrics` must outlive it.
  explicit ShadowMetrics(Metrics* metrics);

  // Counts a view that was logged. `agrees`: its mode is what was served.
  void CountView(const log::v1::ShadowView& view, bool agrees);
  void CountDropped(uint64_t views);
  double dropped() const { return dropped_->value(); }

 private:
  struct OfVersion {
    MetricCounter* views = nullptr;
    MetricCounter* agreements = nullptr;
    MetricHistogram* propensities = nullptr;
  };

  Metrics* const metrics_;
  MetricCounter* const dropped_;
  std::map<std::pair<std::string, uint64_t>, OfVersion> versions_;
};

}  // namespace sortition
