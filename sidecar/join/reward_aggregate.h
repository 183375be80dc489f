#pragma once
// The feedback of a decision, or of one of its ranks, as one reward.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

class RewardAggregate {
 public:
  // Feedback of one time counts in the order in which it is added.
  void Add(int64_t time_us, double reward) {
    if (count_ == 0 || time_us < earliest_us_) {
      earliest_us_ = time_us;
      earliest_ = reward;
    }
    sum_ += reward;
    largest_ = std::max(largest_, reward);
    smallest_ = std::min(smallest_, reward);
    ++count_;
  }

  uint32_t count() const { return count_; }

  // Requires count() > 0.
  double Value(config::v1::JoinOptions::Aggregation aggregation) const {
    switch (aggregation) {
      case config::v1::JoinOptions::EARLIEST:
        return earliest_;
      case config::v1::JoinOptions::SUM:
        return sum_;
      case config::v1::JoinOptions::MEAN:
        return sum_ / count_;
      case config::v1::JoinOptions::MAX:
        return largest_;
      case config::v1::JoinOptions::MIN:
        return smallest_;
    }
    return sum_;
  }

 private:
  uint32_t count_ = 0;
  int64_t earliest_us_ = 0;
  double earliest_ = 0;
  double sum_ = 0;
  double largest_ = -std::numeric_limits<double>::infinity();
  double smallest_ = std::numeric_limits<double>::infinity();
};

}  // namespace sortition
