#include "core/learners/label_measure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sortition {

std::string LabelMeasure::Name() const {
  const std::string at = k == 0 ? "" : absl::StrCat("@", k);
  switch (kind) {
    case Kind::kPrecision:
      return absl::StrCat("P", at);
    case Kind::kDcg: {
      const bool graded = std::any_of(gains.begin(), gains.end(), [](double g) {
        return g != 0 && g != 1;
      });
      return absl::StrCat(graded ? "graded " : "", "DCG", at);
    }
    case Kind::kGain:
      return "gain";
    case Kind::kAccuracy:
      return "accuracy";
    case Kind::kFBeta:
      break;
  }
  return absl::StrCat("F", beta);
}

double FBeta(double beta, double size, double num_positives, double hits) {
  if (size == 0 && num_positives == 0) return 1;
  const double beta2 = beta * beta;
  return (1 + beta2) * hits / (size + beta2 * num_positives);
}

double EvaluateAction(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const int32_t> action) {
  if (measure.kind == LabelMeasure::Kind::kAccuracy) {
    size_t right = 0;
    for (size_t i = 0; i < action.size(); ++i) {
      right += static_cast<uint32_t>(action[i]) == relevances[i] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(relevances.size());
  }
  double sum = 0;
  for (size_t rank = 0; rank < action.size(); ++rank) {
    if (measure.kind != LabelMeasure::Kind::kFBeta && measure.k > 0 &&
        rank >= measure.k) {
      break;
    }
    const auto item = static_cast<size_t>(action[rank]);
    const double gain = measure.gains[relevances[item]];
    sum += measure.kind == LabelMeasure::Kind::kDcg
               ? gain / std::log2(static_cast<double>(rank) + 2)
               : gain;
  }
  if (measure.kind == LabelMeasure::Kind::kPrecision) return sum / measure.k;
  if (measure.kind == LabelMeasure::Kind::kDcg ||
      measure.kind == LabelMeasure::Kind::kGain) {
    return sum;
  }
  double num_positives = 0;
  for (const uint32_t relevance : relevances) {
    num_positives += measure.gains[relevance];
  }
  return FBeta(measure.beta, static_cast<double>(action.size()), num_positives,
               sum);
}

}  // namespace sortition
