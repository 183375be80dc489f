#pragma once
// Plackett-Luce orders of a few candidates, written out one by one, and users
// whose rewards are known functions of an order.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/rankings/ranking_sums.h"

namespace sortition::testing_rankings {

using Order = std::vector<int>;

// Bound of the rounding of sums over enumerated orders.
inline constexpr double kTolerance = 1e-10;

// The key of a test's random numbers.
inline Hash128 KeyOf(uint64_t seed) { return {seed, 0x52616e6b}; }

// Orders of the first `num_logged` of all candidates.
struct Orders {
  std::vector<double> scores;
  size_t num_logged = 0;

  std::vector<double> Conditional(std::span<const int> above) const {
    std::vector<double> p(scores.size());
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      if (std::find(above.begin(), above.end(), static_cast<int>(i)) ==
          above.end()) {
        p[i] = std::exp(scores[i]);
        sum += p[i];
      }
    }
    for (double& each : p) each /= sum;
    return p;
  }

  std::vector<double> LogConditionals(const Order& order) const {
    std::vector<double> logs;
    for (size_t k = 0; k < order.size(); ++k) {
      const double p =
          Conditional(std::span(order).first(k))[static_cast<size_t>(order[k])];
      logs.push_back(std::log(p));
    }
    return logs;
  }

  double Probability(const Order& order) const {
    const std::vector<double> logs = LogConditionals(order);
    return std::exp(std::accumulate(logs.begin(), logs.end(), 0.0));
  }

  void ForEach(const std::function<void(const Order&)>& visit) const {
    Order order;
    const std::function<void()> extend = [&] {
      if (order.size() == num_logged) return visit(order);
      for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
        if (std::find(order.begin(), order.end(), i) != order.end()) continue;
        order.push_back(i);
        extend();
        order.pop_back();
      }
    };
    extend();
  }

  // P(item is at rank), by enumeration.
  double Marginal(int item, size_t rank) const {
    double sum = 0;
    ForEach([&](const Order& order) {
      if (order[rank] == item) sum += Probability(order);
    });
    return sum;
  }

  double Mean(const std::function<double(const Order&)>& f) const {
    double sum = 0;
    ForEach([&](const Order& order) { sum += Probability(order) * f(order); });
    return sum;
  }

  Order Draw(RandomSequence* random) const {
    Order order;
    while (order.size() < num_logged) {
      const std::vector<double> p = Conditional(order);
      double u = random->Uniform();
      size_t i = 0;
      while (i + 1 < p.size() && (p[i] == 0 || u >= p[i])) u -= p[i++];
      order.push_back(static_cast<int>(i));
    }
    return order;
  }
};

// Attractiveness of items.
inline constexpr double kAttraction[] = {0.9, 0.2, 0.5, 0.35, 0.7};

inline double AttractionOf(int item) {
  return kAttraction[static_cast<size_t>(item)];
}

enum class Users {
  kIndependent,  // The item and its rank.
  kCascade,      // Less, the better what stands above is.
  kShown,        // Less, the better the shown others are.
  kWhole,        // Less, the better what was logged but not shown is.
};

// The mean reward of a shown rank.
inline double RewardOf(Users users, const Order& order, size_t rank,
                       size_t num_shown) {
  const double own =
      AttractionOf(order[rank]) / (1 + 0.5 * static_cast<double>(rank));
  double factor = 1;
  for (size_t j = 0; j < order.size(); ++j) {
    const bool matters =
        (users == Users::kCascade && j < rank) ||
        (users == Users::kShown && j != rank && j < num_shown) ||
        (users == Users::kWhole && j >= num_shown);
    if (matters) factor *= 1 - 0.8 * AttractionOf(order[j]);
  }
  return own * factor;
}

// A decision with all that it points to.
struct Decision {
  std::vector<double> rewards;
  std::vector<double> log_conditionals;
  std::vector<double> log_marginals;
  std::vector<double> target_conditionals;
  std::vector<double> target_marginals;
  std::vector<double> prefix_logged, prefix_policy;
  std::vector<double> position_logged, position_policy;
  double whole_reward = 0;
  size_t segment = 0;
  double pseudo_inverse_weight = 1;

  RankedDecision View() const {
    return {.rewards = rewards,
            .whole_reward = whole_reward,
            .log_conditionals = log_conditionals,
            .log_marginals = log_marginals,
            .segment = segment};
  }
  JudgedRanking Judged() const {
    return {.log_conditionals = target_conditionals,
            .log_marginals = target_marginals,
            .prefix_logged = prefix_logged,
            .prefix_policy = prefix_policy,
            .position_logged = position_logged,
            .position_policy = position_policy,
            .pseudo_inverse_weight = pseudo_inverse_weight};
  }
};

