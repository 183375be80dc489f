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

  void Add(const SetCounts& other);
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

// Returns a / (a + b + c), the Jaccard index; 1 if no item is relevant and none
// is predicted.
double Jaccard(const SetCounts& counts);

// Returns (b + c) / (a + b + c + d), the share of the items that are predicted
// wrongly. NaN if there are none.
double HammingLoss(const SetCounts& counts);

// Returns 1 if every item is predicted correctly, else 0.
double SubsetAccuracy(const SetCounts& counts);

// The mean of FBeta() with beta = 1 over several kinds of items, such as
// labels. Kinds without an item that is relevant or predicted (a + b + c = 0)
// do not count.
struct MacroF1 {
  double value = 0;  // NaN if no kind counts.
  uint64_t counted = 0;
};
MacroF1 MacroF1Of(std::span<const SetCounts> kinds);

}  // namespace sortition
