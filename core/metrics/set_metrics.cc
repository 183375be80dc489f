#include "core/metrics/set_metrics.h"

#include "core/base/check.h"

namespace sortition {
namespace {

double Ratio(uint64_t part, uint64_t rest) {
  return static_cast<double>(part) / static_cast<double>(part + rest);
}

}  // namespace

void SetCounts::Add(const SetCounts& other) {
  true_positives += other.true_positives;
  false_positives += other.false_positives;
  false_negatives += other.false_negatives;
  true_negatives += other.true_negatives;
}

SetCounts CountSet(std::span<const uint8_t> called,
                   std::span<const uint8_t> relevant) {
  CHECK(called.size() == relevant.size());
  SetCounts counts;
  for (size_t i = 0; i < called.size(); ++i) {
    if (relevant[i] != 0) {
      ++(called[i] != 0 ? counts.true_positives : counts.false_negatives);
    } else {
      ++(called[i] != 0 ? counts.false_positives : counts.true_negatives);
    }
  }
  return counts;
}

double Sensitivity(const SetCounts& counts) {
  return Ratio(counts.true_positives, counts.false_negatives);
}

double Specificity(const SetCounts& counts) {
  return Ratio(counts.true_negatives, counts.false_positives);
}

double Precision(const SetCounts& counts) {
  return Ratio(counts.true_positives, counts.false_positives);
}

double FBeta(const SetCounts& counts, double beta) {
  const auto a = static_cast<double>(counts.true_positives);
  const auto b = static_cast<double>(counts.false_positives);
  const auto c = static_cast<double>(counts.false_negatives);
  if (a + b + c == 0) return 1;
  const double beta2 = beta * beta;
  return (1 + beta2) * a / ((1 + beta2) * a + b + beta2 * c);
}

double Jaccard(const SetCounts& counts) {
  const uint64_t wrong = counts.false_positives + counts.false_negatives;
  if (counts.true_positives + wrong == 0) return 1;
  return Ratio(counts.true_positives, wrong);
}

double HammingLoss(const SetCounts& counts) {
  return Ratio(counts.false_positives + counts.false_negatives,
               counts.true_positives + counts.true_negatives);
}

double SubsetAccuracy(const SetCounts& counts) {
  return counts.false_positives + counts.false_negatives == 0 ? 1 : 0;
}

MacroF1 MacroF1Of(std::span<const SetCounts> kinds) {
  MacroF1 macro;
  for (const SetCounts& counts : kinds) {
    if (counts.true_positives + counts.false_positives +
            counts.false_negatives ==
        0) {
      continue;
    }
    macro.value += FBeta(counts, 1);
    ++macro.counted;
  }
  macro.value /= static_cast<double>(macro.counted);
  return macro;
}

}  // namespace sortition
