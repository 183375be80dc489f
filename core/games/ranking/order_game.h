#pragma once
// The game of order inversion [WangXingAsifZiebart15, sec. 3.4]: both players
// give an order, the score is the number of pairs that they order alike. The
// paper's best responses are NP-hard, its potentials per pair arbitrary; where
// they come from differences of items, ψ_ij = (w_i - w_j) / 2 for "i before j",
// the game is solved pair by pair.
//
// The game of one pair with δ = w_i - w_j >= 0 has the value min(1/2, 1 - δ/2),
// with P(i before j) = min(1, (1 + δ)/2). All pairs get their P at once so:
// draw r from [0, 1), put item i in bucket floor(w_i - r), and take the highest
// bucket first, each in uniform order. For δ < 1 the buckets of a pair differ
// with probability δ, else always. The predictor thus guarantees the sum R over
// pairs. The adversary holds it to R if orders that respect every δ >= 1 can
// have all other pairs at 1/2; we do not know of a semiorder for which they
// cannot.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/random.h"

namespace sortition {

struct OrderGameValue {
  double guarantee = 0;  // R, at most the value.
  // Whether R is known to be the value: items fall into groups, each at most 1
  // wide and at least 1 apart, which the adversary permutes uniformly. (R was
  // the value in every game of up to 5 items that was solved in full.)
  bool exact = false;
};

// Solves the game in O(n log n). w: one weight per item, differences in units
// of a pair's score. InvalidArgument where a weight is not within
// ±kMaxPotential.
absl::StatusOr<OrderGameValue> SolveOrderGame(std::span<const double> w);

// Returns P(i before j) under the predictor's strategy.
double PrecedenceProbability(double w_i, double w_j);

// The predictor's strategy. Reusable; allocates nothing once it has met as many
// items.
class BucketOrder {
 public:
  // InvalidArgument as SolveOrderGame().
  absl::Status Prepare(std::span<const double> w);

  // Draws an order, items from the first to the last: a function of `random`.
  // Returns its LogPropensity().
  double Draw(const CounterRandom& random, std::vector<int32_t>* order);

  // Returns log P(order); -infinity where it cannot be drawn. Sums length / Π
  // size! over the intervals of r in which no item changes its bucket, in O(n):
  // an item moves one bucket down once. Requires a permutation of the items.
  double LogPropensity(std::span<const int32_t> order);

 private:
  std::vector<double> fractions_;     // w - floor(w), by item.
  std::vector<int32_t> by_fraction_;  // Items by rising fraction.
  // By item: the number of its bucket, the highest is 0, for r up to its
  // fraction; and for r above it.
  std::vector<int32_t> upper_, lower_;
  std::vector<int32_t> bucket_sizes_, buckets_, ranks_;
  std::vector<double> floors_, keys_;
};

}  // namespace sortition
