#pragma once
// Rank marginals by summing over all orders: the oracle of the exact ones.
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {

// Returns m[d][k] at [k * n + d], given the probability of each order of the
// first top_k ranks.
template <typename Probability>
std::vector<double> MarginalsOverOrders(size_t n, uint32_t top_k,
                                        const Probability& probability) {
  std::vector<Action> orders;
  Action prefix;
  AppendOrders(static_cast<int32_t>(n), top_k, &prefix, &orders);
  std::vector<long double> sums(top_k * n, 0);
  for (const Action& order : orders) {
    const long double p = probability(order);
    for (size_t k = 0; k < top_k; ++k) sums[k * n + order[k]] += p;
  }
  return {sums.begin(), sums.end()};
}

inline std::vector<double> EnumeratedMarginals(
    const std::vector<double>& logits, uint32_t top_k) {
  return MarginalsOverOrders(logits.size(), top_k, [&](const Action& order) {
    return PlackettLuceProbability(logits, order);
  });
}

// Normal numbers times `scale`.
inline std::vector<double> RandomLogits(size_t n, double scale,
                                        RandomSequence* random) {
  std::vector<double> logits(n);
  for (double& logit : logits) logit = scale * random->Normal();
  return logits;
}

}  // namespace sortition
