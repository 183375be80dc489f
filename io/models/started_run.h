#pragma once
// The record of a run of the trainer while the run is under way, so that a run
// that is killed is not forgotten.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/training.pb.h"

namespace sortition {

// Suffix of the records of runs under way, in the folder .runs of a model.
inline constexpr char kStartedSuffix[] = ".started";

// A record that exists as long as this object does. It is a file that this
// process keeps locked (flock). The kernel releases the lock when the process
// ends, however it ends, so that readers in other processes and containers can
// tell a run under way from one that was killed. Not thread-safe.
class StartedRun {
 public:
  // Records in <store>/<model>/.runs that a run of `run.kind` begins now; time,
  // process and host are filled in. Records of runs of this kind that were
  // killed are turned into results first (RemoveEndedRuns()). Requires a valid
  // model name and that the folder of the model exists. An error if the folder
  // cannot be written or its file system has no locks.
  static absl::StatusOr<std::unique_ptr<StartedRun>> Begin(
      const std::string& store, const std::string& model,
      model::v1::TrainingRun run);

  // Removes the record.
  ~StartedRun();
  StartedRun(const StartedRun&) = delete;
  StartedRun& operator=(const StartedRun&) = delete;

  const model::v1::TrainingRun& run() const { return run_; }

 private:
  StartedRun(std::string store, std::string path, int fd,
             model::v1::TrainingRun run);

  const std::string store_;
  const std::string path_;
  const int fd_;
  const model::v1::TrainingRun run_;
};

// Returns whether a process keeps the record at `path` locked. NotFound if the
// file does not exist any more.
absl::StatusOr<bool> IsUnderWay(const std::string& path);

// Returns the result of a run that began as `started` says and whose process is
// gone: FAILED, with the start as its time.
model::v1::TrainingRun KilledRun(const model::v1::TrainingRun& started);

}  // namespace sortition
