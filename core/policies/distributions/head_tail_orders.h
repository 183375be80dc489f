#pragma once
// Orders of m candidates with p(σ) ∝ exp(Σ_r a_r ψ(σ_r)), ψ = α s, for up to as
// many candidates as there are rank weights a
// (core/policies/distributions/boltzmann_orders.h). Where there are more, the
// head, the h candidates of largest ψ (ties go to the lower position), takes
// the first h ranks by this law, and the tail, the others, follows by
// Plackett-Luce with the logits τ ψ.
//
// Which candidates are the head is a step function of the scores. So p jumps
// where two scores pass each other at the border of the head, and the gradient
// there is that of one side.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/policies/distributions/boltzmann_orders.h"

namespace sortition {

struct DistributionScratch;

struct HeadTailLaw {
  std::span<const double> rank_weights;  // h of them, not increasing.
  double alpha = 1;
  double tail_alpha = 1;  // α τ
};

// Reusable; no allocation when warm. Costs O(2^h h) and, where there is a tail,
// O(m).
class HeadTailOrders {
 public:
  // Prepares to draw the first top_k ranks, in [1, m]. Returns false where the
  // head's (a_0 - a_{h-1}) (max ψ - min ψ) is beyond 1e300 or not a number: it
  // would overflow.
  bool Build(const HeadTailLaw& law, std::span<const double> scores,
             uint32_t top_k);

  // The other functions require that Build() returned true.

  // Draws rank r of the head by number 2 · first_block + r of `random`, and the
  // i-th candidate of the tail by number 2 · first_block + h + i.
  void Draw(const CounterRandom& random, uint32_t first_block,
            std::vector<int32_t>* order);

  // Writes log p of each rank given those above; -infinity from the first rank
  // on whose candidate is impossible there. Requires top_k different positions.
  // Changes scratch->values and scratch->taken.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  DistributionScratch* scratch,
                                  std::vector<double>* conditionals);

  // Adds scale · ∂ log p(order) / ∂ s for the order that was last passed to
  // ConditionalLogPropensities(), which must be possible. Changes `scratch`.
  void AddGradient(double scale, DistributionScratch* scratch,
                   std::span<double> score_gradient);

  // Adds scale · P(the candidate comes first), by position.
  void AddFirstProbabilities(double scale, std::span<double> probabilities);

 private:
  void FindTail(std::span<const double> scores);
  // Returns the index in tail_ of a position.
  int32_t PlaceInTail(int32_t position) const;

  double alpha_ = 1;
  double tail_alpha_ = 1;
  uint32_t top_k_ = 1;
  BoltzmannOrders orders_;
  std::vector<double> psi_;
  std::vector<int32_t> head_;  // Positions, falling ψ.
  std::vector<double> head_psi_;
  std::vector<int32_t> tail_;  // Positions, ascending; empty if not needed.
  std::vector<double> tail_scores_;
  std::vector<double> numbers_;
  std::vector<int32_t> first_ranks_;  // Indexes in head_.
  std::vector<int32_t> last_ranks_;   // Indexes in tail_.
  std::vector<double> conditionals_;
  std::vector<double> by_place_;
};

}  // namespace sortition
