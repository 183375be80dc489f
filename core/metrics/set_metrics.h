#pragma once
// Metrics of the quality of a set of items that are predicted to be relevant
// (seed 001, def. 17.9 and sec. 17.5.1).
#include <cstdint>
#include <span>

namespace sortition {

struct SetCounts {
  uint64_t true_positives = 0;   // a
  uint64_t false_positives = 0;  // b
  uint64_t false_negatives = 0;  // c
  uint64_t true_negatives = 0;   // d
};

// Counts the items of each kind. `called` (predicted to be relevant) and
// `relevant` have an entry for each item, 1 or 0.
SetCounts CountSet(std::span<const uint8_t> called,
                   std::span<const uint8_t> relevant);

// The following three return NaN if the denominator is 0.
double Sensitivity(const SetCounts& counts);  // a / (a + c)
double Specificity(const SetCounts& counts);  // d / (d + b)
double Precision(const SetCounts& counts);    // a / (a + b)

// Returns (1 + β²) a / ((1 + β²) a + b + β² c); 1 if no item is relevant and
// none is predicted. Requires beta > 0.
double FBeta(const SetCounts& counts, double beta);

}  // namespace sortition
