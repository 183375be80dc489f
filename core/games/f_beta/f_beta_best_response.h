#pragma once
// Best responses in the F-beta game, of every size at once
// [WangXingAsifZiebart15, sec. 3.3]. Neighbouring items with equal marginals
// form a run and are treated together: O(n · runs · sizes), and mixtures of
// prefixes of the potentials' order have as many runs as sets.
#include <vector>

#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/item_sets.h"
#include "core/games/f_beta/stop_signal.h"

namespace sortition {

// The best responses found, of different sizes.
struct FBetaResponses {
  ItemSets sets;
  std::vector<double> payoff;  // Of the mixture against the set.
};

struct FBetaResponseOptions {
  // Sets are looked for that are better than this: smaller payoffs for the
  // adversary, larger ones for the predictor. Sizes that cannot have any are
  // skipped.
  double threshold = 0;
  double slack = 0;  // >= 0; what the bound may lose by skipping more.
  int limit = 0;     // Responses that are kept, at most.
  // Where it stops the search, what is returned and kept means nothing. May be
  // null.
  StopSignal* stop = nullptr;
};

// Reusable: no allocation when warm.
class FBetaBestResponse {
 public:
  // A lower bound, within `slack`, of the least payoff that a set of the
  // adversary leaves to the mixture `predictor`; if none is below `threshold`,
  // a number >= threshold - slack. The best sets go into `responses`, if not
  // null.
  double Adversary(const SortedFBetaGame& game, const SizeMarginals& predictor,
                   const FBetaResponseOptions& options,
                   FBetaResponses* responses);

  // An upper bound of the largest payoff of a set of the predictor against the
  // mixture `adversary`, likewise.
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
  // After a look at all runs in so many sizes of the mixture.
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
  // ψ of the last item taken and of the next, ±infinity where there is none.
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
