#pragma once
// The game of order inversion [WangXingAsifZiebart15, sec. 3.4]. Both players
// give an order; the score is the number of pairs that they order alike. The
// paper has arbitrary potentials per pair, for which best responses are
// NP-hard. If potentials come from differences of items, ψ_ij = (w_i - w_j) / 2
// for "i before j", the game is solved pair by pair.
//
// The game of one pair with δ = w_i - w_j >= 0 has the value min(1/2, 1 - δ/2),
// attained with P(i before j) = min(1, (1 + δ)/2). All pairs get their P at
// once if one draws r from [0, 1), puts item i in bucket floor(w_i - r), takes
// the highest bucket first, and orders each bucket uniformly. For δ < 1 the
// buckets of a pair differ with probability δ, otherwise always. The predictor
// thus guarantees the sum R over pairs. The adversary limits it to R if orders
// that respect every δ >= 1 can have all other pairs at 1/2. We do not know of
// a semiorder for which they cannot.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/random.h"

namespace sortition {

struct OrderGameValue {
  double guarantee = 0;  // R, at most the value.
  // Whether R is known to be the value. It is if items fall into groups, each
  // at most 1 wide and at least 1 apart, which the adversary permutes
  // uniformly. (R was the value of every game of up to 5 items that was solved
  // in full.)
  bool exact = false;
};

// Solves the game in O(n log n). w has one weight per item; differences are in
// units of a pair's score. InvalidArgument if a weight is not within
// ±kMaxPotential.
absl::StatusOr<OrderGameValue> SolveOrderGame(std::span<const double> w);

// Returns P(i before j) under the predictor's strategy.
double PrecedenceProbability(double w_i, double w_j);

// The predictor's strategy. Reusable: allocates nothing once it has met as many
// items.
class BucketOrder {
 public:
  // InvalidArgument as SolveOrderGame().
  absl::Status Prepare(std::span<const double> w);

  // Draws an order, items from first to last, as a function of `random`.
  // Returns its LogPropensity().
  double Draw(const CounterRandom& random, std::vector<int32_t>* order);

  // Returns log P(order); -infinity if it cannot be drawn. Takes the sum of
  // length / Π size! over the intervals of r in which no item changes its
  // bucket, in O(n): each item moves down one bucket once. Requires a
  // permutation of the items.
  double LogPropensity(std::span<const int32_t> order);

 private:
  std::vector<double> fractions_;     // w - floor(w), by item.
  std::vector<int32_t> by_fraction_;  // Items by rising fraction.
  // By item: the number of its bucket (0 is the highest) for r up to its
  // fraction, and for r above it.
  std::vector<int32_t> upper_, lower_;
  std::vector<int32_t> bucket_sizes_, buckets_, ranks_;
  std::vector<double> floors_, keys_;
};

}  // namespace sortition
