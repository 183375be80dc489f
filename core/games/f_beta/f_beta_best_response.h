#pragma once
// Best responses in the F-beta game, for all sizes at once
// [WangXingAsifZiebart15, sec. 3.3]. Neighbouring items with equal marginals
// form a run and are treated together, so that the cost is O(n · runs · sizes).
// Mixtures of prefixes of the potentials' order have as many runs as sets.
#include <vector>

#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/item_sets.h"
#include "core/games/f_beta/stop_signal.h"

namespace sortition {

// The best responses found, each of a different size.
struct FBetaResponses {
  ItemSets sets;
  std::vector<double> payoff;  // Payoff of the mixture against the set.
};

struct FBetaResponseOptions {
  // Looks only for sets with a better payoff than this: smaller for the
  // adversary, larger for the predictor. Skips sizes that cannot have such a
  // set.
  double threshold = 0;
  // >= 0; how much of the bound may be given up to skip more sizes.
  double slack = 0;
  int limit = 0;  // Maximum number of responses to keep.
  // May be null. If it stops the search, the results are meaningless.
  StopSignal* stop = nullptr;
};

// Reusable: allocates nothing once it has met as large a game.
class FBetaBestResponse {
 public:
  // Returns a lower bound, within `slack`, on the least payoff that a set of
  // the adversary leaves to the mixture `predictor`. If no payoff is below
  // `threshold`, it returns a number >= threshold - slack. Writes the best sets
  // to `responses`, unless that is null.
  double Adversary(const SortedFBetaGame& game, const SizeMarginals& predictor,
                   const FBetaResponseOptions& options,
                   FBetaResponses* responses);

  // Does the same for the predictor: returns an upper bound on the largest
  // payoff of one of its sets against the mixture `adversary`.
  double Predictor(const SortedFBetaGame& game, const SizeMarginals& adversary,
                   const FBetaResponseOptions& options,
                   FBetaResponses* responses);

 private:
  void FindRuns(const SortedFBetaGame& game, const SizeMarginals& mixture);
  void ComputeValues();
  double TakeSmallest(const SortedFBetaGame& game, int size);
  void SetCut(const SortedFBetaGame& game, int run, int cut);
  double TakeLargest(int size);
  int SkipBelow(int s, double payoff, double target, double* certified) const;
  // Asks `stop` after work of `sizes` passes over all runs.
  bool Stopped(StopSignal* stop, size_t sizes) const;
  double Return(const SortedFBetaGame& game);
  void Keep(double payoff, double sign, int limit);
  void Start(int num_items, FBetaResponses* responses);

  int num_runs_ = 0;
  std::vector<int> begin_;       // [run], and n at the end.
  std::vector<int> cut_;         // Items begin_[r] .. cut_[r] - 1 are taken.
  std::vector<double> values_;   // [run]: Σ_s W_st · marginal.
  std::vector<double> weights_;  // [size]: W_st of the mixture's sizes.
  std::vector<double> rows_;     // [size · run]: marginals of the runs.
  // [run]: ψ of the last item taken and of the next one; ±infinity if there is
  // none.
  std::vector<double> last_psi_;
  std::vector<double> next_psi_;
  double taken_psi_ = 0;
  int taken_ = 0;
  std::vector<int> order_;  // Runs by falling value.

  FBetaResponses* responses_ = nullptr;
  int last_kept_ = -1;  // Index in responses_.
  int num_items_ = 0;
};

}  // namespace sortition
