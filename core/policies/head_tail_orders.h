#pragma once
// Orders of m candidates with p(σ) ∝ exp(Σ_r a_r ψ(σ_r)), ψ = α s, for as many
// as there are rank weights a (core/policies/boltzmann_orders.h). Of more, the
// head, h candidates of largest ψ, ties by position, takes the first h ranks so
// and the tail, the others, follows by Plackett-Luce with the logits τ ψ.
//
// Which are the head is a step function of the scores: so is p where two of
// them pass each other at its border, and there the gradient is that of one
// side.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/policies/boltzmann_orders.h"

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
  // Of the first top_k ranks, in [1, m]. False where (a_0 - a_{h-1}) (max ψ -
  // min ψ) of the head is beyond 1e300 or not a number: it would overflow.
  bool Build(const HeadTailLaw& law, std::span<const double> scores,
             uint32_t top_k);

  // The rest requires that Build() gave true.

  // Rank r of the head by number 2 · first_block + r of `random`, the i-th
  // candidate of the tail by number 2 · first_block + h + i.
  void Draw(const CounterRandom& random, uint32_t first_block,
            std::vector<int32_t>* order);

  // log p of each rank given those above; -infinity from the first rank on that
  // is taken by another than p allows. Requires top_k different positions.
  // Changes values and taken of `scratch`.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  DistributionScratch* scratch,
                                  std::vector<double>* conditionals);

  // Adds scale · ∂ log p(order) / ∂ s, of the order before, which must be
  // possible. Changes more of `scratch`.
  void AddGradient(double scale, DistributionScratch* scratch,
                   std::span<double> score_gradient);

  // Adds scale · P(first), by position.
  void AddFirstProbabilities(double scale, std::span<double> probabilities);

 private:
  void FindTail(std::span<const double> scores);
  // Place of a position among those of the tail.
  int32_t PlaceInTail(int32_t position) const;

  double alpha_ = 1;
  double tail_alpha_ = 1;
  uint32_t top_k_ = 1;
  BoltzmannOrders orders_;
  std::vector<double> psi_;
  std::vector<int32_t> head_;  // Positions, falling ψ.
  std::vector<double> head_psi_;
  std::vector<int32_t> tail_;  // Positions, ascending; empty where not drawn.
  std::vector<double> tail_scores_;
  std::vector<double> numbers_;
  std::vector<int32_t> first_ranks_;  // Places in head_.
  std::vector<int32_t> last_ranks_;   // Places in tail_.
  std::vector<double> conditionals_;
  std::vector<double> by_place_;
};

}  // namespace sortition
