#pragma once
// Random ranked tuples, and sums over all orders to compare with.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {

inline LinearFamily RankFamily(uint32_t num_features, double epsilon) {
  LinearFamily family;
  family.action_kind = ActionKind::kRank;
  family.num_features = num_features;
  family.uniform_mixture = epsilon;
  return family;
}

// Owns what a RankedLog shows. The logged probabilities are those of a policy
// at random parameters, but conditionals are made up. Every third tuple has no
// losses, every seventh was shown something else than its action.
struct RankedTuples {
  RankedTuples(double epsilon, size_t n, uint64_t seed)
      : family(RankFamily(3, epsilon)), tuples(RandomTuples(family, n, seed)) {
    RandomSequence random(SeedKey(seed + 1));
    for (size_t i = 0; i < n; ++i) {
      RankedTuple tuple;
      const size_t shown = 1 + random.Below(tuples[i].action.size());
      for (size_t k = 0; k < shown; ++k) {
        tuple.losses.push_back(
            i % 3 == 2 || random.Uniform() < 0.4 ? 0 : -random.Uniform());
        tuple.log_conditionals.push_back(
            std::log(0.1 + 0.6 * random.Uniform()));
        tuple.log_marginals.push_back(std::log(0.1 + 0.6 * random.Uniform()));
      }
      tuples[i].action_shown = i % 7 != 3;
      ranks.push_back(std::move(tuple));
      weights.push_back(0.5 + random.Uniform());
    }
  }

  RankedLog Log() const { return {family, tuples, ranks, weights}; }

  LinearFamily family;
  std::vector<BanditTuple> tuples;
  std::vector<RankedTuple> ranks;
  std::vector<double> weights;
};

// Returns the scores of all rows of a tuple.
inline std::vector<double> ScoresOf(const BanditTuple& tuple,
                                    const Eigen::VectorXd& w) {
  std::vector<double> scores;
  for (uint32_t row = 0; row < tuple.num_candidates(); ++row) {
    scores.push_back(tuple.candidates().Score(
        row, {w.data(), static_cast<size_t>(w.size())}));
  }
  return scores;
}

// One decision about a few candidates with dense random features.
inline BanditTuple RandomDecision(uint32_t num_features, size_t n,
                                  RandomSequence* random) {
  BanditTuple tuple;
  tuple.num_features = num_features;
  for (size_t j = 0; j < n * num_features; ++j) {
    tuple.values.push_back(static_cast<float>(random->Normal()));
  }
  return tuple;
}

inline std::vector<Action> AllOrders(size_t n, size_t top_k) {
  std::vector<Action> orders;
  Action prefix;
  AppendOrders(static_cast<int32_t>(n), static_cast<uint32_t>(top_k), &prefix,
               &orders);
  return orders;
}

// Returns h of the first ranks of orders, by the distribution that serves.
inline double ServedProbability(const LinearFamily& family,
                                const std::vector<double>& scores,
                                const Action& order) {
  return Probability(Ranking(scores, static_cast<uint32_t>(order.size()),
                             family.uniform_mixture),
                     order);
}

// Returns the log-probability of each rank given those above, likewise.
inline std::vector<double> ServedConditionals(const LinearFamily& family,
                                              const std::vector<double>& scores,
                                              const Action& order) {
  const DistributionCase c = Ranking(
      scores, static_cast<uint32_t>(order.size()), family.uniform_mixture);
  std::vector<double> conditionals;
  c.Distribution()->ConditionalLogPropensities(c.Candidates(), order,
                                               &conditionals);
  return conditionals;
}

// All orders of one decision as tuples of a log, each with its probability
// under the policy that logs: what an expectation over the log sums over.
struct EveryOrder {
  // `loss` is called with an order and a rank.
  template <typename Loss>
  EveryOrder(const LinearFamily& log_family, const BanditTuple& decision,
             size_t shown, const Eigen::VectorXd& logging, const Loss& loss)
      : family(log_family) {
    const std::vector<double> scores = ScoresOf(decision, logging);
    for (const Action& order : AllOrders(scores.size(), shown)) {
      BanditTuple tuple = decision;
      tuple.action = order;
      tuple.log_propensity = std::log(ServedProbability(family, scores, order));
      RankedTuple ranked;
      ranked.log_conditionals = ServedConditionals(family, scores, order);
      for (size_t k = 0; k < shown; ++k) {
        ranked.losses.push_back(loss(order, k));
      }
      probabilities.push_back(std::exp(tuple.log_propensity));
      tuples.push_back(std::move(tuple));
      ranks.push_back(std::move(ranked));
    }
    // Marginals of the policy that logs, by summing.
    std::vector<double> marginals(shown * scores.size(), 0);
    for (size_t i = 0; i < tuples.size(); ++i) {
      for (size_t k = 0; k < shown; ++k) {
        marginals[k * scores.size() + tuples[i].action[k]] += probabilities[i];
      }
    }
    for (size_t i = 0; i < tuples.size(); ++i) {
      for (size_t k = 0; k < shown; ++k) {
        ranks[i].log_marginals.push_back(
            std::log(marginals[k * scores.size() + tuples[i].action[k]]));
      }
    }
  }

  RankedLog Log() const { return {family, tuples, ranks}; }

  // Returns Σ probability · value over the orders.
  double Expectation(const std::vector<double>& values) const {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      sum += probabilities[i] * values[i];
    }
    return sum;
  }

  // Returns Σ_k E[δ_k] under the policy at w, for the losses that are logged.
  double TrueValue(const Eigen::VectorXd& w) const {
    const std::vector<double> scores = ScoresOf(tuples[0], w);
    double sum = 0;
    for (size_t i = 0; i < tuples.size(); ++i) {
      double losses = 0;
      for (const double loss : ranks[i].losses) losses += loss;
      sum += losses * ServedProbability(family, scores, tuples[i].action);
    }
    return sum;
  }

  LinearFamily family;
  std::vector<BanditTuple> tuples;
  std::vector<RankedTuple> ranks;
  std::vector<double> probabilities;
};

}  // namespace sortition
