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

// Number of runs of one kind that are kept besides the last one.
inline constexpr int kMaxEarlierRuns = 4;

// Replaces the record of the last run of `run.kind` in
// <store>/<model>/.runs/<kind>.textproto, sets its last_success_us, and moves
// the run that was the last one into <kind>.earlier. Requires a valid model
// name and kind. An error if the store is not there or cannot be written. Of
// two runs of one kind that end at the same moment, the list of earlier runs
// may lose one.
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

// Returns the runs before those, latest first, at most kMaxEarlierRuns of each
// kind. A file that cannot be read counts as absent.
std::vector<model::v1::TrainingRun> ReadEarlierRuns(const std::string& store,
                                                    const std::string& model);

// Returns whether the run did what it is for, or decided that nothing is to be
// done: it needs nobody.
bool IsSuccess(const model::v1::TrainingRun& run);

}  // namespace sortition
