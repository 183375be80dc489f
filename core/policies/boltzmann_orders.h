#pragma once
// Orders of few items with probability
//   p(σ) = exp(Σ_r a_r s_σ(r)) / Z,
// a_r the weight of rank r, falling: the conditional random field over rankings
// of seed 003, eq. 13, with the sign that puts high scores first, as its eq. 14
// wants (printed, E = Σ a f is least where high scores come last); and the
// Lovász-Mallows model of seed 002, eq. 21 and 26, with a the increments of g.
//
// By dynamic programming over the sets R of items that are left [HeldKarp62],
// n! orders in 2^n steps: with r = n - |R| ranks filled, the completions of R
// weigh
//   B(R) = Σ_{j in R} exp(a_r s_j) B(R∖j),  p(j next | R) = exp(a_r s_j)
//   B(R∖j) / B(R).
// Kept is b(R) = B(R) / (weight of the best completion, by falling score), in
// [1, |R|!]: nothing overflows, and what underflows does not count.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Reusable; no allocation when warm. Costs 2^n n / 2 multiplications to build:
// 0.1 ms for 12 items, some 2 ms for 16; n² exponentials to draw.
class BoltzmannOrders {
 public:
  static constexpr size_t kMaxItems = 16;

  // Requires as many rank weights as scores, 1 to kMaxItems, all finite, the
  // weights not increasing.
  void Build(std::span<const double> rank_weights,
             std::span<const double> scores);

  // Draws the first numbers.size() ranks, at most n, rank r by numbers[r] in
  // (0, 1). `conditionals` gets what ConditionalLogPropensities() would.
  void Draw(std::span<const double> numbers, std::vector<int32_t>* order,
            std::vector<double>* conditionals) const;

  // log p of each rank given those above, of the first ranks of an order.
  // Requires different items below n.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  std::vector<double>* conditionals) const;

  // E[a_rank(i)], by item: the derivatives of log Z by the scores. Costs as
  // much as Build().
  void ExpectedRankWeights(std::span<double> expected) {
    ExpectedRankWeights({}, expected);
  }
  // The same of the orders that begin with `first`, different items below n: of
  // these a_r. Less those of all orders, the derivatives of log p(first).
  void ExpectedRankWeights(std::span<const int32_t> first,
                           std::span<double> expected);

  // Of each item to come first; n of them.
  void FirstProbabilities(std::span<double> probabilities) const;

  // log Z.
  double LogPartition() const;

 private:
  // What each item of R, best first, adds to b(R), and log p(it is next).
  struct Step {
    uint32_t size = 0;
    std::array<uint32_t, kMaxItems> place;
    std::array<double, kMaxItems> cost;    // T: exp(-T) b(R∖j) is added.
    std::array<double, kMaxItems> weight;  // Of it in b(R).
  };
  Step StepFrom(uint32_t remaining) const;
  double LogProbability(uint32_t remaining, const Step& step, uint32_t i) const;
  void FillFactors(size_t size);

  size_t n_ = 0;
  std::array<double, kMaxItems> a_{};      // By rank.
  std::array<double, kMaxItems> s_{};      // Falling; a place is an index here.
  std::array<int32_t, kMaxItems> item_{};  // By place.
  std::array<uint32_t, kMaxItems> place_{};  // By item.
  std::vector<double> completions_;          // b(R), R as bits of places.
  // exp(-(a_r - a_{r+p+1}) (s_i - s_k)), of one r: [p][i][k].
  std::vector<double> factors_;
  std::vector<double> reached_;  // P(R is what is left at some rank).
};

}  // namespace sortition
