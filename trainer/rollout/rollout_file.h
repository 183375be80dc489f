#pragma once
// <store>/<model>/ROLLOUT.textproto: the rollout of a model, or its last one.
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/model/v1/rollout.pb.h"

namespace sortition {

// Returns nullopt where there is none. DataLoss, InvalidArgument: the file is
// not a rollout. Does not check the plan beyond the number of shares, so that a
// rollout whose plan this release refuses can still be shown and stopped.
absl::StatusOr<std::optional<model::v1::Rollout>> ReadRollout(
    const std::string& model_dir);

// Replaces the file by rename.
absl::Status WriteRollout(const std::string& model_dir,
                          const model::v1::Rollout& rollout);

// Adds a step. Of several that wait one after the other only the last stays,
// and of all steps the last 1,000.
void AddStep(const config::v1::RolloutStep& step, model::v1::Rollout* rollout);

// Lets one caller change the rollout of a model at a time.
class RolloutLock {
 public:
  // Waits. NotFound: there is no such directory.
  static absl::StatusOr<RolloutLock> Take(const std::string& model_dir);
  RolloutLock(RolloutLock&& other) noexcept;
  RolloutLock& operator=(RolloutLock&&) = delete;
  ~RolloutLock();

 private:
  explicit RolloutLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sortition
