#include "process/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/base/status_macros.h"
#include "process/http/page_server.h"
#include "process/log.h"
#include "process/process_stats.h"
#include "process/version.h"

namespace sortition {
namespace {

class CounterHandle final : public MetricCounter {
 public:
  explicit CounterHandle(prometheus::Counter* counter) : counter_(counter) {}
  void Increment(double by) override { counter_->Increment(by); }
  double value() const override { return counter_->Value(); }

 private:
  prometheus::Counter* counter_;
};

class GaugeHandle final : public MetricGauge {
 public:
  explicit GaugeHandle(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_->Set(value); }
  double value() const override { return gauge_->Value(); }

 private:
  prometheus::Gauge* gauge_;
};

class HistogramHandle final : public MetricHistogram {
 public:
  explicit HistogramHandle(prometheus::Histogram* histogram)
      : histogram_(histogram) {}
  void Observe(double value) override { histogram_->Observe(value); }
  prometheus::Histogram* histogram() const { return histogram_; }

 private:
  prometheus::Histogram* histogram_;
};

void ReadHistogram(const prometheus::ClientMetric::Histogram& histogram,
                   MetricSample* sample) {
  sample->value = histogram.sample_sum;
  uint64_t before = 0;
  for (const auto& bucket : histogram.bucket) {
    if (std::isfinite(bucket.upper_bound)) {
      sample->bounds.push_back(bucket.upper_bound);
    }
    sample->counts.push_back(bucket.cumulative_count - before);
    before = bucket.cumulative_count;
  }
}

MetricSample ReadMetric(const prometheus::ClientMetric& metric,
                        prometheus::MetricType type) {
  MetricSample sample;
  for (const auto& label : metric.label)
    sample.labels[label.name] = label.value;
  if (type == prometheus::MetricType::Histogram) {
    ReadHistogram(metric.histogram, &sample);
  } else {
    sample.value = type == prometheus::MetricType::Counter
                       ? metric.counter.value
                       : metric.gauge.value;
  }
  return sample;
}

// A histogram under its second name.
struct SecondName {
  prometheus::Histogram* histogram;
  std::string name;
  std::string help;
  MetricLabels labels;

  // Appends it to the family of its name.
  void AppendTo(std::vector<prometheus::MetricFamily>* families) const {
    auto family = std::find_if(families->begin(), families->end(),
                               [&](const prometheus::MetricFamily& each) {
                                 return each.name == name;
                               });
    if (family == families->end()) {
      family = families->insert(
          family, {name, help, prometheus::MetricType::Histogram, {}});
    }
    prometheus::ClientMetric metric = histogram->Collect();
    for (const auto& [label, value] : labels) {
      metric.label.push_back({label, value});
    }
    family->metric.push_back(std::move(metric));
  }
};

// Runs the updates of OnScrape() before the registry is read.
class Scraped final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::lock_guard lock(mutex_);
    for (const auto& update : updates_) update();
    std::vector<prometheus::MetricFamily> families = registry.Collect();
    for (const SecondName& second : second_names_) second.AppendTo(&families);
    return families;
  }

  void Add(std::function<void()> update) {
    std::lock_guard lock(mutex_);
    updates_.push_back(std::move(update));
  }
  void Add(SecondName second) {
    std::lock_guard lock(mutex_);
    second_names_.push_back(std::move(second));
  }

  prometheus::Registry registry;

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void()>> updates_;
  std::vector<SecondName> second_names_;
};

}  // namespace

struct Metrics::Rep {
  std::shared_ptr<Scraped> scraped = std::make_shared<Scraped>();
  std::mutex mutex;
  // Keyed by the library's own object, which is the same for the same name and
  // labels.
  std::unordered_map<const void*, std::unique_ptr<MetricCounter>> counters;
  std::unordered_map<const void*, std::unique_ptr<MetricGauge>> gauges;
  std::unordered_map<const void*, std::unique_ptr<MetricHistogram>> histograms;
  std::unique_ptr<PageServer> server;  // Last, so that it stops first.

  template <typename Handle, typename Map, typename Metric>
  auto* HandleOf(Map* handles, Metric* metric) {
    std::lock_guard lock(mutex);
    auto& handle = (*handles)[metric];
    if (handle == nullptr) handle = std::make_unique<Handle>(metric);
    return handle.get();
  }

  // `parts` are what a metric is made of, besides its labels.
  template <typename Map, typename Metric, typename... Parts>
  void Remove(Map* handles, prometheus::Family<Metric>* family,
              const MetricLabels& labels, const Parts&... parts) {
    if (!family->Has(labels)) return;
    std::lock_guard lock(mutex);
    Metric* const metric = &family->Add(labels, parts...);
    handles->erase(metric);
    family->Remove(metric);
  }
};

