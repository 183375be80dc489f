#include "server/status/sidecar_figures.h"

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "process/http/http_get.h"
#include "process/status/status_text.h"

namespace sortition {
namespace {

constexpr HttpGetLimits kLimits = {.time = std::chrono::seconds(1),
                                   .bytes = size_t{1} << 20};
// More than a sidecar ever has (Worths).
constexpr int kMostWorths = 256;
constexpr int kMostBins = 64;
constexpr size_t kMostBytes = 1000;  // Of a text.

bool IsTooLarge(const status::v1::Sidecar& sidecar) {
  if (sidecar.worths_size() > kMostWorths ||
      sidecar.problem().size() > kMostBytes ||
      sidecar.tuple_dir().size() > kMostBytes) {
    return true;
  }
  for (const status::v1::Worth& worth : sidecar.worths()) {
    if (worth.propensities().bounds_size() > kMostBins ||
        worth.propensities().counts_size() > kMostBins ||
        worth.model().size() > kMostBytes ||
        worth.version().size() > kMostBytes) {
      return true;
    }
  }
  return false;
}

// Returns the name of a figure that no sidecar can have; empty: there is none.
std::string WrongFigure(const status::v1::Sidecar& sidecar) {
  if (!std::isfinite(sidecar.mean_reward_wait_seconds())) {
    return "mean_reward_wait_seconds";
  }
  for (const status::v1::Worth& worth : sidecar.worths()) {
    const status::v1::Estimate& reward = worth.reward();
    if (!std::isfinite(reward.value()) || !std::isfinite(reward.lower()) ||
        !std::isfinite(reward.upper()) || reward.lower() > reward.upper() ||
        !(reward.confidence() >= 0 && reward.confidence() < 1)) {
      return "worths.reward";
    }
    if (!std::isfinite(worth.smallest_reward()) ||
        !std::isfinite(worth.largest_reward())) {
      return "worths.smallest_reward";
    }
    if (!std::isfinite(worth.effective_sample_size()) ||
        worth.effective_sample_size() < 0) {
      return "worths.effective_sample_size";
    }
    // NaN: no tuple tells it.
    if (std::isinf(worth.mean_entropy())) return "worths.mean_entropy";
    for (const double bound : worth.propensities().bounds()) {
      if (!std::isfinite(bound)) return "worths.propensities";
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<status::v1::Sidecar> ParseSidecar(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  status::v1::Status status;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json, &status, options);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError("the answer is not that of a sidecar");
  }
  // A server answers too, even with the figures of a sidecar.
  if (status.process().role() != "sidecar" || !status.has_sidecar()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "process.role = \"", ShownText(status.process().role()),
        "\": must be \"sidecar\"; http.sidecar names another program"));
  }
  if (IsTooLarge(status.sidecar())) {
    return absl::InvalidArgumentError(
        "the answer has more than a sidecar says");
  }
  if (const std::string wrong = WrongFigure(status.sidecar()); !wrong.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sidecar.", wrong,
                     ": must be finite numbers in their order, such as lower "
                     "bounds below upper ones"));
  }
  return std::move(*status.mutable_sidecar());
}

void SidecarFigures::Ask(int64_t (*steady_us)()) {
  if (address_.empty()) return;
  const absl::StatusOr<std::string> json =
      HttpGet(address_, "/status.json?history=0", kLimits);
  if (!json.ok()) return Take(json.status(), steady_us());
  absl::StatusOr<status::v1::Sidecar> answer = ParseSidecar(*json);
  if (!answer.ok()) {
    answer =
        absl::Status(answer.status().code(),
                     absl::StrCat(address_, ": ", answer.status().message()));
  }
  Take(std::move(answer), steady_us());
}

void SidecarFigures::Take(absl::StatusOr<status::v1::Sidecar> answer,
                          int64_t steady_us) {
  const std::lock_guard lock(mutex_);
  if (!answer.ok()) {
    problem_ = Utf8Text(answer.status().message());
    return;
  }
  has_answer_ = true;
  answer_us_ = steady_us;
  sidecar_ = *std::move(answer);
}

void SidecarFigures::Fill(int64_t steady_us, status::v1::Status* status) const {
  if (address_.empty()) return;
  const std::lock_guard lock(mutex_);
  if (has_answer_ && steady_us - answer_us_ <= kOldestUs) {
    *status->mutable_sidecar() = sidecar_;
  } else {
    status->set_sidecar_problem(problem_);
  }
}

}  // namespace sortition
