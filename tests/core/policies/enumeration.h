#pragma once
// Small distributions over actions, enumerated: the oracle of the policies.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"
#include "gtest/gtest.h"

namespace sortition {

// A distribution and the candidates it ranks or selects.
struct DistributionCase {
  std::string name;
  ActionKind kind = ActionKind::kSelect;
  std::vector<double> scores;
  std::optional<double> abstain_score;
  uint32_t top_k = 1;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  // kRank: Boltzmann instead of Plackett-Luce.
  std::optional<model::v1::BoltzmannRanking> boltzmann;

  ScoredCandidates Candidates() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.abstain_score = abstain_score;
    candidates.top_k = top_k;
    return candidates;
  }

  model::v1::Policy Policy() const {
    model::v1::Policy policy;
    policy.set_inverse_temperature(inverse_temperature);
    policy.set_uniform_mixture(uniform_mixture);
    if (boltzmann) {
      *policy.mutable_boltzmann_ranking() = *boltzmann;
    } else if (kind == ActionKind::kRank) {
      policy.mutable_plackett_luce();
    } else if (abstain_score) {
      policy.mutable_softmax_selection()->set_abstain_score(*abstain_score);
    } else {
      policy.mutable_softmax_selection();
    }
    return policy;
  }

  std::unique_ptr<const ActionDistribution> Distribution() const {
    auto distribution = MakeActionDistribution(Policy());
    CHECK(distribution.ok());
    return *std::move(distribution);
  }
};

// Names the instances of a parameterised test.
inline std::string CaseName(
    const testing::TestParamInfo<DistributionCase>& test) {
  return test.param.name;
}

inline void AppendOrders(int32_t m, uint32_t top_k, Action* prefix,
                         std::vector<Action>* orders) {
  if (prefix->size() == top_k) {
    orders->push_back(*prefix);
    return;
  }
  for (int32_t i = 0; i < m; ++i) {
    if (std::find(prefix->begin(), prefix->end(), i) != prefix->end()) continue;
    prefix->push_back(i);
    AppendOrders(m, top_k, prefix, orders);
    prefix->pop_back();
  }
}

// Every action of the case.
inline std::vector<Action> AllActions(const DistributionCase& c) {
  std::vector<Action> actions;
  const auto m = static_cast<int32_t>(c.scores.size());
  if (c.kind == ActionKind::kRank) {
    Action prefix;
    AppendOrders(m, c.top_k, &prefix, &actions);
    return actions;
  }
  for (int32_t i = 0; i < m; ++i) actions.push_back({i});
  if (c.abstain_score) actions.push_back({kAbstain});
  return actions;
}

// Returns the probability of an order's first ranks, for candidates with these
// logits.
inline long double PlackettLuceProbability(const std::vector<double>& logits,
                                           const Action& action) {
  const auto weight = [](double logit) {
    return std::exp(static_cast<long double>(logit));
  };
  long double p = 1;
  std::vector<bool> taken(logits.size());
  for (const int32_t chosen : action) {
    long double left = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (!taken[i]) left += weight(logits[i]);
    }
    p *= weight(logits[chosen]) / left;
    taken[chosen] = true;
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
  } else if (c.kind == ActionKind::kRank) {
    std::vector<double> logits = c.scores;
    for (double& logit : logits) logit *= c.inverse_temperature;
    p = PlackettLuceProbability(logits, action);
  } else {
    long double total = c.abstain_score ? weight(*c.abstain_score) : 0.0L;
    for (const double score : c.scores) total += weight(score);
    p = weight(action[0] == kAbstain ? *c.abstain_score : c.scores[action[0]]) /
        total;
  }
  const auto epsilon = static_cast<long double>(c.uniform_mixture);
  return (1 - epsilon) * p + epsilon / static_cast<long double>(num_actions);
}

inline DistributionCase BoltzmannCase(const std::string& name,
                                      std::vector<double> scores,
                                      uint32_t top_k, uint32_t head = 0) {
  DistributionCase c;
  c.name = "Boltzmann" + name;
  c.kind = ActionKind::kRank;
  c.scores = std::move(scores);
  c.top_k = top_k;
  c.boltzmann.emplace().set_head(head);
  c.boltzmann->set_rank_weights(model::v1::BoltzmannRanking::DCG);
  return c;
}

