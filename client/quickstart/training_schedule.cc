#include "client/quickstart/training_schedule.h"

#include "absl/strings/str_cat.h"
#include "client/quickstart/folder.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "process/command.h"

namespace sortition {
namespace {

bool HasTuples(const std::string& dir) {
  const auto segments = ListSegments(dir + "/tuples");
  return segments.ok() && !segments->empty();
}

}  // namespace

absl::StatusOr<std::string> TrainingSchedule::Poll(double now_seconds) {
  if (training_ != nullptr) {
    const std::optional<int> exit_code = training_->Poll();
    if (!exit_code.has_value()) return "";
    std::string text = TrainingText(*exit_code, training_->LastLine());
    training_.reset();
    return text;
  }
  const bool is_due = !began_seconds_.has_value() ||
                      now_seconds >= *began_seconds_ + options_.every_seconds;
  if (options_.every_seconds <= 0 || !is_due || !HasTuples(options_.dir)) {
    return "";
  }
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
      return "training: the gate said no, nothing was published";
    default:
      return absl::StrCat("training: no version (exit status ", exit_code,
                          "): ", last_line);
  }
}

}  // namespace sortition
