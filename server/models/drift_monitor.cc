#include "server/models/drift_monitor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr char kGauge[] = "sortition_drift";
constexpr char kHelp[] =
    "Population stability index of a column or feature of a version: what was "
    "served in the last hour against training; those that moved most";

}  // namespace

absl::StatusOr<std::shared_ptr<DriftMonitor>> DriftMonitor::Create(
    const Schema& schema, const model::v1::LearnedFeatures& learned) {
  ASSIGN_OR_RETURN(DriftCounts empty, DriftCounts::Create(schema, learned));
  return std::shared_ptr<DriftMonitor>(new DriftMonitor(std::move(empty)));
}

void DriftMonitor::Turn(int64_t time_us) {
  if (time_us - window_start_us_ < kWindowUs) return;
  std::swap(older_, newer_);
  newer_.Reset();
  if (time_us - window_start_us_ >= 2 * kWindowUs) older_.Reset();
  window_start_us_ = time_us;
}

void DriftMonitor::Offer(const BoundColumns& columns,
                         const FeatureMatrix& features, int64_t time_us) {
  const uint64_t most_rows = std::max<uint64_t>(1, kMostOfQuery / num_counted_);
  const auto step = static_cast<uint32_t>(
      (columns.num_candidates() + most_rows - 1) / most_rows);
  const uint64_t values = (columns.num_candidates() / step) * num_counted_;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const int64_t second = time_us / 1'000'000;
  if (second != second_) counted_in_second_ = 0;
  second_ = second;
  if (counted_in_second_ + values > kMostPerSecond) return;
  counted_in_second_ += values;
  Turn(time_us);
  newer_.Add(columns, features, step);
}

std::vector<DriftFigure> DriftMonitor::TopMovers(size_t most, int64_t time_us) {
  const std::lock_guard lock(mutex_);
  Turn(time_us);
  DriftCounts both = older_;
  both.Merge(newer_);
  std::vector<DriftFigure> figures = both.TopMovers(both.num_counted());
  std::erase_if(figures, [](const DriftFigure& figure) {
    return figure.count < kFewestPerBin * figure.num_bins;
  });
  if (figures.size() > most) figures.resize(most);
  return figures;
}

void DriftGauges::Set(const std::vector<VersionDrift>& drifts) {
  std::set<MetricLabels> shown;
  for (const VersionDrift& drift : drifts) {
    for (const DriftFigure& figure : drift.figures) {
      const MetricLabels labels = {
          {"model", drift.model},
          {"version", absl::StrCat(drift.version)},
          {"kind", figure.is_feature ? "feature" : "column"},
          {"name", figure.name}};
      metrics_->Gauge(kGauge, kHelp, labels)->Set(figure.stability_index);
      shown.insert(labels);
    }
  }
  for (const MetricLabels& labels : shown_) {
    if (!shown.contains(labels)) metrics_->RemoveGauge(kGauge, labels);
  }
  shown_ = std::move(shown);
}

}  // namespace sortition
