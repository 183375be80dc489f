#include "server/status/metric_window.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "server/status/traffic_figures.h"

namespace sortition {
namespace {

const MetricSamples& NoSamples() {
  static const auto* const kNone = new MetricSamples;
  return *kNone;
}

}  // namespace

void MetricWindow::Add(int64_t steady_us, const MetricSamples& samples) {
  Entry entry = {steady_us, {}};
  for (const char* const name : kComparedMetrics) {
    const auto found = samples.find(name);
    if (found == samples.end()) continue;
    // What is missing was 0: most versions of many models never decided.
    std::copy_if(found->second.begin(), found->second.end(),
                 std::back_inserter(entry.samples[name]),
                 [](const MetricSample& sample) {
                   return sample.value != 0 || !sample.counts.empty();
                 });
  }
  entries_.push_back(std::move(entry));
  // The oldest one stays until the next one is old enough.
  while (entries_.size() > 1 &&
         entries_[1].steady_us <= steady_us - kLengthUs) {
    entries_.pop_front();
  }
}

MetricWindow::Before MetricWindow::BeforeOf(const Entry& entry,
                                            int64_t steady_us) {
  const double seconds =
      1e-6 * static_cast<double>(steady_us - entry.steady_us);
  // Two looks in the same moment say nothing of a rate.
  return {&entry.samples, std::max(seconds, 1e-3)};
}

MetricWindow::Before MetricWindow::Minute(int64_t steady_us) const {
  if (entries_.empty()) return {&NoSamples(), 1};
  return BeforeOf(entries_.front(), steady_us);
}

MetricWindow::Before MetricWindow::Last(int64_t steady_us) const {
  if (entries_.empty()) return {&NoSamples(), 1};
  return BeforeOf(entries_.back(), steady_us);
}

}  // namespace sortition
