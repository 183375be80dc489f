#pragma once
// Prometheus metrics of a process. Only metrics.cc includes the
// library; everyone else sees these handles.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

using MetricLabels = std::map<std::string, std::string>;

// Handles are valid as long as their Metrics; thread-safe and cheap (~10 ns).
class MetricCounter {
 public:
  virtual ~MetricCounter() = default;
  virtual void Increment(double by = 1) = 0;
  virtual double value() const = 0;
};
class MetricGauge {
 public:
  virtual ~MetricGauge() = default;
  virtual void Set(double value) = 0;
  virtual double value() const = 0;
};
class MetricHistogram {
 public:
  virtual ~MetricHistogram() = default;
  virtual void Observe(double value) = 0;
};

// What a metric said when it was read.
struct MetricSample {
  MetricLabels labels;
  double value = 0;  // Of a histogram: the sum of what was observed.
  // Of a histogram: ascending upper bounds, and how many values each bin has;
  // the last bin, one more than there are bounds, has those beyond.
  std::vector<double> bounds;
  std::vector<uint64_t> counts;
};

// By the names of the metrics.
using MetricSamples = std::map<std::string, std::vector<MetricSample>>;

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Return the handle of a metric: the same one for the same name and labels.
  MetricCounter* Counter(const std::string& name, const std::string& help,
                         const MetricLabels& labels = {});
  MetricGauge* Gauge(const std::string& name, const std::string& help,
                     const MetricLabels& labels = {});
  // `buckets` are ascending upper bounds.
  MetricHistogram* Histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& buckets,
                             const MetricLabels& labels = {});
  // Serves the observations of a histogram of this object under another name
  // and other labels, too. To observe costs no more than before.
  void AlsoServe(MetricHistogram* histogram, const std::string& name,
                 const std::string& help, const MetricLabels& labels);
  // Remove a metric from /metrics, if it is there; its handle becomes invalid.
  void RemoveCounter(const std::string& name, const MetricLabels& labels);
  void RemoveGauge(const std::string& name, const MetricLabels& labels);
  void RemoveHistogram(const std::string& name, const MetricLabels& labels);
  // Calls `update` before every scrape, to set gauges from state held
  // elsewhere.
  void OnScrape(std::function<void()> update);

  // Returns the text that /metrics serves.
  std::string Text() const;
  // Returns the same as numbers; samples of one name ascend by their labels.
  MetricSamples Read() const;

  // Serves /metrics at "host:port"; returns the port (port 0: the one picked).
  absl::StatusOr<int> Serve(const std::string& listen);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Returns the bounds of latency buckets, from 25 µs to 5 s.
std::vector<double> LatencyBuckets();
// Returns those of probabilities.
std::vector<double> PropensityBuckets();
// Returns those of entropies, nats: up to that of 1,000 equal chances.
std::vector<double> EntropyBuckets();

}  // namespace sortition
