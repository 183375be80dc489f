#pragma once
// Losses of a whole vector of binary labels, and their loss-augmented
// inference, which finds the v that attains the structured hinge (seed 001,
// sec. 17.5.2)
//
//   max_v  Δ(v, y) + Σᵢ (vᵢ - yᵢ) sᵢ,   sᵢ = w·xᵢ,
//
// with labels in {0, 1}. Seed 001 has labels ±1; this is its hinge at w/2.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Δ is 1 - measure. The measures are those of a prediction with a true and b
// false positives, for a vector with P positive and N negative labels. A ratio
// whose denominator is 0 counts as 1.
enum class MultivariateMeasure {
  kAccuracy,     // (a + N - b) / (P + N); Δ is the error rate.
  kBalanced,     // Mean of sensitivity a / P and specificity (N - b) / N.
  kFBeta,        // (1+β²) a / (a + b + β² P).
  kPrecisionAtK  // a / k, for predictions with k positives.
};

struct MultivariateLoss {
  MultivariateMeasure measure = MultivariateMeasure::kFBeta;
  double beta = 1;  // Within [1e-3, 1e3].
  // Bounds of the number of positives in v. The set V of seed 001 has no
  // bounds, V≤k has `most` = k, and V≥k has `fewest` = k. kPrecisionAtK
  // requires both to be k >= 1. `most` may exceed the number of items.
  size_t fewest = 0;
  size_t most = SIZE_MAX;
};

// InvalidArgument, naming the field, if a field is out of its range.
absl::Status CheckMultivariateLoss(const MultivariateLoss& loss);

struct LabelCounts {
  size_t positives = 0;  // P
  size_t negatives = 0;  // N
};

// Returns Δ. Requires a valid loss, true_positives <= P and false_positives <=
// N.
double LossOfCounts(const MultivariateLoss& loss, const LabelCounts& labels,
                    size_t true_positives, size_t false_positives);

// Return Δ and the measure 1 - Δ of a prediction. Require vectors of equal
// size.
double LossOfLabels(const MultivariateLoss& loss,
                    std::span<const uint8_t> predicted,
                    std::span<const uint8_t> labels);
inline double MeasureOf(const MultivariateLoss& loss,
                        std::span<const uint8_t> predicted,
                        std::span<const uint8_t> labels) {
  return 1 - LossOfLabels(loss, predicted, labels);
}

// Returns argmax_v Σ vᵢ sᵢ within the bounds of the loss (seed 001, eq. 12),
// the prediction of the hinge's linear model. Items with score 0 are chosen
// only to reach `fewest`; ties go to the first item. O(n).
std::vector<uint8_t> PredictLabels(const MultivariateLoss& loss,
                                   std::span<const double> scores);

struct LossAugmentedLabels {
  double hinge = 0;             // Δ + Σ (vᵢ - yᵢ) sᵢ
  double loss = 0;              // Δ
  std::vector<uint8_t> labels;  // v
};

// Loss-augmented inference for one vector y. Reusable: allocates nothing after
// the first call.
//
// The best v with a true and b false positives chooses the a positive and the b
// negative items with the highest scores. With sums A, B of sorted scores it
// remains to maximise Δ(a, b) + A_a + B_b. If Δ is linear in a and b, each item
// can be decided by itself, O(n). For F-beta, Δ = 1 - (1+β²) a / (a + b + β² P)
// is concave in b, and so is B: the best b for each a is found by bisection,
// O(n log n) in all.
class MultivariateInference {
 public:
  // Requires labels 0 and 1. InvalidArgument for the reasons of
  // CheckMultivariateLoss(), and if the vector is empty or shorter than
  // `fewest`.
  static absl::StatusOr<MultivariateInference> Create(
      const MultivariateLoss& loss, std::span<const uint8_t> labels);

  // Writes the best v, its loss and the hinge. Requires one finite score for
  // each label. Deterministic; ties go to the first item.
  void Find(std::span<const double> scores, LossAugmentedLabels* result);

 private:
  MultivariateInference(const MultivariateLoss& loss,
                        std::span<const uint8_t> labels);
  void ChooseItems(std::span<const double> scores, LossAugmentedLabels* result);
  void ChooseCounts(std::span<const double> scores,
                    LossAugmentedLabels* result);
  // Returns the best b for a = true_positives among those within the bounds;
  // there must be one.
  size_t BestFalsePositives(size_t true_positives) const;
  double Sum(size_t true_positives, size_t false_positives) const;

  MultivariateLoss loss_;
  std::vector<uint8_t> labels_;
  LabelCounts counts_;
  std::vector<double> worths_;   // What choosing each item adds.
  std::vector<uint32_t> order_;  // Items; scratch space of ChooseItems().
  // The positives and negatives of y by decreasing score, and the sums of their
  // scores: sums[j] is the sum of the first j.
  std::vector<uint32_t> positives_;
  std::vector<uint32_t> negatives_;
  std::vector<double> positive_sums_;
  std::vector<double> negative_sums_;
};

}  // namespace sortition
