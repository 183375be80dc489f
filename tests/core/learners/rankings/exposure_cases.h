#pragma once
// Random decisions with gains and logged exposures.
#include <vector>

#include "core/learners/rankings/exposures.h"
#include "tests/core/learners/rankings/ranked_tuples.h"

namespace sortition {

struct ExposureData {
  ExposureData(double epsilon, size_t n, uint64_t seed)
      : family(RankFamily(3, epsilon)), tuples(RandomTuples(family, n, seed)) {
    RandomSequence random(SeedKey(seed + 1));
    for (size_t i = 0; i < n; ++i) {
      gains.emplace_back();
      logged.emplace_back();
      for (size_t d = 0; d < tuples[i].num_candidates(); ++d) {
        gains.back().push_back(i % 4 == 3 ? 0.4 : random.Normal());
        logged.back().push_back(0.1 + random.Uniform());
      }
      weights.push_back(0.5 + random.Uniform());
    }
  }

  ExposureProblem Problem() const {
    return {.family = family,
            .tuples = tuples,
            .discounts = {1, 0.6, 0.3},
            .weights = weights,
            .tolerance = 1e-13};
  }

  LinearFamily family;
  std::vector<BanditTuple> tuples;
  std::vector<std::vector<double>> gains;
  std::vector<std::vector<double>> logged;
  std::vector<double> weights;
};

// Returns e_d by summing over all orders.
inline std::vector<double> EnumeratedExposures(
    const LinearFamily& family, const std::vector<double>& scores,
    const std::vector<double>& discounts) {
  std::vector<double> exposures(scores.size(), 0);
  const size_t ranks = std::min(scores.size(), discounts.size());
  for (const Action& order : AllOrders(scores.size(), ranks)) {
    const double p = ServedProbability(family, scores, order);
    for (size_t k = 0; k < ranks; ++k) exposures[order[k]] += p * discounts[k];
  }
  return exposures;
}

}  // namespace sortition
