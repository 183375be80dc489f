#pragma once
// What each loaded version answered: sortition_version_answers_total{model,
// version, code} and, by model and version, sortition_version_seconds_total,
// sortition_version_abstentions_total, sortition_version_propensity and
// sortition_version_entropy_nats.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "process/metrics.h"

namespace sortition {

// The counters of one version. Thread-safe. The functions that count take no
// lock; those that observe take the lock of their histogram.
class VersionCounters {
 public:
  // Counts an answer that took so long; of codes that decisions seldom have,
  // the label is OTHER.
  void Count(absl::StatusCode code, double seconds) const;

  // Counts a choice of no candidate that the version made alone, as are those
  // that the next two observe.
  void CountAbstention() const;
  // Observes the probability of what was selected or placed first.
  void ObservePropensity(double propensity) const;
  // Observes the entropy of that choice, nats.
  void ObserveEntropy(double entropy) const;

 private:
  friend class VersionCounterTable;
  static constexpr size_t kCodes = 5;

  std::array<MetricCounter*, kCodes> answers_ = {};
  MetricCounter* seconds_ = nullptr;
  MetricCounter* abstentions_ = nullptr;
  MetricHistogram* propensities_ = nullptr;
  MetricHistogram* entropies_ = nullptr;
};

// There are series only of versions that somebody holds: their number is
// bounded by that of loaded versions. Thread-safe.
class VersionCounterTable {
 public:
  // `metrics` must outlive the table, unless that was detached, and not the
  // counters.
  explicit VersionCounterTable(Metrics* metrics);
  ~VersionCounterTable();  // Detach()
  VersionCounterTable(const VersionCounterTable&) = delete;
  VersionCounterTable& operator=(const VersionCounterTable&) = delete;

  // From now on counters neither come to the metrics nor leave them.
  void Detach() const;

  // Returns the counters of a version, the same as long as somebody holds them.
  // They leave the metrics with the last holder.
  std::shared_ptr<const VersionCounters> For(const std::string& model,
                                             uint64_t version) const;

 private:
  struct Entry {
    std::weak_ptr<VersionCounters> newest;
    int num_alive = 0;  // With those that nobody holds but have not left yet.
  };
  struct Shared {
    std::mutex mutex;
    Metrics* metrics = nullptr;  // Null: the table is gone.
    std::map<std::pair<std::string, uint64_t>, Entry> counters;
  };
  // Brings the series of a version to the metrics, or takes them away. Both
  // require `mutex`.
  static void Add(const std::string& model, uint64_t version, Metrics* metrics,
                  VersionCounters* counters);
  static void Remove(const std::string& model, uint64_t version,
                     Metrics* metrics);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace sortition
