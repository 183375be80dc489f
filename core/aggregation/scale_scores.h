#pragma once
// Makes the scores of one source comparable with those of others.
#include <span>
#include <vector>

#include "core/aggregation/aggregate.h"

namespace sortition {

// For kNone and kMinMax the scaled score is slope · (x - origin).
struct AffineScale {
  double origin = 0;
  double slope = 1;
};

// Requires `scale` to be kNone or kMinMax.
AffineScale FindAffineScale(std::span<const double> scores, ScoreScale scale);

// Scales scores; keeps its buffers for the next call.
class ScoreScaler {
 public:
  void Scale(std::span<const double> scores, ScoreScale scale,
             std::vector<double>* scaled);

 private:
  void ScaleByRank(std::span<const double> scores, std::vector<double>* scaled);

  Sorter sorter_;
  Order order_;
};

}  // namespace sortition
