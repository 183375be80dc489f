#pragma once
// The probability of an action by its definition: the oracle of the policies.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/core/policies/distribution_case.h"

namespace sortition {

// Returns the probability of an order's first ranks, for candidates with these
// logits, which are multiplied by the factor of the rank.
inline long double PlackettLuceProbability(
    const std::vector<double>& logits, const Action& action,
    const std::vector<double>& factors = {}) {
  long double p = 1;
  std::vector<bool> taken(logits.size());
  for (size_t r = 0; r < action.size(); ++r) {
    const double factor =
        factors.empty() ? 1 : factors[std::min(r, factors.size() - 1)];
    const auto weight = [factor](double logit) {
      return std::exp(static_cast<long double>(factor * logit));
    };
    const int32_t chosen = action[r];
    long double left = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!taken[i]) left += weight(logits[i]);
    }
    p *= weight(logits[chosen]) / left;
    taken[chosen] = true;
  }
  return p;
}

// Returns the probability of the first ranks of the orders that ways of
// exploring make of `order`: all swaps of the pairs from rank `begin` on.
inline long double ProbabilityOfPairs(const DistributionCase& c, size_t begin,
                                      Action order, const Action& first) {
  if (begin + 1 >= order.size()) {
    return std::equal(first.begin(), first.end(), order.begin()) ? 1 : 0;
  }
  const long double fall = static_cast<long double>(c.scores[order[begin]]) -
                           static_cast<long double>(c.scores[order[begin + 1]]);
  const long double swap = 2 * c.sorted->swap_probability() /
                           (1 + std::exp(c.inverse_temperature * fall));
  const long double kept = ProbabilityOfPairs(c, begin + 2, order, first);
  std::swap(order[begin], order[begin + 1]);
  return (1 - swap) * kept +
         swap * ProbabilityOfPairs(c, begin + 2, order, first);
}

// The same for the shuffle of the first `size` ranks, by counting orders.
inline long double ProbabilityOfShuffle(size_t size, Action order,
                                        const Action& first) {
  const auto end = order.begin() + static_cast<ptrdiff_t>(size);
  std::sort(order.begin(), end);
  long double all = 0;
  long double with_first = 0;
  do {
    ++all;
    with_first += std::equal(first.begin(), first.end(), order.begin()) ? 1 : 0;
  } while (std::next_permutation(order.begin(), end));
  return with_first / all;
}

inline long double ExactSorted(const DistributionCase& c,
                               const Action& action) {
  Action order(c.scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&c](int32_t i, int32_t j) {
    return c.scores[i] > c.scores[j];
  });
  const auto phi = static_cast<long double>(c.sorted->shuffle_probability());
  long double p = (1 - phi) / 2 *
                  (ProbabilityOfPairs(c, 0, order, action) +
                   ProbabilityOfPairs(c, 1, order, action));
  if (phi > 0) {
    const size_t size =
        std::min<size_t>(c.sorted->shuffle_ranks(), order.size());
    p += phi * ProbabilityOfShuffle(size, order, action);
  }
  return p;
}

inline long double BoltzmannRankWeight(const model::v1::BoltzmannRanking& b,
                                       uint32_t r) {
  const bool beyond = b.cutoff() > 0 && r >= b.cutoff();
  if (b.rank_weights() == model::v1::BoltzmannRanking::DCG) {
    return beyond ? 0 : 1 / std::log2(static_cast<long double>(r) + 2);
  }
  if (beyond) r = b.cutoff();
  if (b.rank_weights() == model::v1::BoltzmannRanking::LINEAR) return -1.0L * r;
  return b.weights(std::min(static_cast<int>(r), b.weights_size() - 1));
}

// Returns the probability of the first ranks of orders of `items`, by summing
// over all orders.
inline long double BoltzmannProbability(const model::v1::BoltzmannRanking& b,
                                        const std::vector<double>& psi,
                                        std::vector<int32_t> items,
                                        const Action& first) {
  const auto log_weight = [&](const std::vector<int32_t>& order) {
    long double sum = 0;
    for (uint32_t r = 0; r < order.size(); ++r) {
      sum += BoltzmannRankWeight(b, r) * psi[order[r]];
    }
    return sum;
  };
  std::sort(items.begin(), items.end(),
            [&](int32_t i, int32_t j) { return psi[i] > psi[j]; });
  const long double best = log_weight(items);
  std::sort(items.begin(), items.end());
  long double all = 0;
  long double with_first = 0;
  do {
    const long double weight = std::exp(log_weight(items) - best);
    all += weight;
    if (std::equal(first.begin(), first.end(), items.begin())) {
      with_first += weight;
    }
  } while (std::next_permutation(items.begin(), items.end()));
  return with_first / all;
}

