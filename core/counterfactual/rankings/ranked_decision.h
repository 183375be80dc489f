#pragma once
// A logged order whose ranks earned rewards of their own, as the log knows it
// and as a policy sees it.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

// What is estimated: the expectation of Σ_k α_k r_k + β w over the orders of a
// policy, r_k the reward of rank k and w that of the whole order. Ranks that
// were not shown earn 0.
struct RankingValue {
  // α by rank, at least 0. Deeper ranks count 0. At most kMaxCountedRanks.
  std::vector<double> rank_weights;
  double whole_weight = 1;  // β, at least 0

  static constexpr size_t kMaxCountedRanks = 100;

  // The largest value that there can be: Σ α + β, for rewards in [0, 1].
  double Largest() const;
};

// Logged: N ranks, of which the first L <= N were shown.
//
// L may depend on the query. If users decide rank by rank whether to look on,
// it may also depend on the ranks above: weights of the shown ranks and of
// prefixes remain right (optional stopping), those of single ranks do not.
struct RankedDecision {
  // r_k in [0, 1], by shown rank: there are L.
  std::span<const double> rewards;
  // w in [0, 1]: feedback that names no rank.
  double whole_reward = 0;
  // log π₀(a_k | ranks above), by logged rank: there are N. Finite.
  std::span<const double> log_conditionals;
  // log P₀(a_k is at rank k), by shown rank; or none.
  std::span<const double> log_marginals = {};
  // Segment of kAdaptive, below RankingSums::Options::num_segments.
  size_t segment = 0;
};

// The same order under a policy π. What a model of rewards expects is in the
// units of the value, α included, and must come from other units. Any finite
// numbers leave doubly robust estimates unbiased; good ones make them narrow.
struct JudgedRanking {
  // log π(a_k | ranks above), by logged rank: there are N. -infinity where
  // impossible; anything but NaN below such a rank.
  std::span<const double> log_conditionals;
  // log P(a_k is at rank k), by shown rank.
  std::span<const double> log_marginals = {};
  // By shown rank: q_k(ranks above, a_k), and its mean over a ~ π(·|ranks
  // above) for the ranks above as logged. q_k may stand for α_k r_k alone, or
  // for all that is earned from rank k on under π, which leaves less variance.
  std::span<const double> prefix_logged = {};
  std::span<const double> prefix_policy = {};
  // By shown rank: q(a_k, k), and Σ_i P(i is at rank k) q(i, k).
  std::span<const double> position_logged = {};
  std::span<const double> position_policy = {};
  // Of pseudo_inverse.h.
  std::optional<double> pseudo_inverse_weight = std::nullopt;
};

// What a policy brings along with every decision, and so which estimators it
// has.
struct RankingInputs {
  bool marginals = false;
  bool prefix_model = false;
  bool position_model = false;
  bool pseudo_inverse = false;
};

// InvalidArgument if a weight is negative or not finite, if no weight is above
// 0 or if there are too many.
absl::Status CheckRankingValue(const RankingValue& value);

// InvalidArgument if a number is NaN or out of its range, or if a span does not
// have as many numbers as stated above.
absl::Status CheckRankedDecision(const RankedDecision& decision,
                                 bool needs_marginals);
absl::Status CheckJudgedRanking(const RankedDecision& decision,
                                const JudgedRanking& judged,
                                const RankingInputs& inputs);

}  // namespace sortition
