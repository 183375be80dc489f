// Probabilities that are asked for together with a decision: the same as those
// that are asked for alone, but no game is played twice for them.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;
using model::v1::GameRanking;
using model::v1::GameSubset;

model::v1::Policy PolicyWith(
    const std::function<void(model::v1::Policy*)>& set_kind) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(0.5);
  policy.set_uniform_mixture(0.1);
  set_kind(&policy);
  return policy;
}

std::vector<std::pair<std::string, model::v1::Policy>> Policies() {
  return {
      {"F-score", PolicyWith([](auto* policy) {
         policy->mutable_game_subset()->set_measure(GameSubset::F_BETA);
       })},
      {"precision", PolicyWith([](auto* policy) {
         policy->mutable_game_subset()->set_measure(GameSubset::PRECISION);
         policy->mutable_game_subset()->set_k(2);
       })},
      {"DCG", PolicyWith([](auto* policy) {
         policy->mutable_game_ranking()->set_discount(GameRanking::DCG);
         policy->mutable_game_ranking()->set_plackett_luce_mixture(0.3);
       })},
      {"Boltzmann", PolicyWith([](auto* policy) {
         policy->mutable_boltzmann_ranking()->set_rank_weights(
             BoltzmannRanking::DCG);
       })},
      {"Plackett-Luce",
       PolicyWith([](auto* policy) { policy->mutable_plackett_luce(); })},
      {"factors", PolicyWith([](auto* policy) {
         for (const double f : {2.0, 0.5, 1.0}) {
           policy->mutable_plackett_luce()->add_rank_factors(f);
         }
       })},
      {"sorted", PolicyWith([](auto* policy) {
         policy->mutable_sorted_ranking()->set_swap_probability(0.4);
         policy->mutable_sorted_ranking()->set_shuffle_probability(0.2);
         policy->mutable_sorted_ranking()->set_shuffle_ranks(3);
       })},
      {"softmax",
       PolicyWith([](auto* policy) { policy->mutable_softmax_selection(); })},
      {"independent",
       PolicyWith([](auto* policy) { policy->mutable_independent_subset(); })},
  };
}

// Queries of one feature.
class Queries {
 public:
  Queries() {
    RandomSequence random(SeedKey(3));
    for (float& value : values_) value = static_cast<float>(random.Uniform());
  }
  PolicyQuery operator[](size_t i) const {
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked(std::span(values_).subspan(30 * i, 30), 1);
    return query;
  }

 private:
  std::vector<float> values_ = std::vector<float>(300);
};

TEST(DecidedProbabilitiesTest, AreThoseOfTheQuery) {
  const Queries queries;
  for (const auto& [name, message] : Policies()) {
    ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                         LinearPolicy::Create(message, {1}));
    PolicyWorkspace workspace;
    Draw draw;
    for (uint64_t i = 0; i < 10; ++i) {
      const PolicyQuery query = queries[i];
      const std::vector<double> alone =
          policy.FirstProbabilities(query, nullptr);
      policy.Decide(query, SeedKey(i), &workspace, &draw);
      EXPECT_EQ(policy.DecidedFirstProbabilities(query, &workspace, nullptr),
                alone)
          << name;
      // An action that cannot be is found to be so without any game.
      const std::vector<int32_t> twice = {0, 0};
      policy.LogPropensity(queries[(i + 1) % 10], twice, &workspace);
      policy.LogPropensity(query, twice, &workspace);
      EXPECT_EQ(policy.DecidedFirstProbabilities(query, &workspace, nullptr),
                alone)
          << name;
    }
  }
}

TEST(DecidedProbabilitiesTest, NoGameIsPlayedTwice) {
  ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                       LinearPolicy::Create(Policies()[0].second, {1}));
  int num_looks = 0;
  const std::function<bool()> stop = [&num_looks] {
    ++num_looks;
    return false;
  };
  // A game that takes many rounds.
  std::vector<float> scores;
  for (int i = 0; i < 300; ++i) {
    scores.push_back(0.01f * std::sin(static_cast<float>(i)));
  }
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(scores, 1);
  query.game.stop = &stop;
  PolicyWorkspace workspace;
  Draw draw;
  policy.Decide(query, SeedKey(1), &workspace, &draw);
  const int looks_of_decision = num_looks;
  EXPECT_GT(looks_of_decision, 0);
  policy.DecidedFirstProbabilities(query, &workspace, nullptr);
  EXPECT_EQ(num_looks, looks_of_decision);
  policy.FirstProbabilities(query, nullptr);
  EXPECT_GT(num_looks, looks_of_decision);
}

}  // namespace
}  // namespace sortition
