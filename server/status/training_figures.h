#pragma once
// The results of the last runs of the trainer, as figures of status.proto, as
// warnings, and as metrics.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "process/metrics.h"
#include "server/status/store_figures.h"
#include "sortition/model/v1/training.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Adds the runs to those of a model that are shown.
void SetRuns(
    const std::vector<model::v1::TrainingRun>& runs,
    google::protobuf::RepeatedPtrField<model::v1::TrainingRun>* shown_runs);

// Adds an error to the warnings of `status` for each model and kind of run of
// which the last one failed, before those that were logged earlier.
void AddRunWarnings(status::v1::Status* status);

// Keeps, for each model and kind of run, when the last one succeeded and with
// which exit status the last one ended. Not thread-safe.
class TrainingMetrics {
 public:
  // `metrics` must outlive it.
  explicit TrainingMetrics(Metrics* metrics) : metrics_(metrics) {}

  // Sets the metrics to what the store has; those of models and kinds that it
  // has no longer go.
  void Set(const StoredModels& models);

 private:
  using Key = std::pair<std::string, std::string>;  // Model and kind.

  Metrics* const metrics_;
  std::map<Key, bool> known_;  // To whether there was a success.
};

}  // namespace sortition
