#pragma once
// Best responses in the F-beta game, of every size at once
// [WangXingAsifZiebart15, sec. 3.3]. Neighbouring items with equal marginals
// form a run and are treated together: O(n · runs · sizes), and mixtures of
// prefixes of the potentials' order have as many runs as sets.
#include <vector>

#include "core/games/f_beta_sorted.h"
#include "core/games/item_sets.h"

namespace sortition {

// The best responses found, one per size: local optima over the sizes.
struct FBetaResponses {
  ItemSets sets;
  std::vector<double> payoff;  // Of the mixture against the set.
};

// Reusable: no allocation when warm.
class FBetaBestResponse {
 public:
  // The least payoff that a set of the adversary leaves to the mixture
  // `predictor`, exactly. At most `limit` sets are put into `responses`: those
  // with the least payoffs below `threshold`, among the sizes where the payoff
  // is less than at their neighbours.
  double Adversary(const SortedFBetaGame& game, const SizeMarginals& predictor,
                   double threshold, int limit, FBetaResponses* responses);

  // The largest payoff of a set of the predictor against the mixture
  // `adversary`; sets above `threshold`.
  double Predictor(const SortedFBetaGame& game, const SizeMarginals& adversary,
                   double threshold, int limit, FBetaResponses* responses);

 private:
  void FindRuns(const SortedFBetaGame& game, const SizeMarginals& mixture);
  void ComputeValues();
  double TakeSmallest(const SortedFBetaGame& game, int size);
  void SetCut(const SortedFBetaGame& game, int run, int cut);
  double TakeLargest(int size);
  void Offer(int size, double payoff, double sign, double threshold);
  void Flush(double sign);
  void Keep(double sign);
  void Start(int num_items, int limit, FBetaResponses* responses);

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

  // The walk over sizes: a size is a local optimum if it is better than the
  // size before and not worse than the one behind.
  FBetaResponses* responses_ = nullptr;
  int limit_ = 0;
  bool pending_ = false;
  double pending_payoff_ = 0;
  double previous_payoff_ = 0;
  std::vector<int> pending_cut_;
};

}  // namespace sortition
