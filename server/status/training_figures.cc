#include "server/status/training_figures.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "process/status/status_text.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;

constexpr char kLastStatus[] = "sortition_training_last_status";
constexpr char kLastSuccess[] =
    "sortition_training_last_success_timestamp_seconds";
constexpr char kDamaged[] = "sortition_training_damaged_records";
constexpr double kMicrosOfSecond = 1e6;

MetricLabels LabelsOf(const std::string& model, const std::string& kind) {
  return {{"model", model}, {"kind", kind}};
}

}  // namespace

void SetRuns(const std::vector<TrainingRun>& runs,
             google::protobuf::RepeatedPtrField<TrainingRun>* shown_runs) {
  for (const TrainingRun& run : runs) {
    TrainingRun& shown = *shown_runs->Add();
    shown = run;
    shown.set_kind(ShownText(run.kind()));
    shown.set_verdict(ShownText(run.verdict()));
    shown.set_next_step(ShownText(run.next_step()));
    shown.set_read(ShownText(run.read()));
    shown.set_host(ShownText(run.host()));
  }
}

void AddRunWarnings(status::v1::Status* status) {
  for (const status::v1::Model& model : status->server().models()) {
    for (const TrainingRun& run : model.runs()) {
      if (run.outcome() != TrainingRun::FAILED) continue;
      status::v1::Warning& warning = *status->add_warnings();
      warning.set_time_us(run.time_us());
      warning.set_level("error");
      warning.set_message(absl::StrCat("the last run of sortition-trainer ",
                                       run.kind(), " failed: ", run.verdict()));
      warning.set_details(absl::StrCat("model=", model.name(),
                                       " exit_status=", run.exit_status(),
                                       " next_step=", run.next_step()));
    }
  }
  std::stable_sort(
      status->mutable_warnings()->begin(), status->mutable_warnings()->end(),
      [](const auto& a, const auto& b) { return a.time_us() > b.time_us(); });
}

void TrainingMetrics::Set(const StoredModels& models) {
  std::map<Key, bool> found;
  for (const auto& [name, figures] : models) {
    for (const TrainingRun& run : figures->runs) {
      // The first run of its kind has no exit status yet.
      if (run.outcome() == TrainingRun::RUNNING) continue;
      const MetricLabels labels = LabelsOf(name, run.kind());
      metrics_
          ->Gauge(kLastStatus,
                  "Exit status of the last run of sortition-trainer: 0 done, 3 "
                  "nothing better, 4 not yet, others failed or killed",
                  labels)
          ->Set(run.exit_status());
      metrics_
          ->Gauge(kDamaged,
                  "Damaged records of the log that the last run of "
                  "sortition-trainer passed over",
                  labels)
          ->Set(static_cast<double>(run.damaged_records()));
      const bool has_succeeded = run.last_success_us() > 0;
      if (has_succeeded) {
        metrics_
            ->Gauge(kLastSuccess,
                    "Time of the last run of sortition-trainer that ended with "
                    "exit status 0 or 3, seconds since the epoch",
                    labels)
            ->Set(static_cast<double>(run.last_success_us()) / kMicrosOfSecond);
      }
      found[{name, run.kind()}] = has_succeeded;
    }
  }
  for (const auto& [key, had_success] : known_) {
    const MetricLabels labels = LabelsOf(key.first, key.second);
    const auto now = found.find(key);
    if (now == found.end()) {
      metrics_->RemoveGauge(kLastStatus, labels);
      metrics_->RemoveGauge(kDamaged, labels);
    }
    if (had_success && (now == found.end() || !now->second)) {
      metrics_->RemoveGauge(kLastSuccess, labels);
    }
  }
  known_ = std::move(found);
}

}  // namespace sortition
