#pragma once
// Orders of m candidates in which rank r is drawn in proportion to exp(α f_r s)
// among those that are left; beyond the last of F factors f, that one repeats.
//
// The first F-1 ranks are drawn one by one, by the inverse of their
// distribution functions, from the probabilities that are logged, to 2^-52, as
// a selection is. From rank F-1 on the factor is always the same: those ranks
// are a Plackett-Luce order of what is left with the logits α f_{F-1} s, and
// drawn and weighed as such
// (core/policies/distributions/ranking_distribution.h).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace sortition {

struct DistributionScratch;

// Reusable; no allocation when warm. A draw, a probability and a gradient of k
// ranks cost O(m min(k, F) + k log k).
class FactoredOrders {
 public:
  // Prepares to draw the first top_k ranks, in [1, m]. Requires at least one
  // factor. `factors` must outlive the use of this.
  void Build(std::span<const double> factors, double alpha,
             std::span<const double> scores, uint32_t top_k);

  // The other functions require Build().

  // With h = min(top_k, F - 1), draws rank r < h by number 2 · first_block + r
  // of `random`, and the i-th of the candidates that are then left by number 2
  // · first_block + h + i.
  void Draw(const CounterRandom& random, uint32_t first_block,
            std::vector<int32_t>* order);

  // Writes log p of each rank given those above. Requires top_k different
  // positions. Changes scratch->values and scratch->taken.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  DistributionScratch* scratch,
                                  std::vector<double>* conditionals);

  // Adds scale · ∂ log p(order) / ∂ s. Requires top_k different positions.
  // Changes `scratch`.
  void AddGradient(std::span<const int32_t> order, double scale,
                   DistributionScratch* scratch,
                   std::span<double> score_gradient);

  // Adds scale · P(the candidate comes first), by position.
  void AddFirstProbabilities(double scale, std::span<double> probabilities);

 private:
  // Σ exp(l - max l) over those that are left, without the 1 of the largest
  // logit l, so that small terms beside it count.
  struct Rank {
    double largest = 0;  // max l
    double others = 0;
  };

  void LeaveAll();
  // Writes exp(l - max l) of those left at a rank into weights_.
  Rank Weigh(size_t rank);
  double LogProbability(const Rank& at, size_t rank, size_t place) const;
  // Returns the index in left_ of a position that is left.
  size_t PlaceOf(int32_t position) const;
  void Take(size_t place);
  // Writes the indexes in left_ of the ranks from num_single_ on.
  void FindRest(std::span<const int32_t> order);
  double FactorAt(size_t rank) const;

  std::span<const double> factors_;
  double alpha_ = 1;
  uint32_t top_k_ = 1;
  size_t num_single_ = 0;  // Ranks that are drawn one by one.
  std::vector<double> scores_;
  std::vector<int32_t> left_;  // Positions, ascending.
  std::vector<double> left_scores_;
  std::vector<double> weights_;
  std::vector<double> numbers_;
  std::vector<int32_t> rest_;  // Indexes in left_, by rank.
  std::vector<double> rest_conditionals_;
  std::vector<double> by_place_;
};

}  // namespace sortition
