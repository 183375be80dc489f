#pragma once
// Equilibria of the F-beta game [WangXingAsifZiebart15, sec. 3.3]. A predictor
// draws a set a of n items at random, an adversary a set y. The predictor
// maximises
//   F(a, y) - Σ_{i in y} ψ_i,
//   F(a, y) = (1+β²) |a ∩ y| / (|a| + β² |y|),  F(∅, ∅) = 1.
// Small potentials have a closed form; others need the double oracle of
// f_beta_double_oracle.h. Memory is O(n · sizes played).
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/f_beta/f_beta_closed_form.h"
#include "core/games/f_beta/f_beta_double_oracle.h"
#include "core/games/sampling/sized_set_marginals.h"

namespace sortition {

struct FBetaEquilibrium {
  // What the two strategies guarantee: lo <= value of the game <= hi.
  double lo = 0;
  double hi = 0;
  FBetaTermination termination = FBetaTermination::kConverged;
  // Rounds of the double oracle. 0: the closed form solved the game, or there
  // was time for nothing else.
  int rounds = 0;
  std::vector<SizedSetMarginals> predictor;
  std::vector<SizedSetMarginals> adversary;
  // [item]: P(y_i = 1). Up to the gap, minus the gradient of the value with
  // respect to the potentials. Items of equal potential have equal marginals.
  std::vector<double> adversary_marginals;
};

// The sets that were played, in the caller's items, so that a similar game can
// start from them. Empty: none are known.
struct FBetaWarmStart {
  int num_items = 0;
  ItemSets predictor;
  ItemSets adversary;
};

// Solves games one after the other and reuses its buffers. Deterministic:
// results depend only on potentials, options and warm start. Not thread-safe.
class FBetaSolver {
 public:
  // However it ends, `result` has the best strategies found and what they
  // guarantee. `warm_start` may be null. It is used if it has the same number
  // of items, and replaced after a round of the double oracle. InvalidArgument
  // if a potential is not within [-1e9, 1e9] or an option is out of its range;
  // Internal if rounding errors defeat the simplex method before the first
  // round. After an error `result` is unchanged.
  absl::Status Solve(std::span<const double> potentials,
                     const FBetaOptions& options, FBetaWarmStart* warm_start,
                     FBetaEquilibrium* result);

 private:
  void Sort(std::span<const double> potentials, double beta);
  void BeginSimply();
  bool TryClosedForm(double tolerance);
  void Seed(const FBetaWarmStart* warm_start);
  FBetaTermination Search(const FBetaOptions& options,
                          FBetaWarmStart* warm_start);
  void Remap(const ItemSets& from, bool to_positions, ItemSets* to);
  void Export(const SizeMarginals& mixture,
              std::vector<SizedSetMarginals>* sets) const;
  void SaveWarmStart(FBetaWarmStart* warm_start);
  void FillResult(FBetaTermination termination, bool with_adversary,
                  FBetaEquilibrium* result);

  SortedFBetaGame game_;
  std::vector<int> position_;  // [item]
  StopSignal stop_;
  bool searched_ = false;  // Whether the double oracle was used.
  FBetaClosedForm closed_form_;
  FBetaBestResponse best_response_;
  FBetaDoubleOracle oracle_;
  FBetaIncumbent best_;
  std::vector<double> prefix_sums_;
  ItemSets seeds_;
  ItemSets remapped_;
};

}  // namespace sortition
