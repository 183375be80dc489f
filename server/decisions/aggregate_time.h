#pragma once
// The time that a call of Aggregate has.
#include <chrono>

#include "absl/status/status.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Runs from its construction on. A part of the time until the deadline is kept
// for the longest stretches without a look at the clock: an order is sorted and
// drawn, and the record is written.
class AggregateTime {
 public:
  AggregateTime(const v1::AggregateRequest& request, double seconds_left);

  // DeadlineExceeded where no machine of today decides in this time.
  absl::Status Check() const;
  // Returns the share of it that has passed.
  double used() const;
  bool is_over() const { return used() >= 1; }

 private:
  using Clock = std::chrono::steady_clock;
  const double num_scores_;
  const double seconds_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace sortition
