#include "core/aggregation/scale_scores.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace sortition {

AffineScale FindAffineScale(std::span<const double> scores, ScoreScale scale) {
  if (scale == ScoreScale::kNone) return {};
  CHECK(scale == ScoreScale::kMinMax);
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  const double slope = 1 / (*high - *low);
  return {*low, std::isfinite(slope) ? slope : 0};
}

void ScoreScaler::Scale(std::span<const double> scores, ScoreScale scale,
                        std::vector<double>* scaled) {
  if (scale == ScoreScale::kRank) return ScaleByRank(scores, scaled);
  const AffineScale affine = FindAffineScale(scores, scale);
  scaled->resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    (*scaled)[i] = affine.slope * (scores[i] - affine.origin);
  }
}

void ScoreScaler::ScaleByRank(std::span<const double> scores,
                              std::vector<double>* scaled) {
  const size_t n = scores.size();
  sorter_.Sort(scores, &order_);
  scaled->resize(n);
  for (size_t begin = 0; begin < n;) {
    size_t end = begin + 1;
    while (end < n && scores[order_[end]] == scores[order_[begin]]) ++end;
    const double worse = static_cast<double>(n - end) +
                         0.5 * static_cast<double>(end - begin - 1);
    for (size_t r = begin; r < end; ++r) {
      (*scaled)[order_[r]] = worse / static_cast<double>(n - 1);
    }
    begin = end;
  }
}

}  // namespace sortition
