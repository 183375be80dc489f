#pragma once
// Whether what a version serves still looks like what its training saw: the
// gauges sortition_drift{model, version, kind, name}.
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/drift/drift.h"
#include "process/metrics.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Of one version with a schema. Thread-safe.
class DriftMonitor {
 public:
  // A window is between one and two of these long.
  static constexpr int64_t kWindowUs = int64_t{1800} * 1'000'000;
  // Values of columns and features, some 15 ns each: of all queries of a
  // second, and of one, which must not hold up its caller. Of a larger one only
  // some candidates count.
  static constexpr uint64_t kMostPerSecond = 200'000;
  static constexpr uint64_t kMostOfQuery = 30'000;
  // Fewer values a bin say nothing: by chance alone the index is about
  // bins / values.
  static constexpr uint64_t kFewestPerBin = 50;

  // InvalidArgument as DriftCounts::Create().
  static absl::StatusOr<std::shared_ptr<DriftMonitor>> Create(
      const Schema& schema, const model::v1::LearnedFeatures& learned);

  // Counts a query, unless another thread is counting or there were enough in
  // this second: never waits. The columns are bound to the
  // schema, and the features are what the version makes of them.
  void Offer(const BoundColumns& columns, const FeatureMatrix& features,
             int64_t time_us);

  // Returns the columns and features that moved most, at most `most`.
  std::vector<DriftFigure> TopMovers(size_t most, int64_t time_us);

 private:
  explicit DriftMonitor(DriftCounts empty)
      : num_counted_(empty.num_counted()),
        older_(empty),
        newer_(std::move(empty)) {}

  // Begins a new window if it is time.
  void Turn(int64_t time_us);

  const uint64_t num_counted_;  // Columns and features.
  std::mutex mutex_;
  DriftCounts older_;
  DriftCounts newer_;
  int64_t window_start_us_ = 0;
  int64_t second_ = 0;
  uint64_t counted_in_second_ = 0;
};

// What one version has to show.
struct VersionDrift {
  std::string model;
  uint64_t version = 0;
  std::vector<DriftFigure> figures;
};

// The gauges. Not thread-safe.
class DriftGauges {
 public:
  explicit DriftGauges(Metrics* metrics) : metrics_(metrics) {}

  // Shows these figures, and no others any more.
  void Set(const std::vector<VersionDrift>& drifts);

 private:
  Metrics* const metrics_;
  std::set<MetricLabels> shown_;
};

}  // namespace sortition
