#pragma once
// When a quickstart trains, and what came of it.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/quickstart/child_program.h"

namespace sortition {

// The state of the tuples, by which new ones are noticed: the size of all
// segments, and the last write.
struct TupleState {
  uint64_t bytes = 0;
  std::filesystem::file_time_type newest =
      std::filesystem::file_time_type::min();
  friend bool operator==(const TupleState&, const TupleState&) = default;
};

// Not thread-safe.
class TrainingSchedule {
 public:
  struct Options {
    std::string program;       // Path of sortition-trainer.
    std::string dir;           // The folder.
    double every_seconds = 0;  // 0: never.
  };

  explicit TrainingSchedule(Options options) : options_(std::move(options)) {}

  // Begins a training if none runs, there are tuples that the last one did not
  // have, and that one began long enough before `now_seconds`, of a clock that
  // is never set. Returns a sentence about one that has ended; empty: none has.
  absl::StatusOr<std::string> Poll(double now_seconds);

  // Ends the training that runs.
  void End(double patience_seconds);

 private:
  const Options options_;
  std::unique_ptr<ChildProgram> training_;  // Null: none runs.
  double began_seconds_ = 0;                // The last one.
  double due_seconds_ = 0;                  // Before it, none begins.
  TupleState trained_;                      // Tuples that the last one had.
};

// What it means that a training ended with `exit_code`, for people.
std::string TrainingText(int exit_code, const std::string& last_line);

}  // namespace sortition
