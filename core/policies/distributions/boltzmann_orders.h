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
// What is stored is b(R) = B(R) / (weight of the best completion, by falling
// score), in [1, |R|!]: nothing overflows, and what underflows is negligible.
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
  // (0, 1), and writes their ConditionalLogPropensities().
  void Draw(std::span<const double> numbers, std::vector<int32_t>* order,
            std::vector<double>* conditionals) const;

  // Writes log p of each rank given those above, for the first ranks of an
  // order. Requires different items below n.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  std::vector<double>* conditionals) const;

  // Writes E[a_rank(i)] by item: the derivatives of log Z by the scores. Costs
  // as much as Build().
  void ExpectedRankWeights(std::span<double> expected) {
    ExpectedRankWeights({}, expected);
  }
  // The same over the orders that begin with `first`, different items below n,
  // which have a_r themselves. Minus the expectations over all orders, these
  // are the derivatives of log p(first).
  void ExpectedRankWeights(std::span<const int32_t> first,
                           std::span<double> expected);

  // Writes the probability of each of the n items to come first.
  void FirstProbabilities(std::span<double> probabilities) const;

  // Returns log Z.
  double LogPartition() const;

 private:
  // The items of R, best first, with what each adds to b(R).
  struct Step {
    uint32_t size = 0;
    std::array<uint32_t, kMaxItems> place;
    std::array<double, kMaxItems> cost;    // T
    std::array<double, kMaxItems> weight;  // exp(-T) b(R∖j), the term of b(R).
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
  // exp(-(a_r - a_{r+p+1}) (s_i - s_k)) for one r: [p][i][k].
  std::vector<double> factors_;
  std::vector<double> reached_;  // P(R are the items left at some rank).
};

}  // namespace sortition