// All kinds of rank weights, with and without a tail, with prefixes and
// mixtures.
inline std::vector<DistributionCase> BoltzmannCases() {
  const std::vector<double> spread = {0.3, -1.2, 0.8, 0.0, 1.6, -0.4};
  const std::vector<double> ties = {1, 0, 1, 0, 1};
  std::vector<DistributionCase> cases = {
      BoltzmannCase("All", spread, 6),
      BoltzmannCase("Top2", spread, 2),
      BoltzmannCase("Ties", ties, 5),
      BoltzmannCase("One", {-3}, 1),
      BoltzmannCase("Far", {1e3, -1e3, 1e3, -999, 0}, 5),
      BoltzmannCase("Tail", spread, 6, 3),
      BoltzmannCase("TailTop2", spread, 2, 3),
      BoltzmannCase("TailTop4", spread, 4, 3),
      BoltzmannCase("TailTies", ties, 5, 2),
      BoltzmannCase("HeadOfOne", {0.5, 1.5, 1}, 3, 1)};
  DistributionCase c = BoltzmannCase("Linear", spread, 3);
  c.boltzmann->set_rank_weights(model::v1::BoltzmannRanking::LINEAR);
  c.boltzmann->set_cutoff(4);
  cases.push_back(c);
  c = BoltzmannCase("Custom", spread, 2);
  c.boltzmann->set_rank_weights(model::v1::BoltzmannRanking::CUSTOM);
  for (const double a : {2.0, 0.5, -1.0}) c.boltzmann->add_weights(a);
  c.inverse_temperature = 1.5;
  cases.push_back(c);
  c = BoltzmannCase("CutoffMixed", spread, 2);
  c.boltzmann->set_cutoff(2);
  c.uniform_mixture = 0.2;
  cases.push_back(c);
  c = BoltzmannCase("TailMixed", spread, 5, 3);
  c.boltzmann->set_tail_scale(2);
  c.uniform_mixture = 0.3;
  cases.push_back(c);
  c.name = "BoltzmannTailPlackettLuce";
  c.uniform_mixture = 0;
  c.boltzmann->set_plackett_luce_mixture(0.4);
  c.boltzmann->set_plackett_luce_scale(0.5);
  cases.push_back(c);
  c.name = "BoltzmannTailBothMixtures";
  c.uniform_mixture = 0.1;
  cases.push_back(c);
  c.name = "BoltzmannTop2BothMixtures";
  c.top_k = 2;
  c.inverse_temperature = 2.5;
  cases.push_back(c);
  c.name = "BoltzmannPlackettLuceAlone";
  c.boltzmann->set_plackett_luce_mixture(1);
  cases.push_back(c);
  c.name = "BoltzmannUniform";
  c.uniform_mixture = 1;
  cases.push_back(c);
  return cases;
}

// Cases of up to 6 candidates: selections with and without abstaining, full
// orders and prefixes, with ties, one candidate, equal and extreme scores,
// pure, mixed with uniform and uniform; and BoltzmannCases().
inline std::vector<DistributionCase> AllCases() {
  struct Scores {
    std::string name;
    std::vector<double> values;
  };
  const std::vector<Scores> all_scores = {
      {"Spread", {0.3, -1.2, 0.8, 0.0, 1.6, -0.4}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.7, 0.7, 0.7, 0.7}},
      {"One", {-3.0}},
      {"Two", {0.5, 1.5}},
      {"Extreme", {1e4, -1e4, 1e4, -9999.0, 0.0}},
      {"AllLow", {-1e4, -1e4 + 1, -1e4 + 0.5}},
      {"AllHigh", {1e4, 1e4 - 1, 1e4 - 0.5}},
  };
  std::vector<DistributionCase> cases;
  for (const Scores& scores : all_scores) {
    for (const double epsilon : {0.0, 0.2, 1.0}) {
      const std::string mixture = epsilon == 0   ? ""
                                  : epsilon == 1 ? "Uniform"
                                                 : "Mixed";
      DistributionCase c;
      c.scores = scores.values;
      c.uniform_mixture = epsilon;
      c.name = "Select" + scores.name + mixture;
      cases.push_back(c);
      c.abstain_score = scores.values[0] - 0.25;
      c.name = "SelectAbstain" + scores.name + mixture;
      cases.push_back(c);
      c.abstain_score.reset();
      c.kind = ActionKind::kRank;
      c.top_k = static_cast<uint32_t>(scores.values.size());
      c.name = "RankAll" + scores.name + mixture;
      cases.push_back(c);
      if (c.top_k < 3) continue;
      c.top_k = 2;
      c.name = "RankTop2" + scores.name + mixture;
      cases.push_back(c);
    }
  }
  DistributionCase hot;
  hot.name = "RankAllTemperature";
  hot.kind = ActionKind::kRank;
  hot.scores = {3e-4, -1e-4, 2e-4, 0};
  hot.top_k = 4;
  hot.inverse_temperature = 1e4;
  cases.push_back(hot);
  for (const DistributionCase& c : BoltzmannCases()) cases.push_back(c);
  return cases;
}

}  // namespace sortition
