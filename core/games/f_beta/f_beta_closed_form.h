#pragma once
// Solves, in closed form and in O(n), the F-beta game against an adversary who
// plays only the empty set and single items. For small potentials this solves
// the whole game.
//
// The predictor needs p_0 >= v against the empty set and, with
// m_i = Σ_s P_is (1+β²)/(s+β²), m_i >= v + ψ_i against {i}. Sets that give each
// item the mass m_i, and have together the mass M >= max m_i, use up
// Σ_i m_i + β² M of (1+β²) (1 - p_0). So v is the root of the increasing
//   (1+β²) v⁺ + Σ_i (v+ψ_i)⁺ + β² (v+ψ_1)⁺ = 1 + β².
// The multiplier λ of this budget is q_0. The multipliers of m_i and M give the
// adversary's probabilities: λ/(1+β²) on each item with v + ψ_i > 0, and λ
// β²/(1+β²) more on the largest potential (shared among equals).
#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/item_sets.h"

namespace sortition {

struct FBetaClosedForm {
  double value = 0;         // At least the value of the whole game.
  double total = 0;         // M = (v + ψ_1)⁺, also if v < 0.
  int num_active = 0;       // Items with v + ψ_i > 0.
  SizeMarginals adversary;  // Holds any predictor to `value`.
  // Guarantees `value` against the empty set and single items. Has sets of two
  // adjacent sizes, whose shares follow from Σ m_i.
  SizeMarginals predictor;
  std::vector<double> cumulated;  // Scratch.
  std::vector<double> starts;
};

// Solves the game with the costs of SortedFBetaGame; the value includes Σψ⁺ of
// the clipped potentials. Requires at least one item.
void SolveFBetaClosedForm(const SortedFBetaGame& game, FBetaClosedForm* result);

// Appends sets with the same marginals m_i / M, found by systematic sampling:
// at most `limit` of the num_active + 1 sets that exist. Changes only the
// scratch space of `form`.
void AppendSystematicSets(const SortedFBetaGame& game, int limit,
                          FBetaClosedForm* form, ItemSets* sets);

}  // namespace sortition
