#include "server/models/self_test.h"

#include <map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

model::v1::Policy Selects(double inverse_temperature, double mixture) {
  model::v1::Policy policy;
  policy.mutable_softmax_selection();
  policy.set_inverse_temperature(inverse_temperature);
  policy.set_uniform_mixture(mixture);
  return policy;
}

model::v1::Policy Ranks(double inverse_temperature, double mixture) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  policy.mutable_plackett_luce();
  return policy;
}

model::v1::Policy Plays(double inverse_temperature, double mixture,
                        uint32_t precision_at) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  auto* game = policy.mutable_game_ranking();
  game->set_discount(precision_at > 0 ? model::v1::GameRanking::PRECISION
                                      : model::v1::GameRanking::DCG);
  game->set_cutoff(precision_at);
  return policy;
}

model::v1::Policy Labels(double inverse_temperature, double mixture,
                         uint32_t precision_at) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  auto* game = policy.mutable_game_subset();
  game->set_measure(precision_at > 0 ? model::v1::GameSubset::PRECISION
                                     : model::v1::GameSubset::F_BETA);
  game->set_k(precision_at);
  game->set_threshold(precision_at > 0 ? 0 : -0.1);
  return policy;
}

model::v1::Policy Independent(double inverse_temperature, double mixture,
                              uint32_t k) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  policy.mutable_independent_subset()->set_k(k);
  return policy;
}

model::v1::Policy Boltzmann(double inverse_temperature, double mixture,
                            uint32_t head) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  auto* boltzmann = policy.mutable_boltzmann_ranking();
  boltzmann->set_rank_weights(head == 0 ? model::v1::BoltzmannRanking::DCG
                                        : model::v1::BoltzmannRanking::LINEAR);
  boltzmann->set_head(head);
  boltzmann->set_plackett_luce_mixture(head == 3 ? 0.3 : 0);
  return policy;
}

model::v1::Policy Factored(double inverse_temperature, double mixture,
                           const std::vector<double>& factors) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  for (const double factor : factors) {
    policy.mutable_plackett_luce()->add_rank_factors(factor);
  }
  return policy;
}

model::v1::Policy Sorted(double inverse_temperature, double mixture,
                         double shuffle) {
  model::v1::Policy policy = Selects(inverse_temperature, mixture);
  policy.mutable_sorted_ranking()->set_swap_probability(0.4);
  policy.mutable_sorted_ranking()->set_shuffle_probability(shuffle);
  policy.mutable_sorted_ranking()->set_shuffle_ranks(3);
  return policy;
}

TEST(SelfTestTest, SoundPoliciesPass) {
  model::v1::Policy abstains = Selects(1, 0.1);
  abstains.mutable_softmax_selection()->set_abstain_score(0.5);
  model::v1::Policy mixed = Plays(1, 0.1, 0);
  mixed.mutable_game_ranking()->set_plackett_luce_mixture(0.3);
  for (const model::v1::Policy& policy : {Selects(1, 0),
                                          Selects(1e6, 0),
                                          Selects(1e-6, 0.5),
                                          Selects(3, 1),
                                          abstains,
                                          Ranks(1, 0),
                                          Ranks(1e6, 0.02),
                                          Ranks(0.01, 1),
                                          Plays(1, 0, 0),
                                          Plays(1e6, 0.02, 0),
                                          Plays(1, 0, 2),
                                          Plays(1e-6, 0.1, 1),
                                          Plays(1, 0.1, 100),
                                          Boltzmann(1, 0, 0),
                                          Boltzmann(1e6, 0.02, 0),
                                          Boltzmann(1, 0, 2),
                                          Boltzmann(0.01, 0.1, 3),
                                          Boltzmann(1, 1, 1),
                                          Factored(1, 0, {2}),
                                          Factored(1e6, 0.02, {1, 0.5}),
                                          Factored(0.5, 0, {0.25, 1, 2}),
                                          Sorted(1, 0, 0),
                                          Sorted(1e6, 0.02, 0),
                                          Sorted(1, 0, 0.3),
                                          Sorted(0.01, 0.1, 0.3),
                                          Labels(1, 0, 0),
                                          Labels(1, 0.1, 0),
                                          Labels(1e6, 0.02, 0),
                                          Labels(1, 0, 2),
                                          Labels(1e-6, 0.1, 1),
                                          Labels(1, 0.1, 100),
                                          Labels(1e6, 1, 3),
                                          Independent(1, 0, 0),
                                          Independent(1e6, 0.02, 0),
                                          Independent(1, 0.1, 2)}) {
    for (const std::vector<double>& weights :
         {std::vector<double>{0}, std::vector<double>{1, -2, 3},
          std::vector<double>(3000, 1e6)}) {
      ASSERT_OK_AND_ASSIGN(const auto linear,
                           LinearPolicy::Create(policy, weights));
      EXPECT_OK(SelfTest(linear)) << policy.ShortDebugString();
    }
  }
}

