#pragma once
// What tuples were worth, by the model and version that decided, at /metrics.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "process/metrics.h"

namespace sortition {

// Exports series of a bounded number: names come from callers (Aggregate), and
// versions from a trainer that never ends. Not thread-safe.
class ModelRewardMetrics {
 public:
  static constexpr size_t kMaxModels = 32;
  // The newest versions of a model have series of their own. The tuples of all
  // others count as version "other", those of further models as model "other".
  static constexpr size_t kMaxVersions = 4;
  // Fewest tuples of which a mean is told.
  static constexpr uint64_t kFewestTuples = 100;

  // `metrics` must outlive it.
  explicit ModelRewardMetrics(Metrics* metrics) : metrics_(metrics) {}

  // Counts a tuple that was written.
  void Add(absl::string_view model, uint64_t version, bool has_feedback,
           double reward);

 private:
  // The counts of tuples without and with feedback.
  struct Series {
    std::array<MetricCounter*, 2> tuples;
    // Of rewards that are not negative, and of those that are, apart: a counter
    // only grows.
    std::array<std::array<MetricCounter*, 2>, 2> rewards;
    std::array<MetricCounter*, 2> squares;
    void Add(bool has_feedback, double reward);
  };
  struct Version {
    Series series;
    // Number, mean, and sum of squared deviations from it, by Welford's
    // recurrence.
    uint64_t count = 0;
    double mean = 0;
    double squares = 0;
    void Add(bool has_feedback, double reward);
    double StandardError() const;
  };
  // The mean reward of a version, and its standard error.
  struct MeanGauges {
    MetricGauge* mean;
    MetricGauge* error;
    void Set(const Version& version) const;
  };
  struct Model {
    std::map<uint64_t, Version, std::greater<>> versions;  // Newest first.
    std::optional<Series> other;
    MeanGauges newest;
    std::optional<MeanGauges> previous;
  };

  Series MakeSeries(const std::string& model, const std::string& version);
  MeanGauges MakeMeanGauges(const std::string& model, const char* of);
  // Returns null where the model has no series of its own.
  Model* FindModel(absl::string_view name);
  // Returns null for a version that is older than all that have series.
  Version* FindVersion(const std::string& name, uint64_t version, Model* model);
  void RemoveSeries(const std::string& model, uint64_t version);
  void AddOther(const std::string& model, bool has_feedback, double reward,
                std::optional<Series>* other);

  Metrics* const metrics_;
  std::map<std::string, Model, std::less<>> models_;
  std::optional<Series> other_;  // Of models beyond kMaxModels.
};

}  // namespace sortition