Metrics::Metrics() : rep_(std::make_unique<Rep>()) {
  Gauge("sortition_build_info", "Always 1; the label says what runs",
        {{"version", std::string(Version())}})
      ->Set(1);
  MetricGauge* start = Gauge("process_start_time_seconds",
                             "Start of the process, seconds since the epoch");
  MetricCounter* cpu =
      Counter("process_cpu_seconds_total", "User and system CPU time, seconds");
  MetricGauge* resident =
      Gauge("process_resident_memory_bytes", "Resident memory, bytes");
  MetricGauge* virtual_memory =
      Gauge("process_virtual_memory_bytes", "Virtual memory, bytes");
  MetricGauge* open = Gauge("process_open_fds", "Open file descriptors");
  MetricGauge* max = Gauge("process_max_fds", "Limit of file descriptors");
  MetricGauge* threads = Gauge("process_threads", "Threads");
  MetricCounter* dropped =
      Counter("sortition_log_lines_dropped_total",
              "Log lines that were not written, because the reader of standard "
              "error had stopped");
  OnScrape([=] {
    dropped->Increment(static_cast<double>(NumLogLinesDropped()) -
                       dropped->value());
    const internal::ProcessStats stats = internal::ReadProcessStats();
    start->Set(stats.start_time_seconds);
    cpu->Increment(stats.cpu_seconds - cpu->value());
    resident->Set(stats.resident_bytes);
    virtual_memory->Set(stats.virtual_bytes);
    open->Set(stats.open_descriptors);
    max->Set(stats.max_descriptors);
    threads->Set(stats.threads);
  });
}

Metrics::~Metrics() = default;

MetricCounter* Metrics::Counter(const std::string& name,
                                const std::string& help,
                                const MetricLabels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(
      rep_->scraped->registry);
  return rep_->HandleOf<CounterHandle>(&rep_->counters, &family.Add(labels));
}

MetricGauge* Metrics::Gauge(const std::string& name, const std::string& help,
                            const MetricLabels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(
      rep_->scraped->registry);
  return rep_->HandleOf<GaugeHandle>(&rep_->gauges, &family.Add(labels));
}

MetricHistogram* Metrics::Histogram(const std::string& name,
                                    const std::string& help,
                                    const std::vector<double>& buckets,
                                    const MetricLabels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(
      rep_->scraped->registry);
  return rep_->HandleOf<HistogramHandle>(&rep_->histograms,
                                         &family.Add(labels, buckets));
}

void Metrics::AlsoServe(MetricHistogram* histogram, const std::string& name,
                        const std::string& help, const MetricLabels& labels) {
  auto* const handle = static_cast<HistogramHandle*>(histogram);
  rep_->scraped->Add(SecondName{handle->histogram(), name, help, labels});
}

void Metrics::RemoveCounter(const std::string& name,
                            const MetricLabels& labels) {
  auto& family =
      prometheus::BuildCounter().Name(name).Register(rep_->scraped->registry);
  rep_->Remove(&rep_->counters, &family, labels);
}

void Metrics::RemoveGauge(const std::string& name, const MetricLabels& labels) {
  auto& family =
      prometheus::BuildGauge().Name(name).Register(rep_->scraped->registry);
  rep_->Remove(&rep_->gauges, &family, labels);
}

void Metrics::RemoveHistogram(const std::string& name,
                              const MetricLabels& labels) {
  auto& family =
      prometheus::BuildHistogram().Name(name).Register(rep_->scraped->registry);
  rep_->Remove(&rep_->histograms, &family, labels, std::vector<double>());
}

void Metrics::OnScrape(std::function<void()> update) {
  rep_->scraped->Add(std::move(update));
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(rep_->scraped->Collect());
}

MetricSamples Metrics::Read() const {
  MetricSamples samples;
  for (const prometheus::MetricFamily& family : rep_->scraped->Collect()) {
    std::vector<MetricSample>& of = samples[family.name];
    for (const prometheus::ClientMetric& metric : family.metric) {
      of.push_back(ReadMetric(metric, family.type));
    }
    std::sort(of.begin(), of.end(),
              [](const MetricSample& a, const MetricSample& b) {
                return a.labels < b.labels;
              });
  }
  return samples;
}

absl::StatusOr<int> Metrics::Serve(const std::string& listen) {
  ASSIGN_OR_RETURN(
      rep_->server,
      PageServer::Open("metrics_listen", listen,
                       {.path = "/metrics",
                        .content_type = "text/plain; version=0.0.4; "
                                        "charset=utf-8",
                        .make = [this] { return Text(); }}));
  return rep_->server->port();
}

std::vector<double> LatencyBuckets() {
  return {25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3,
          25e-3, 50e-3, 0.1,    0.25,   0.5,    1,    2.5,    5};
}

std::vector<double> PropensityBuckets() {
  return {1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3,
          0.4,  0.5,  0.6,  0.7,  0.8,  0.9, 0.99};
}

std::vector<double> EntropyBuckets() {
  return {0.01, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 7};
}

}  // namespace sortition
