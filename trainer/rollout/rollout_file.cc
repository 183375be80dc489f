#include "trainer/rollout/rollout_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "io/models/regular_file.h"
#include "io/models/store_owner.h"
#include "io/models/text_message.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

using model::v1::Rollout;

constexpr uint64_t kMaxBytes = 16 << 20;
constexpr int kKeptSteps = 1000;
constexpr char kWait[] = "WAIT";

std::string PathOf(const std::string& model_dir) {
  return absl::StrCat(model_dir, "/ROLLOUT.textproto");
}

absl::Status CheckRollout(const Rollout& rollout) {
  if (rollout.canary_version() == 0 || rollout.stable_version() == 0 ||
      rollout.canary_version() == rollout.stable_version()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "canary_version = ", rollout.canary_version(), ", stable_version = ",
        rollout.stable_version(), ": must be the numbers of two versions"));
  }
  if (rollout.stage() >= static_cast<uint32_t>(rollout.plan().shares_size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "stage = ", rollout.stage(), ": must be below ",
        rollout.plan().shares_size(), ", the number of plan.shares"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Rollout>> ReadRollout(
    const std::string& model_dir) {
  const std::string path = PathOf(model_dir);
  const auto text = ReadRegularFile(path, kMaxBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  RETURN_IF_ERROR(text.status());
  Rollout rollout;
  RETURN_IF_ERROR(ParseTextMessage(path, "a rollout", *text, &rollout));
  if (const absl::Status status = CheckRollout(rollout); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.message()));
  }
  return rollout;
}

absl::Status WriteRollout(const std::string& model_dir,
                          const Rollout& rollout) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(rollout, &text);
  const AsStoreOwner owner(model_dir);
  return WriteFile(PathOf(model_dir), text);
}

void AddStep(const config::v1::RolloutStep& step, Rollout* rollout) {
  auto& steps = *rollout->mutable_steps();
  if (!steps.empty() && step.action() == kWait &&
      steps.rbegin()->action() == kWait) {
    *steps.rbegin() = step;
    return;
  }
  *steps.Add() = step;
  if (steps.size() > kKeptSteps) steps.DeleteSubrange(0, 1);
}

absl::StatusOr<RolloutLock> RolloutLock::Take(const std::string& model_dir) {
  const AsStoreOwner owner(model_dir);
  const std::string path = absl::StrCat(model_dir, "/.rollout.lock");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  RolloutLock lock(fd);
  if (flock(fd, LOCK_EX) != 0) return PosixStatus(errno, path, "cannot lock");
  return lock;
}

RolloutLock::RolloutLock(RolloutLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

RolloutLock::~RolloutLock() {
  if (fd_ >= 0) close(fd_);  // Unlocks.
}

}  // namespace sortition
