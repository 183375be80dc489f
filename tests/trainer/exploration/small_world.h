#pragma once
// One query with four candidates, of which all 24 orders can be enumerated.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

using OrderProbabilities = std::map<Action, double>;

// By position, falling: the order by score is 0, 1, 2, 3.
inline const std::vector<float>& WorldScores() {
  static const std::vector<float> scores = {1.0f, 0.75f, 0.5f, -0.5f};
  return scores;
}

// Every order has another one. Candidate 1 is best, which the scores put
// second.
inline double WorldReward(const Action& order) {
  constexpr double kWorth[] = {0.5, 0.9, 0.3, 0.1};
  double reward = 0;
  for (size_t r = 0; r < order.size(); ++r) {
    reward += kWorth[order[r]] / std::pow(3.0, static_cast<double>(r + 1));
  }
  return reward;
}

inline std::vector<Action> AllOrders() {
  Action order = {0, 1, 2, 3};
  std::vector<Action> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

// Plackett-Luce with rank factors, mixed with uniform.
inline OrderProbabilities PlackettLuceOrders(double alpha,
                                             std::vector<double> factors = {1},
                                             double uniform = 0) {
  OrderProbabilities probabilities;
  for (const Action& order : AllOrders()) {
    double p = 1;
    for (size_t r = 0; r < order.size(); ++r) {
      const double scale = alpha * factors[std::min(r, factors.size() - 1)];
      double sum = 0;
      for (size_t q = r; q < order.size(); ++q) {
        sum += std::exp(scale * WorldScores()[order[q]]);
      }
      p *= std::exp(scale * WorldScores()[order[r]]) / sum;
    }
    probabilities[order] = (1 - uniform) * p + uniform / 24;
  }
  return probabilities;
}

struct SortedWorld {
  double alpha = 1;
  double swap = 0;
  double shuffle = 0;
  size_t shuffle_ranks = 2;
  double uniform = 0;
};

// The order by score with its swaps and shuffles, by going through all of them.
inline OrderProbabilities SortedOrderProbabilities(const SortedWorld& world) {
  OrderProbabilities probabilities;
  for (const Action& order : AllOrders()) {
    probabilities[order] = world.uniform / 24;
  }
  const double law = 1 - world.uniform;
  // Pairs (0, 1) and (2, 3), or the pair (1, 2); bits say which of them swap.
  const std::vector<std::vector<size_t>> ways = {{0, 2}, {1}};
  for (const std::vector<size_t>& uppers : ways) {
    for (size_t bits = 0; bits < (size_t{1} << uppers.size()); ++bits) {
      Action order = {0, 1, 2, 3};
      double p = law * (1 - world.shuffle) / 2;
      for (size_t i = 0; i < uppers.size(); ++i) {
        const size_t upper = uppers[i];
        const double fall = WorldScores()[upper] - WorldScores()[upper + 1];
        const double swap = 2 * world.swap / (1 + std::exp(world.alpha * fall));
        if ((bits >> i) % 2 == 1) {
          std::swap(order[upper], order[upper + 1]);
          p *= swap;
        } else {
          p *= 1 - swap;
        }
      }
      probabilities[order] += p;
    }
  }
  Action order = {0, 1, 2, 3};
  const auto end = order.begin() + static_cast<long>(world.shuffle_ranks);
  const double shuffles =
      std::tgamma(static_cast<double>(world.shuffle_ranks) + 1);
  do {
    probabilities[order] += law * world.shuffle / shuffles;
  } while (std::next_permutation(order.begin(), end));
  return probabilities;
}

inline double WorldValue(const OrderProbabilities& probabilities) {
  double value = 0;
  for (const auto& [order, p] : probabilities) value += p * WorldReward(order);
  return value;
}

inline model::v1::Model WorldModel(double alpha) {
  model::v1::Model model;
  model.set_name("default");
  model.set_version(3);
  model.set_num_features(1);
  model.add_weights(1);
  model.mutable_policy()->set_inverse_temperature(alpha);
  model.mutable_policy()->mutable_plackett_luce();
  return model;
}

inline BanditTuple WorldTuple(const Action& order, double log_propensity,
                              double reward, size_t number) {
  BanditTuple tuple;
  tuple.values = WorldScores();
  tuple.num_features = 1;
  tuple.action = order;
  tuple.log_propensity = log_propensity;
  tuple.loss = -reward;
  tuple.unit = UnitKey("", absl::StrCat(number));
  return tuple;
}

// A uniform log in which every order is equally frequent: estimates from it are
// exact sums over all orders.
inline std::vector<BanditTuple> UniformWorldLog(size_t copies) {
  std::vector<BanditTuple> tuples;
  for (size_t copy = 0; copy < copies; ++copy) {
    for (const Action& order : AllOrders()) {
      tuples.push_back(WorldTuple(order, -std::log(24.0), WorldReward(order),
                                  tuples.size()));
    }
  }
  return tuples;
}

}  // namespace sortition
