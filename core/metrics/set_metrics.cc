#include "core/metrics/set_metrics.h"

#include "core/base/check.h"

namespace sortition {
namespace {

double Ratio(uint64_t part, uint64_t rest) {
  return static_cast<double>(part) / static_cast<double>(part + rest);
}

}  // namespace

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

}  // namespace sortition
