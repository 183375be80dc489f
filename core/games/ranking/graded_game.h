#pragma once
// The game of DCG with graded relevance [WangXingAsifZiebart15, sec. 3.2]. The
// score is Σ_i D_rank(i) gain(y_i), each y_i is one of K levels, and each item
// and level has a potential. It is solved exactly in O(K n log n), plus O(n log
// n) for each split in the last step.
//
// Only the adversary's mean gains u matter. Their price is the upper concave
// envelope of the points (gain_l, ψ_il). It has slopes s_il between the gains l
// and l + 1, which fall in l. Divide the range of u at the gains. With
// F(A) = D_1 + .. + D_|A|,
//   max_d d·u - price(u) = Σ_l ∫ F({u > α}) - s_l({u > α}) dα over the l-th gap
//     >= Σ_l (gain_{l+1} - gain_l) min_A (F(A) - s_l(A)),
// which are binary games of ranking_game.h with potentials s_l. Their
// minimisers A_l are nested, because s_l falls in l, so one u attains every
// minimum: item i has the level |{l : i in A_l}| or, if that level is not on
// the envelope, a mixture of the two levels next to it on the envelope. For the
// items of one level, a d is optimal if it is in the hull of the ranks of that
// level and has s_{i,level} <= d_i <= s_{i,level-1}. We take the one closest to
// (ψ_{i,K-1} - ψ_{i,0}) / gain_{K-1}, by decomposition [Groenevelt91]: share
// the sum of the ranks among the clipped items; if some items got more than the
// top ranks are worth, split off the set that exceeds it most. For K = 2 this
// is the d of ranking_game.h.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

struct GradedEquilibrium {
  double value = 0;
  std::vector<double> expected_discounts;  // d, by item.
  // n × K, row by item: P(y_i = l). Its negative is a supergradient of the
  // value with respect to ψ.
  std::vector<double> level_probabilities;
};

// The workspace of the solver: use one per thread. Allocates nothing once warm.
class GradedGame {
 public:
  // psi: n × K, row by item. gains: at least K = 2 of them, increasing from 0.
  // InvalidArgument if that does not hold, or if a potential, or a slope of the
  // potentials between gains, is not within ±kMaxPotential.
  absl::Status Solve(std::span<const double> psi, std::span<const double> gains,
                     const Discounts& discounts,
                     GradedEquilibrium* equilibrium);

 private:
  // An item in the order of ranks, with the target and the bounds of its share.
  struct Member {
    double target;
    double low;
    double high;
    double share;  // d.
    int32_t item;
  };
  struct Range {
    size_t begin;
    size_t end;
  };

  absl::Status FindSlopes(std::span<const double> psi,
                          std::span<const double> gains);
  // Finds the level of each item with the binary games, and adds up the value.
  absl::Status FindLevels(std::span<const double> gains,
                          const Discounts& discounts, double* value);
  void WriteProbabilities(std::span<const double> gains,
                          std::vector<double>* probabilities) const;
  void ArrangeMembers(std::span<const double> psi,
                      std::span<const double> gains,
                      const Discounts& discounts);
  // Shares the discounts of a range of ranks among its members, clipped to
  // their bounds.
  void Share(Range range, const Discounts& discounts);
  // Moves the members of the range whose shares exceed the worth of the top
  // ranks most to the front. Returns their number; 0: no shares do.
  size_t SplitOff(Range range, const Discounts& discounts);

  size_t num_items_ = 0;
  std::vector<double> slopes_;  // (K - 1) × n, row by gap of gains.
  // n × K: whether the level is on the envelope.
  std::vector<uint8_t> is_vertex_;
  std::vector<int32_t> corners_;
  std::vector<int32_t> levels_;  // By item.
  std::vector<KeyedItem> by_target_, buffer_;
  std::vector<size_t> level_ends_;
  std::vector<Member> members_, moved_;
  std::vector<int32_t> by_share_;
  std::vector<Range> ranges_;
  RankingGame binary_;
  RankingEquilibrium binary_equilibrium_;
};

}  // namespace sortition
