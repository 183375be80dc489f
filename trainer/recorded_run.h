#pragma once
// Records in the store what came of a run, so that servers can show it.
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/model/v1/training.pb.h"

namespace sortition {

// Which run it is, and where it is recorded.
struct RunSubject {
  std::string kind;   // "train", "rollout" or "prune"
  std::string store;  // The model store …
  std::string model;  // … and the model.
  std::string read;   // What the run reads, for people.
  // Returns whether a record may create the folder of the model in the store:
  // false for a name that is probably misspelt. Called only if the folder does
  // not exist. Null: it may.
  std::function<bool()> may_create_folder = nullptr;
};

// Runs `run`, which may set verdict, next step and version of the record, and
// writes the record, whatever comes of the run: an error is the verdict, and an
// exception becomes the error Internal. During the run the store records that
// it is under way, so that servers notice if the process is killed. A record
// that cannot be written is a warning. Returns what `run` returns.
absl::Status RunAndRecord(
    const RunSubject& subject, CommandOutput* output,
    const std::function<absl::Status(model::v1::TrainingRun*)>& run);

}  // namespace sortition
