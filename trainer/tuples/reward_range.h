#pragma once
// The range of possible rewards, and what happens to rewards outside.
#include <optional>

#include "absl/status/status.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

struct RewardRange {
  double min = 0;
  double max = 1;
  bool clamps = false;  // Rewards outside count as the nearer end.

  static RewardRange Of(const config::v1::TrainOptions& options);

  // Returns the reward as a loss in [-1, 0]; nothing if it is outside and not
  // clamped. Requires a finite reward.
  std::optional<double> LossOf(double reward) const;
};

// A few rewards outside the range, such as double clicks, may be left out.
// InvalidArgument if they are more than 1 % of the tuples with feedback, or of
// those without: the range then does not describe the log, and leaving them out
// would bias every estimate. Where feedback is rare, few of all tuples can be
// all that have any.
absl::Status CheckRewards(const TupleCounts& counts, const RewardRange& range);

}  // namespace sortition
