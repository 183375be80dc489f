#include "server/decisions/aggregate_time.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

// The least that the parts of the work take.
constexpr double kSecondsPerScore = 5e-9;
// The most that a stretch without a look at the clock takes.
constexpr double kReservedPerCandidate = 200e-9;
constexpr double kReservedPerScore = 4e-9;

double NumScores(const v1::Candidates& candidates) {
  return static_cast<double>(candidates.dense().values_size()) +
         static_cast<double>(candidates.dense().packed().size()) /
             sizeof(float);
}

double Reserved(const v1::Candidates& candidates) {
  const double num_scores = NumScores(candidates);
  return kReservedPerScore * num_scores +
         kReservedPerCandidate * num_scores /
             std::max(1u, candidates.num_features());
}

}  // namespace

AggregateTime::AggregateTime(const v1::AggregateRequest& request,
                             double seconds_left)
    : num_scores_(NumScores(request.context().candidates())),
      seconds_(seconds_left - Reserved(request.context().candidates())) {}

absl::Status AggregateTime::Check() const {
  if (seconds_ > num_scores_ * kSecondsPerScore) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(
      "deadline too near for ", num_scores_, " scores; not decided"));
}

double AggregateTime::used() const {
  const std::chrono::duration<double> used = Clock::now() - start_;
  return seconds_ > 0 ? used.count() / seconds_ : 1;
}

}  // namespace sortition
