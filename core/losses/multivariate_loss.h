#pragma once
// Losses of a whole vector of binary labels, and their loss-augmented
// inference: the v that attains the structured hinge (seed 001, sec. 17.5.2)
//
//   max_v  Δ(v, y) + Σᵢ (vᵢ - yᵢ) sᵢ,   sᵢ = w·xᵢ,
//
// with labels in {0, 1}: for the ±1 of seed 001 that is its hinge at w/2.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Δ is 1 less the measure, of a true and b false positives where P labels are
// positive and N are not. A ratio whose denominator is 0 counts as 1.
enum class MultivariateMeasure {
  kAccuracy,     // (a + N - b) / (P + N); Δ is the error rate.
  kBalanced,     // Mean of sensitivity a / P and specificity (N - b) / N.
  kFBeta,        // (1+β²) a / (a + b + β² P).
  kPrecisionAtK  // a / k, of vectors with k positives.
};

struct MultivariateLoss {
  MultivariateMeasure measure = MultivariateMeasure::kFBeta;
  double beta = 1;  // Within [1e-3, 1e3].
  // How many positives v has: V of seed 001 has no bounds, V≤k the second, V≥k
  // the first; kPrecisionAtK needs both equal, k >= 1. Cut at the number of
  // items.
  size_t fewest = 0;
  size_t most = SIZE_MAX;
};

// InvalidArgument naming what is outside its range.
absl::Status CheckMultivariateLoss(const MultivariateLoss& loss);

struct LabelCounts {
  size_t positives = 0;  // P
  size_t negatives = 0;  // N
};

// Δ. Requires a valid loss, true_positives <= P, false_positives <= N.
double LossOfCounts(const MultivariateLoss& loss, const LabelCounts& labels,
                    size_t true_positives, size_t false_positives);

// Δ, and the measure, 1 - Δ. Require vectors of one size.
double LossOfLabels(const MultivariateLoss& loss,
                    std::span<const uint8_t> predicted,
                    std::span<const uint8_t> labels);
inline double MeasureOf(const MultivariateLoss& loss,
                        std::span<const uint8_t> predicted,
                        std::span<const uint8_t> labels) {
  return 1 - LossOfLabels(loss, predicted, labels);
}

// argmax_v Σ vᵢ sᵢ within the loss's bounds (seed 001, eq. 12): what the
// hinge's linear model predicts. Scores of 0 are not chosen but to fill
// `fewest`; ties by item. O(n).
std::vector<uint8_t> PredictLabels(const MultivariateLoss& loss,
                                   std::span<const double> scores);

struct LossAugmentedLabels {
  double hinge = 0;             // Δ + Σ (vᵢ - yᵢ) sᵢ
  double loss = 0;              // Δ
  std::vector<uint8_t> labels;  // v
};

// Workspace for one vector y: reusable, no allocation when warm.
//
// The best v with a true and b false positives has the a best positive and the
// b best negative items, so that with sums A, B of sorted scores it remains to
// maximise Δ(a, b) + A_a + B_b. Where Δ is linear in a and b that is a choice
// item by item, O(n). For F-beta, Δ = 1 - (1+β²) a / (a + b + β² P) is concave
// in b, and so is B: the best b of each a by bisection, O(n log n) in all.
class MultivariateInference {
 public:
  // Requires labels of 0 and 1. InvalidArgument as CheckMultivariateLoss(), or
  // where the vector is empty or shorter than k or `fewest`.
  static absl::StatusOr<MultivariateInference> Create(
      const MultivariateLoss& loss, std::span<const uint8_t> labels);

  // Requires finite scores, one per label. Deterministic; ties by item.
  void Find(std::span<const double> scores, LossAugmentedLabels* result);

 private:
  MultivariateInference(const MultivariateLoss& loss,
                        std::span<const uint8_t> labels);
  void ChooseItems(std::span<const double> scores, LossAugmentedLabels* result);
  void ChooseCounts(std::span<const double> scores,
                    LossAugmentedLabels* result);
  // The b that is best with a, among those within the bounds, of which there
  // must be one.
  size_t BestFalsePositives(size_t true_positives) const;
  double Sum(size_t true_positives, size_t false_positives) const;

  MultivariateLoss loss_;
  std::vector<uint8_t> labels_;
  LabelCounts counts_;
  std::vector<double> worths_;   // By item: what choosing it adds.
  std::vector<uint32_t> order_;  // Items, to find the best.
  // Of y's positives and negatives, by falling score, and the sums of their
  // scores: sums[j] of the first j.
  std::vector<uint32_t> positives_;
  std::vector<uint32_t> negatives_;
  std::vector<double> positive_sums_;
  std::vector<double> negative_sums_;
};

}  // namespace sortition
