#include "client/quickstart/training_schedule.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/quickstart/folder.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "process/command.h"

namespace sortition {
namespace {

// Time between two trainings, as a multiple of the duration of the first.
constexpr double kPausePerTraining = 4;

// Returns what the tuples are that there are now.
TupleState StateOf(const std::string& dir) {
  TupleState state;
  const auto segments = ListSegments(dir + "/tuples");
  if (!segments.ok()) return state;
  for (const std::string& segment : *segments) {
    const std::filesystem::path path = dir + "/tuples/" + segment;
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    if (error) continue;
    state.newest = std::max(state.newest, time);
    const auto size = std::filesystem::file_size(path, error);
    if (!error) state.bytes += size;
  }
  return state;
}

}  // namespace

absl::StatusOr<std::string> TrainingSchedule::Poll(double now_seconds) {
  if (training_ != nullptr) {
    const std::optional<int> exit_code = training_->Poll();
    if (!exit_code.has_value()) return "";
    // Training on a long log takes a while: it leaves the processors to
    // the others for longer.
    due_seconds_ =
        began_seconds_ +
        std::max(options_.every_seconds,
                 (1 + kPausePerTraining) * (now_seconds - began_seconds_));
    std::string text = TrainingText(*exit_code, training_->LastLine());
    training_.reset();
    return text;
  }
  if (options_.every_seconds <= 0 || now_seconds < due_seconds_) return "";
  const TupleState state = StateOf(options_.dir);
  if (state == trained_) return "";
  trained_ = state;
  began_seconds_ = now_seconds;
  ASSIGN_OR_RETURN(
      training_,
      ChildProgram::Start(options_.program,
                          {"train", absl::StrCat("--config=", options_.dir, "/",
                                                 kTrainerOptions)},
                          options_.dir + "/logs/trainer.log"));
  return "";
}

void TrainingSchedule::End(double patience_seconds) {
  if (training_ != nullptr) training_->End(patience_seconds);
  training_.reset();
}

std::string TrainingText(int exit_code, const std::string& last_line) {
  switch (exit_code) {
    case kExitOk:
      return "training: a better version was published";
    case kExitGateSaysNo:
      return absl::StrCat("training: nothing better: ", last_line);
    case kExitNotYet:
      return absl::StrCat("training: not yet: ", last_line);
    default:
      return absl::StrCat("training FAILED with exit status ", exit_code, ": ",
                          last_line);
  }
}

}  // namespace sortition