inline constexpr RankingInputs kAllInputs = {.marginals = true,
                                             .prefix_model = true,
                                             .position_model = true,
                                             .pseudo_inverse = true};

// A log and a policy to be judged from it.
struct World {
  Orders logging;
  Orders target;
  size_t num_shown = 0;
  // By item and rank, computed once.
  std::vector<std::vector<double>> logging_marginals, target_marginals;

  World(std::vector<double> logging_scores, std::vector<double> target_scores,
        size_t num_logged, size_t shown)
      : logging{std::move(logging_scores), num_logged},
        target{std::move(target_scores), num_logged},
        num_shown(shown) {
    for (int i = 0; i < static_cast<int>(logging.scores.size()); ++i) {
      logging_marginals.emplace_back();
      target_marginals.emplace_back();
      for (size_t k = 0; k < num_logged; ++k) {
        logging_marginals.back().push_back(logging.Marginal(i, k));
        target_marginals.back().push_back(target.Marginal(i, k));
      }
    }
  }

  // Models that are wrong: of a prefix, and of an item at a rank.
  static double PrefixModel(std::span<const int> above, int item) {
    double q = 0.3 * AttractionOf(item) + 0.1;
    for (const int other : above) q += 0.07 * other * (item + 1) - 0.1;
    return q;
  }
  static double PositionModel(int item, size_t rank) {
    return 0.2 + 0.13 * item - 0.05 * static_cast<double>(rank * rank);
  }

  // Without rewards.
  Decision Make(const Order& order) const {
    Decision decision;
    decision.log_conditionals = logging.LogConditionals(order);
    decision.target_conditionals = target.LogConditionals(order);
    for (size_t k = 0; k < num_shown; ++k) {
      const auto item = static_cast<size_t>(order[k]);
      decision.log_marginals.push_back(std::log(logging_marginals[item][k]));
      decision.target_marginals.push_back(std::log(target_marginals[item][k]));
      const std::span<const int> above = std::span(order).first(k);
      decision.prefix_logged.push_back(PrefixModel(above, order[k]));
      decision.position_logged.push_back(PositionModel(order[k], k));
      const std::vector<double> p = target.Conditional(above);
      double by_prefix = 0;
      double by_position = 0;
      for (int i = 0; i < static_cast<int>(p.size()); ++i) {
        const auto at = static_cast<size_t>(i);
        if (p[at] > 0) by_prefix += p[at] * PrefixModel(above, i);
        by_position += target_marginals[at][k] * PositionModel(i, k);
      }
      decision.prefix_policy.push_back(by_prefix);
      decision.position_policy.push_back(by_position);
    }
    return decision;
  }

  Decision Make(const Order& order, Users users) const {
    Decision decision = Make(order);
    for (size_t k = 0; k < num_shown; ++k) {
      decision.rewards.push_back(RewardOf(users, order, k, num_shown));
    }
    return decision;
  }

  // With rewards 0 and 1.
  Decision Draw(Users users, RandomSequence* random) const {
    Decision decision = Make(logging.Draw(random), users);
    for (double& reward : decision.rewards) {
      reward = random->Uniform() < reward ? 1 : 0;
    }
    return decision;
  }
};

// Four candidates, of which the logging policy orders `num_logged` and users
// see `num_shown`.
inline World WorldOfFour(size_t num_logged, size_t num_shown) {
  return World({0.3, -0.2, 0.1, 0.5}, {-0.5, 0.9, 0.2, -0.1}, num_logged,
               num_shown);
}

// A hash of a unit with mixed bits.
inline uint64_t MixedUnit(uint64_t unit) {
  uint64_t hash = unit * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

// Adds a decision, and what its policy does.
inline absl::Status AddTo(RankingSums* sums, uint64_t unit, double share,
                          const Decision& decision) {
  const JudgedRanking judged = decision.Judged();
  return sums->Add(MixedUnit(unit), share, decision.View(), {&judged, 1});
}

// The weights of ranks.
inline const std::vector<double> kAlpha = {1, 0.8, 0.5};

// Five candidates; four are logged, three shown.
inline World FewShown() {
  return World({0.3, -0.2, 0.1, 0.5, -0.4}, {-0.5, 0.9, 0.2, -0.1, 0.7}, 4, 3);
}

// Σ_k α_k r_k
inline double SumOf(Users users, const Order& order, size_t num_shown) {
  double sum = 0;
  for (size_t k = 0; k < num_shown; ++k) {
    sum += kAlpha[k] * RewardOf(users, order, k, num_shown);
  }
  return sum;
}

inline double TrueValue(const World& world, Users users) {
  return world.target.Mean(
      [&](const Order& order) { return SumOf(users, order, world.num_shown); });
}

}  // namespace sortition::testing_rankings
