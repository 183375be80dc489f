#pragma once
// Scores of one source, made comparable with those of others.
#include <span>
#include <vector>

#include "core/aggregation/aggregate.h"

namespace sortition {

// Scaled scores are slope · (x - origin): of kNone and kMinMax.
struct AffineScale {
  double origin = 0;
  double slope = 1;
};

// Requires scale to be kNone or kMinMax.
AffineScale FindAffineScale(std::span<const double> scores, ScoreScale scale);

// Reusable.
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
