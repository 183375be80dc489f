#pragma once
// The cases of the policies whose actions can be enumerated.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/policies/distribution_case.h"
#include "tests/core/policies/exact_probability.h"

namespace sortition {

inline DistributionCase BoltzmannCase(const std::string& name,
                                      std::vector<double> scores,
                                      uint32_t top_k, uint32_t head = 0) {
  DistributionCase c = Ranking(std::move(scores), top_k);
  c.name = "Boltzmann" + name;
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

// Plackett-Luce with factors that do not rise, and with factors that do.
inline std::vector<DistributionCase> FactoredCases() {
  DistributionCase c = Ranking({0.3, -1.2, 0.8, 0.0, 1.6}, 5);
  std::vector<DistributionCase> cases;
  const auto add = [&](const std::string& name, std::vector<double> factors) {
    c.name = "Factored" + name;
    c.rank_factors = std::move(factors);
    cases.push_back(c);
  };
  add("One", {0.5});
  add("Falling", {2, 1, 0.5});
  add("Rising", {0.25, 1, 2});
  add("MoreThanRanks", {2, 1.5, 1, 1, 0.5, 0.25, 3});
  c.uniform_mixture = 0.2;
  add("Mixed", {0.5, 2});
  c.uniform_mixture = 1;
  add("Uniform", {2, 1});
  c.uniform_mixture = 0;
  c.top_k = 2;
  add("Top2", {1.5, 1, 0.5});
  add("Top2OfOne", {2, 1});
  c.inverse_temperature = 1.5;
  c.uniform_mixture = 0.1;
  add("Top2Mixed", {0.5, 1, 0.25});
  c.uniform_mixture = 0;
  c.inverse_temperature = 1;
  c.top_k = 5;
  c.scores = {1, 0, 1, 0, 1};
  add("Ties", {2, 0.5, 0.25});
  c.scores = {-3};
  c.top_k = 1;
  add("OneCandidate", {2, 1});
  return cases;
}

// The order by score with all its ways of exploring; it has no gradient.
inline std::vector<DistributionCase> SortedCases() {
  DistributionCase c = Ranking({0.3, -1.2, 0.8, 0.0, 1.6}, 5);
  std::vector<DistributionCase> cases;
  const auto add = [&](const std::string& name, double swap, double shuffle,
                       uint32_t ranks) {
    c.name = "Sorted" + name;
    c.sorted.emplace().set_swap_probability(swap);
    c.sorted->set_shuffle_probability(shuffle);
    c.sorted->set_shuffle_ranks(ranks);
    cases.push_back(c);
  };
  add("Swaps", 0.3, 0, 0);
  add("Never", 0, 0, 0);
  add("Shuffle", 0, 0.4, 3);
  add("Both", 0.5, 0.25, 3);
  add("ShuffleMoreThanAll", 0.2, 0.25, 9);
  c.uniform_mixture = 0.2;
  add("BothMixed", 0.3, 0.25, 2);
  c.uniform_mixture = 1;
  add("Uniform", 0.3, 0.25, 2);
  c.uniform_mixture = 0;
  for (const uint32_t top_k : {1u, 2u, 3u, 4u}) {
    c.top_k = top_k;
    const std::string name = "Top" + std::to_string(top_k);
    add(name, 0.4, 0, 0);
    add(name + "Shuffle", 0.4, 0.25, 3);
  }
  c.uniform_mixture = 0.1;
  c.inverse_temperature = 1.5;
  add("Top4Mixed", 0.4, 0.25, 2);
  c.uniform_mixture = 0;
  c.scores = {1, 0, 1, 0, 1};
  c.top_k = 5;
  add("Ties", 0.5, 0, 0);
  c.scores = {0.5, 1.5};
  c.top_k = 2;
  add("Two", 0.3, 0, 0);
  c.scores = {-3};
  c.top_k = 1;
  add("One", 0.3, 0.25, 2);
  return cases;
}

// Sets of any and of a fixed size, in the policy or asked for.
inline std::vector<DistributionCase> SubsetCases() {
  const auto base = [](const std::string& name, std::vector<double> scores,
                       double threshold = 0, double alpha = 1) {
    DistributionCase c = SubsetCase(std::move(scores));
    c.name = name;
    c.subset->set_threshold(threshold);
    c.inverse_temperature = alpha;
    return c;
  };
  std::vector<DistributionCase> cases;
  for (DistributionCase c : {
           base("Spread", {0.3, -1.2, 0.8, 0.0, 1.6, -0.4}),
           base("Threshold", {0.3, -1.2, 0.8, 0.0, 1.6}, 0.7),
           base("Ties", {1.0, 0.0, 1.0, 0.0}, 0.5, 3),
           base("AllZero", {0, 0, 0}),
           base("One", {-3.0}),
           base("Extreme", {1e4, -1e4, 9999, 0, 0.5}),
           base("AllLow", {-1e4, -1e4 + 1, -1e4 + 0.5}),
           base("HighThreshold", {1e4, 1e4 - 1, 1e4 + 0.5}, 1e4),
           base("Temperature", {3e-4, -1e-4, 2e-4}, 1e-4, 1e4),
       }) {
    const std::string name = c.name;
    for (const double epsilon : {0.0, 0.2, 1.0}) {
      for (const uint32_t size : {0u, 1u, 2u, 3u, 7u}) {
        c.uniform_mixture = epsilon;
        // A size that is asked for overrides that of the policy.
        c.subset->set_k(size == 2 ? 3 : size);
        c.top_k = size == 2 ? 2 : 0;
        c.name = absl::StrCat("Subset", name, size == 0 ? "Any" : "Size", size,
                              "Mixed", static_cast<int>(10 * epsilon));
        cases.push_back(c);
      }
    }
  }
  return cases;
}

// Up to 6 candidates, discounts of all and of some ranks, whole orders, and
// prefixes shorter and longer than the discounts.
inline std::vector<DistributionCase> GameRankingCases() {
  using model::v1::GameRanking;
  const std::map<std::string, std::vector<double>> all_scores = {
      {"Spread", {0.3, -0.6, 0.8, 0.0, 1.1, -0.4}},
      {"Near", {0.31, 0.3, 0.25, 0.4, 0.33}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.7, 0.7, 0.7, 0.7}},
      {"One", {-3.0}},
      {"Two", {0.5, 0.6}},
      {"Extreme", {1e200, -1e200, 1e200, 0.1, 0.0}},
  };
  const std::map<std::string, GameRanking> games = {
      {"Dcg", Game(GameRanking::DCG, 0)},
      {"DcgAt2", Game(GameRanking::DCG, 2)},
      {"PrecisionAt2", Game(GameRanking::PRECISION, 2)}};
  std::vector<DistributionCase> cases;
  for (const auto& [name, scores] : all_scores) {
    for (const auto& [game_name, game] : games) {
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        for (const uint32_t k : {1u, 3u, 6u}) {
          DistributionCase c = GameRankingCase(
              scores, game, std::min(k, static_cast<uint32_t>(scores.size())),
              epsilon);
          if (k == 3) c.game_ranking->set_block_mixing(0);
          c.name = absl::StrCat("Game", name, game_name, "Top", k, "Mixed",
                                static_cast<int>(epsilon * 10));
          cases.push_back(c);
          if (c.top_k == 1 || epsilon == 1 || scores[0] == 1e200) continue;
          c.game_ranking->set_plackett_luce_mixture(0.3);
          c.game_ranking->set_plackett_luce_scale(3);
          c.name += "PlackettLuce";
          cases.push_back(c);
          c.game_ranking->set_plackett_luce_mixture(1);
          c.name += "Only";
          if (epsilon == 0) cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

inline std::vector<DistributionCase> GameSubsetCases() {
  const std::map<std::string, std::vector<double>> all_scores = {
      {"Spread", {0.3, -0.6, 0.8, 0.0, 1.1, -0.4}},
      {"Near", {0.31, 0.3, 0.25, 0.4, 0.33}},
      {"Ties", {1.0, 0.0, 1.0, 0.0, 1.0}},
      {"AllEqual", {0.2, 0.2, 0.2, 0.2}},
      {"One", {-0.3}},
      {"Two", {0.5, 0.6}},
      {"Extreme", {1e200, -1e200, 1e200, 0.1, 0.0}},
  };
  const std::map<std::string, model::v1::GameSubset> games = {
      {"Precision1", Precision(1)},    {"Precision2", Precision(2, 0.3)},
      {"Precision5", Precision(5)},    {"F1", FBeta(1)},
      {"F2Threshold", FBeta(2, 0.25)}, {"FHalf", FBeta(0.5, -0.1)},
  };
  std::vector<DistributionCase> cases;
  for (const auto& [name, scores] : all_scores) {
    for (const auto& [game_name, game] : games) {
      for (const double epsilon : {0.0, 0.2, 1.0}) {
        DistributionCase c = GameSubsetCase(scores, game, epsilon);
        if (epsilon == 0) c.game_subset->set_block_mixing(0.5);
        c.name = absl::StrCat("GameSubset", name, game_name, "Mixed",
                              static_cast<int>(epsilon * 10));
        cases.push_back(c);
        if (game_name != "Precision2") continue;
        c.top_k = 3;
        c.name += "Asked3";
        cases.push_back(c);
      }
    }
  }
  return cases;
}

// Whether a rank follows the scores more closely than the one above it. Then
// the order by score need not be the most probable one.
inline bool FactorsRise(const DistributionCase& c) {
  const std::vector<double>& f = c.rank_factors;
  return std::adjacent_find(f.begin(), f.end(), std::less<>()) != f.end();
}

// Cases of up to 6 candidates: selections with and without abstaining, full
// orders and prefixes, with ties, one candidate, equal and extreme scores,
// pure, mixed with uniform and uniform; BoltzmannCases() and FactoredCases().
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
  DistributionCase hot = Ranking({3e-4, -1e-4, 2e-4, 0}, 4);
  hot.name = "RankAllTemperature";
  hot.inverse_temperature = 1e4;
  cases.push_back(hot);
  for (const DistributionCase& c : BoltzmannCases()) cases.push_back(c);
  for (const DistributionCase& c : FactoredCases()) cases.push_back(c);
  return cases;
}

}  // namespace sortition
