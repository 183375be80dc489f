#pragma once
// Small distributions over subsets, enumerated: the oracle of the policies.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

struct SubsetCase {
  std::string name;
  std::vector<double> scores;
  double threshold = 0;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  uint32_t k = 0;  // As in the policy.
  uint32_t asked = 0;

  uint32_t Size() const {
    return std::min(asked > 0 ? asked : k,
                    static_cast<uint32_t>(scores.size()));
  }

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.threshold = threshold;
    candidates.top_k = asked;
    return candidates;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    policy.mutable_independent_subset()->set_threshold(threshold);
    policy.mutable_independent_subset()->set_k(k);
    auto distribution = MakeActionDistribution(policy);
    CHECK(distribution.ok());
    return *std::move(distribution);
  }
};

// Returns the positions whose bits are set.
inline Action SubsetOf(uint32_t bits) {
  Action subset;
  for (int32_t i = 0; bits >> i != 0; ++i) {
    if ((bits >> i & 1) != 0) subset.push_back(i);
  }
  return subset;
}

inline std::vector<Action> AllSubsets(const SubsetCase& c) {
  std::vector<Action> subsets;
  for (uint32_t bits = 0; bits < 1u << c.scores.size(); ++bits) {
    if (c.Size() > 0 && std::popcount(bits) != static_cast<int>(c.Size())) {
      continue;
    }
    subsets.push_back(SubsetOf(bits));
  }
  return subsets;
}

// The probability by its definition, in long double: the product of the weights
// of the members over the sum of the products of all subsets. Every weight is
// divided by the largest.
inline long double ExactProbability(const SubsetCase& c, const Action& subset) {
  const auto log_weight = [&c](const Action& members) {
    long double sum = 0;
    for (const int32_t i : members) {
      sum += static_cast<long double>(c.inverse_temperature) *
             static_cast<long double>(c.scores[i] - c.threshold);
    }
    return sum;
  };
  const std::vector<Action> all = AllSubsets(c);
  long double largest = -HUGE_VALL;
  for (const Action& other : all) {
    largest = std::max(largest, log_weight(other));
  }
  long double total = 0;
  for (const Action& other : all) {
    total += std::exp(log_weight(other) - largest);
  }
  const auto epsilon = static_cast<long double>(c.uniform_mixture);
  return (1 - epsilon) * (std::exp(log_weight(subset) - largest) / total) +
         epsilon / static_cast<long double>(all.size());
}

}  // namespace sortition
