#pragma once
// The results of the last runs of the trainer, beside the model's versions. The
// trainer writes the result at the end of every run, and servers show it. Of a
// run under way there is another record (started_run.h).
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/model/v1/training.pb.h"

namespace sortition {

// Replaces the record of the last run of `run.kind` in
// <store>/<model>/.runs/<kind>.textproto, and sets its last_success_us.
// Requires a valid model name and kind. An error if the store is not there or
// cannot be written.
absl::Status WriteTrainingRun(const std::string& store,
                              const std::string& model,
                              model::v1::TrainingRun run);

// Returns the folder of the records of a model, and creates it and the folder
// of the model. An error if the store does not exist or cannot be written.
absl::StatusOr<std::string> MakeRunsDirectory(const std::string& store,
                                              const std::string& model);

// Turns the records of runs of `kind` that were killed into their results, for
// the next run of that kind. Requires a valid model name.
absl::Status RemoveEndedRuns(const std::string& store, const std::string& model,
                             const std::string& kind);

// Returns the last run of each kind, ascending by kind; nothing where there is
// no record. A run that was killed is FAILED, unless another run of its kind
// that began later has ended. If a run is under way, running_since_us is set.
// A record that cannot be read is left out and named in `problem`, unless that
// is null.
std::vector<model::v1::TrainingRun> ReadTrainingRuns(const std::string& store,
                                                     const std::string& model,
                                                     std::string* problem);

// Returns whether the run did what it is for, or decided that nothing is to be
// done: it needs nobody.
bool IsSuccess(const model::v1::TrainingRun& run);

}  // namespace sortition
