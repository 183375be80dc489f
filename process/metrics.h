#pragma once
// Prometheus metrics of a process. Only metrics.cc includes the
// library; everyone else sees these handles.
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
  // Calls `update` before every scrape, to set gauges from state held
  // elsewhere.
  void OnScrape(std::function<void()> update);

  // Returns the text that /metrics serves.
  std::string Text() const;

  // Serves /metrics at "host:port"; returns the port (port 0: the one picked).
  absl::StatusOr<int> Serve(const std::string& listen);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Returns the bounds of latency buckets, from 25 µs to 5 s.
std::vector<double> LatencyBuckets();

}  // namespace sortition
