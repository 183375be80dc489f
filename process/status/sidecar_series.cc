#include "process/status/sidecar_series.h"

#include <algorithm>

namespace sortition {
namespace {

void AddReward(const status::v1::Worth& worth, HistorySample* sample) {
  if (worth.tuples() == 0) return;
  const status::v1::Estimate& reward = worth.reward();
  SeriesValue value = {.value = reward.value()};
  if (reward.confidence() > 0) {
    value.lower = reward.lower();
    value.upper = reward.upper();
  }
  (*sample)[{"reward",
             {{"model", worth.model()}, {"version", worth.version()}}}] = value;
}

}  // namespace

void AddSidecarSeries(const status::v1::Sidecar& sidecar, int64_t now_us,
                      HistorySample* sample) {
  const auto add = [sample](const char* name, const char* unit, double value) {
    (*sample)[{name, {}, unit}] = {.value = value};
  };
  add("pending", "1", static_cast<double>(sidecar.pending()));
  add("lag_bytes", "bytes", static_cast<double>(sidecar.lag_bytes()));
  // 0 until the first record is read.
  if (sidecar.watermark_us() > 0) {
    add("lag_seconds", "s",
        std::max(0.0,
                 1e-6 * static_cast<double>(now_us - sidecar.watermark_us())));
  }
  const int num_worths = std::min(sidecar.worths_size(), kMaxWorthSeries);
  for (int i = 0; i < num_worths; ++i) AddReward(sidecar.worths(i), sample);
}

}  // namespace sortition