TEST(SelfTestTest, UniformPoliciesPass) {
  EXPECT_OK(SelfTest(LinearPolicy::Uniform(ActionKind::kSelect, true)));
  EXPECT_OK(SelfTest(LinearPolicy::Uniform(ActionKind::kRank, false)));
  EXPECT_OK(SelfTest(LinearPolicy::Uniform(ActionKind::kSubset, false)));
}

TEST(SelfTestTest, DominantAbstainScorePasses) {
  // Abstains with probability 1 - e^-1000: all other cells are too small to be
  // counted alone.
  model::v1::Policy policy = Selects(1, 0);
  policy.mutable_softmax_selection()->set_abstain_score(1000);
  ASSERT_OK_AND_ASSIGN(const auto linear, LinearPolicy::Create(policy, {1, 1}));
  EXPECT_OK(SelfTest(linear));
}

TEST(ChiSquareLimitTest, CoversTheExactQuantile) {
  // Upper 1e-9 quantiles: 1 degree z² = 6.1094² = 37.325; 2 degrees
  // -2 ln 1e-9 = 41.447; 23 degrees 89.116, by bisection of erfc(√(x/2)) +
  // Σ (x/2)^a e^(-x/2) / Γ(a + 1), a = 1/2 … 21/2. The approximation is larger.
  const std::vector<std::pair<size_t, double>> quantiles = {
      {1, 37.324}, {2, 41.446}, {23, 89.115}};
  for (const auto& [degrees, exact] : quantiles) {
    EXPECT_GE(internal::ChiSquareLimit(degrees), exact);
    EXPECT_LE(internal::ChiSquareLimit(degrees), 1.3 * exact);
  }
}

TEST(CheckCountsTest, FindsDrawsFromAnotherDistribution) {
  const std::map<Action, double> expected = {{{0}, 1000}, {{1}, 1000}};
  // Counts off by 100 of 1,000: chi-square 20, below the limit for one degree.
  EXPECT_OK(internal::CheckCounts(expected, {{{0}, 1100}, {{1}, 900}}));
  // Counts off by 200: chi-square 80.
  EXPECT_THAT(internal::CheckCounts(expected, {{{0}, 1200}, {{1}, 800}}),
              StatusIs(absl::StatusCode::kInternal,
                       testing::HasSubstr("chi-square 80")));
  // One action is never drawn.
  EXPECT_FALSE(internal::CheckCounts(expected, {{{0}, 2000}}).ok());
}

TEST(CheckCountsTest, SmallCellsCountTogether) {
  // Four cells of 2 expect 8 draws together: 100 draws are wrong, 8 are right,
  // however they are distributed.
  const std::map<Action, double> expected = {
      {{0}, 1992}, {{1}, 2}, {{2}, 2}, {{3}, 2}, {{4}, 2}};
  EXPECT_OK(internal::CheckCounts(expected, {{{0}, 1992}, {{1}, 8}}));
  EXPECT_FALSE(internal::CheckCounts(expected, {{{0}, 1900}, {{1}, 100}}).ok());
}

}  // namespace
}  // namespace sortition
