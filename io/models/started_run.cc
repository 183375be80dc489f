#include "io/models/started_run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/models/store_owner.h"
#include "io/models/training_runs.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string TimeText(int64_t time_us) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot write");
    text.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace

StartedRun::StartedRun(std::string store, std::string path, int fd,
                       TrainingRun run)
    : store_(std::move(store)),
      path_(std::move(path)),
      fd_(fd),
      run_(std::move(run)) {}

StartedRun::~StartedRun() {
  const AsStoreOwner owner(store_);
  unlink(path_.c_str());
  close(fd_);
}

absl::StatusOr<std::unique_ptr<StartedRun>> StartedRun::Begin(
    const std::string& store, const std::string& model, TrainingRun run) {
  const AsStoreOwner owner(store);
  ASSIGN_OR_RETURN(const std::string dir, MakeRunsDirectory(store, model));
  RETURN_IF_ERROR(RemoveEndedRuns(store, model, run.kind()));
  run.set_outcome(TrainingRun::RUNNING);
  run.set_running_since_us(absl::ToUnixMicros(absl::Now()));
  run.set_time_us(run.running_since_us());
  run.set_pid(getpid());
  run.set_host(HostName());
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(run, &text)) {
    return absl::InternalError("the record of a run cannot be printed");
  }
  const std::string path =
      absl::StrCat(dir, "/", run.kind(), "-", run.running_since_us(), "-",
                   run.pid(), kStartedSuffix);
  // The file gets its name once it is locked: without a lock it would look like
  // that of a run that was killed.
  const std::string unnamed = absl::StrCat(path, ".tmp");
  const int fd =
      open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, unnamed, "cannot create");
  absl::Cleanup remover = [&] {
    unlink(unnamed.c_str());
    close(fd);
  };
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return PosixStatus(errno, unnamed, "cannot lock");
  }
  RETURN_IF_ERROR(WriteAll(fd, unnamed, text));
  if (rename(unnamed.c_str(), path.c_str()) != 0) {
    return PosixStatus(errno, path, "cannot rename to");
  }
  std::move(remover).Cancel();
  return std::unique_ptr<StartedRun>(
      new StartedRun(store, path, fd, std::move(run)));
}

absl::StatusOr<bool> IsUnderWay(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return PosixStatus(errno, path, "cannot lock");
}

TrainingRun KilledRun(const TrainingRun& started) {
  constexpr int kExitStatusOfError = 1;
  TrainingRun run = started;
  run.clear_running_since_us();
  run.set_outcome(TrainingRun::FAILED);
  run.set_exit_status(kExitStatusOfError);
  run.set_verdict(absl::StrCat(
      "The run that began at ", TimeText(started.running_since_us()),
      " (process ", started.pid(), " on ", started.host(),
      ") ended without a result: its process was killed, for example by a "
      "signal or because memory was short."));
  run.set_next_step(
      "Look for the reason in the log of the trainer and of the kernel. If "
      "memory was short, lower memory_mb or give the trainer more.");
  return run;
}

}  // namespace sortition
