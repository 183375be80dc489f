#pragma once
// The game of order inversion [WangXingAsifZiebart15, sec. 3.4]: both players
// give an order, the score is the number of pairs that they order alike. The
// paper's best responses are NP-hard, its potentials per pair arbitrary; where
// they come from differences of items, ψ_ij = (w_i - w_j) / 2 for "i before j",
// the game is solved pair by pair.
//
// The game of a pair of δ = w_i - w_j >= 0 alone has the value min(1/2, 1 -
// δ/2), with P(i before j) = min(1, (1 + δ)/2). All pairs at once: draw r from
// [0, 1), put item i in bucket floor(w_i - r), the highest bucket first, in
// each a uniform order. For δ < 1 the buckets differ with probability δ, else
// always, so every pair has its P: the predictor guarantees the sum R over
// pairs. The adversary holds it to R if orders that respect every δ >= 1 can
// have all other pairs at 1/2; whether any semiorder lacks that is not known to
// us.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/random.h"

namespace sortition {

struct OrderGameValue {
  double guarantee = 0;  // R, at most the value.
  // Whether R is the value for a reason known: items fall into groups, 1 or
  // more apart from each other and within 1, which the adversary permutes
  // uniformly. (In every game of up to 5 items that was solved whole, R was the
  // value.)
  bool exact = false;
};

// w: one weight per item, differences in units of a pair's score. O(n log n).
// InvalidArgument where a weight is not within ±kMaxPotential.
absl::StatusOr<OrderGameValue> SolveOrderGame(std::span<const double> w);

// P(i before j) under the predictor's strategy.
double PrecedenceProbability(double w_i, double w_j);

// The predictor's strategy. Reusable; allocates nothing once it has met as many
// items.
class BucketOrder {
 public:
  // InvalidArgument as above.
  absl::Status Prepare(std::span<const double> w);

  // An order, items from the first to the last: a function of `random`. Returns
  // LogPropensity() of it.
  double Draw(const CounterRandom& random, std::vector<int32_t>* order);

  // log P(order); -infinity where it cannot be drawn. Sums over the intervals
  // of r between which no item changes its bucket, length / Π size!, in O(n):
  // an item moves one bucket down once. Requires a permutation of the items.
  double LogPropensity(std::span<const int32_t> order);

 private:
  std::vector<double> fractions_;     // w - floor(w), by item.
  std::vector<int32_t> by_fraction_;  // Items by rising fraction.
  // Number of the item's bucket, the highest 0, for r up to its fraction; and
  // that of the bucket below.
  std::vector<int32_t> upper_, lower_;
  std::vector<int32_t> bucket_sizes_, buckets_, ranks_;
  std::vector<double> floors_, keys_;
};

}  // namespace sortition
