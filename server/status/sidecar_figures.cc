#include "server/status/sidecar_figures.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "process/status/status_text.h"
#include "server/status/http_get.h"

namespace sortition {
namespace {

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

}  // namespace

absl::StatusOr<status::v1::Sidecar> ParseSidecar(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  status::v1::Status status;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json, &status, options);
  if (!parsed.ok() || !status.has_sidecar()) {
    return absl::InvalidArgumentError("the answer is not that of a sidecar");
  }
  if (IsTooLarge(status.sidecar())) {
    return absl::InvalidArgumentError(
        "the answer has more than a sidecar says");
  }
  return std::move(*status.mutable_sidecar());
}

void SidecarFigures::Ask(int64_t (*steady_us)()) {
  if (address_.empty()) return;
  const absl::StatusOr<std::string> json =
      HttpGet(address_, "/status.json?history=0");
  Take(json.ok() ? ParseSidecar(*json) : json.status(), steady_us());
}

void SidecarFigures::Take(absl::StatusOr<status::v1::Sidecar> answer,
                          int64_t steady_us) {
  const std::lock_guard lock(mutex_);
  if (!answer.ok()) {
    problem_ =
        absl::StrCat(address_, ": ", Utf8Text(answer.status().message()));
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