// The product of head and tail, mixed with Plackett-Luce.
inline long double ExactBoltzmann(const DistributionCase& c,
                                  const Action& action) {
  const model::v1::BoltzmannRanking& b = *c.boltzmann;
  std::vector<double> psi;
  std::vector<double> plackett_luce;
  std::vector<int32_t> by_psi;
  for (size_t i = 0; i < c.scores.size(); ++i) {
    psi.push_back(c.inverse_temperature * c.scores[i]);
    by_psi.push_back(static_cast<int32_t>(i));
    plackett_luce.push_back(
        psi[i] * (b.plackett_luce_scale() == 0 ? 1 : b.plackett_luce_scale()));
  }
  std::stable_sort(by_psi.begin(), by_psi.end(),
                   [&](int32_t i, int32_t j) { return psi[i] > psi[j]; });
  const size_t h = std::min<size_t>(psi.size(), b.head() == 0 ? 12 : b.head());
  const size_t num_first = std::min(h, action.size());
  long double p = BoltzmannProbability(
      b, psi, {by_psi.begin(), by_psi.begin() + static_cast<ptrdiff_t>(h)},
      {action.begin(), action.begin() + static_cast<ptrdiff_t>(num_first)});
  std::vector<double> tail_logits;
  Action last;
  for (size_t r = h; r < action.size(); ++r) {
    const auto place = std::find(by_psi.begin() + static_cast<ptrdiff_t>(h),
                                 by_psi.end(), action[r]);
    if (place == by_psi.end()) p = 0;
    last.push_back(static_cast<int32_t>(place - by_psi.begin()) -
                   static_cast<int32_t>(h));
  }
  for (size_t i = h; i < psi.size(); ++i) {
    tail_logits.push_back(psi[by_psi[i]] *
                          (b.tail_scale() == 0 ? 1 : b.tail_scale()));
  }
  if (p > 0) p *= PlackettLuceProbability(tail_logits, last);
  const auto eta = static_cast<long double>(b.plackett_luce_mixture());
  return (1 - eta) * p + eta * PlackettLuceProbability(plackett_luce, action);
}

// The product of the weights of the members over the sum of the products of all
// subsets. Every product is divided by the largest.
inline long double ExactSubset(const DistributionCase& c,
                               const Action& subset) {
  const auto log_weight = [&c](const Action& members) {
    long double sum = 0;
    for (const int32_t i : members) {
      sum += static_cast<long double>(c.inverse_temperature) *
             static_cast<long double>(c.scores[i] - c.Threshold());
    }
    return sum;
  };
  const std::vector<Action> all = AllActions(c);
  long double largest = -HUGE_VALL;
  for (const Action& other : all) {
    largest = std::max(largest, log_weight(other));
  }
  long double total = 0;
  for (const Action& other : all) {
    total += std::exp(log_weight(other) - largest);
  }
  return std::exp(log_weight(subset) - largest) / total;
}

// The probability by its definition, in long double, whose exponents hold
// exp(±1e4) and whose rounding is 1/2000 of a double's.
inline long double ExactProbability(const DistributionCase& c,
                                    const Action& action, size_t num_actions) {
  const auto weight = [&c](double score) {
    return std::exp(static_cast<long double>(c.inverse_temperature * score));
  };
  long double p = 1;
  if (c.boltzmann) {
    p = ExactBoltzmann(c, action);
  } else if (c.sorted) {
    p = ExactSorted(c, action);
  } else if (c.subset) {
    p = ExactSubset(c, action);
  } else if (c.kind == ActionKind::kRank) {
    std::vector<double> logits = c.scores;
    for (double& logit : logits) logit *= c.inverse_temperature;
    p = PlackettLuceProbability(logits, action, c.rank_factors);
  } else {
    long double total = c.abstain_score ? weight(*c.abstain_score) : 0.0L;
    for (const double score : c.scores) total += weight(score);
    p = weight(action[0] == kAbstain ? *c.abstain_score : c.scores[action[0]]) /
        total;
  }
  const auto epsilon = static_cast<long double>(c.uniform_mixture);
  return (1 - epsilon) * p + epsilon / static_cast<long double>(num_actions);
}

}  // namespace sortition
