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
#include "core/policies/action_distribution.h"
#include "gtest/gtest.h"

namespace sortition {

// A distribution and what it is over.
struct DistributionCase {
  std::string name;
  ActionKind kind = ActionKind::kSelect;
  std::vector<double> scores;
  std::optional<double> abstain_score;
  uint32_t top_k = 1;
  double inverse_temperature = 1;
  double uniform_mixture = 0;

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
    if (kind == ActionKind::kRank) {
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

// Of a parameterised test.
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

// Its probability by the definition, in long double, whose exponents hold
// exp(±1e4) and whose rounding is 1/2000 of a double's.
inline long double ExactProbability(const DistributionCase& c,
                                    const Action& action, size_t num_actions) {
  const auto weight = [&c](double score) {
    return std::exp(static_cast<long double>(c.inverse_temperature * score));
  };
  long double p = 1;
  if (c.kind == ActionKind::kRank) {
    std::vector<bool> taken(c.scores.size());
    for (const int32_t chosen : action) {
      long double left = 0;
      for (size_t i = 0; i < c.scores.size(); ++i) {
        if (!taken[i]) left += weight(c.scores[i]);
      }
      p *= weight(c.scores[chosen]) / left;
      taken[chosen] = true;
    }
  } else {
    long double total = c.abstain_score ? weight(*c.abstain_score) : 0.0L;
    for (const double score : c.scores) total += weight(score);
    p = weight(action[0] == kAbstain ? *c.abstain_score : c.scores[action[0]]) /
        total;
  }
  const auto epsilon = static_cast<long double>(c.uniform_mixture);
  return (1 - epsilon) * p + epsilon / static_cast<long double>(num_actions);
}

// Cases of up to 6 candidates: selections with and without abstaining, full
// orders and prefixes, with ties, one candidate, equal and extreme scores,
// pure, mixed with uniform and uniform.
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
  return cases;
}

}  // namespace sortition
