#include "trainer/recorded_run.h"

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "io/models/model_store.h"
#include "io/models/started_run.h"
#include "io/models/training_runs.h"
#include "process/log.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;

constexpr char kWhyNothing[] = "docs/howto/why_was_nothing_published.md";

// What somebody can do about an error.
std::string NextStep(const absl::Status& status) {
  if (IsNotYetError(status)) return "";
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "Change the option or the file that the message names.";
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnavailable:
      return "Let the trainer reach the file that the message names.";
    case absl::StatusCode::kResourceExhausted:
      return "Give the trainer more memory or disk, or lower memory_mb.";
    default:
      return absl::StrCat("See ", kWhyNothing, ".");
  }
}

TrainingRun::Outcome OutcomeOf(int exit_status) {
  switch (exit_status) {
    case kExitOk:
      return TrainingRun::DONE;
    case kExitGateSaysNo:
      return TrainingRun::NOTHING_BETTER;
    case kExitNotYet:
      return TrainingRun::NOT_YET;
    default:
      return TrainingRun::FAILED;
  }
}

absl::Status CatchAll(const std::function<absl::Status(TrainingRun*)>& run,
                      TrainingRun* record) {
  // Third-party code throws, for example where memory is short.
  try {
    return run(record);
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("the run ended with an exception: ", error.what()));
  }
}

bool HasFolder(const RunSubject& subject) {
  std::error_code error;
  return std::filesystem::exists(
      absl::StrCat(subject.store, "/", subject.model), error);
}

}  // namespace

absl::Status RunAndRecord(
    const RunSubject& subject, CommandOutput* output,
    const std::function<absl::Status(TrainingRun*)>& run) {
  const auto start = std::chrono::steady_clock::now();
  TrainingRun record;
  if (subject.store.empty() || !ValidateModelName(subject.model).ok()) {
    return CatchAll(run, &record);
  }
  const bool may_create = HasFolder(subject) ||
                          subject.may_create_folder == nullptr ||
                          subject.may_create_folder();
  TrainingRun begun;
  begun.set_kind(subject.kind);
  begun.set_read(subject.read);
  // If the store cannot be written, the warning comes at the end of the run.
  absl::StatusOr<std::unique_ptr<StartedRun>> started =
      absl::CancelledError("the folder of the model does not exist");
  if (may_create) {
    started = StartedRun::Begin(subject.store, subject.model, begun);
  }
  const absl::Status status = CatchAll(run, &record);
  // The run may have published the first version.
  if (!may_create && !HasFolder(subject)) return status;
  record.set_kind(subject.kind);
  record.set_read(subject.read);
  if (started.ok()) {
    record.set_pid((*started)->run().pid());
    record.set_host((*started)->run().host());
  }
  record.set_time_us(absl::ToUnixMicros(absl::Now()));
  record.set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  record.set_exit_status(ExitCodeOf(status, *output));
  record.set_outcome(OutcomeOf(record.exit_status()));
  if (!status.ok()) {
    record.set_verdict(std::string(status.message()));
    record.set_next_step(NextStep(status));
  }
  const absl::Status written =
      WriteTrainingRun(subject.store, subject.model, record);
  if (!written.ok()) {
    LogWarning("the record of this run could not be written",
               {{"error", std::string(written.message())}});
  }
  return status;
}

}  // namespace sortition
