#include "core/policies/marginals/sampled_marginals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/policies/marginals/order_marginals.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

std::vector<DistributionCase> RankingCases() {
  std::vector<DistributionCase> cases;
  for (const DistributionCase& c : AllCases()) {
    if (c.kind == ActionKind::kRank && c.scores.size() > 1) cases.push_back(c);
  }
  return cases;
}

class SampledMarginalsTest : public testing::TestWithParam<DistributionCase> {};

// The mean of an entry is within 6 of its standard errors, which see nothing of
// what has a probability below 0.0205: that is not drawn 1,000 times with
// probability 1e-9. With 1,000 entries in all cases and normal errors this
// fails with probability 2e-6.
TEST_P(SampledMarginalsTest, AreThoseOfEnumeration) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  const size_t n = c.scores.size();
  const std::vector<double> expected =
      MarginalsOverOrders(n, c.top_k, [&](const Action& order) {
        return std::exp(static_cast<long double>(
            distribution->LogPropensity(c.Candidates(), order)));
      });
  for (const bool use_conditionals : {true, false}) {
    ASSERT_OK_AND_ASSIGN(
        const SampledMarginals sampled,
        SampleMarginals(*distribution, c.Candidates(),
                        {.num_draws = 1000,
                         .key = SeedKey(11),
                         .use_conditionals = use_conditionals}));
    ASSERT_EQ(sampled.marginals.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(sampled.marginals[i], expected[i],
                  6 * sampled.standard_errors[i] + (i < n ? 1e-9 : 0.0205))
          << i;
    }
    for (size_t k = 0; k < c.top_k; ++k) {
      double sum = 0;
      for (size_t d = 0; d < n; ++d) sum += sampled.marginals[k * n + d];
      EXPECT_NEAR(sum, 1, 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SampledMarginalsTest,
                         testing::ValuesIn(RankingCases()), CaseName);

DistributionCase SpreadCase() {
  for (const DistributionCase& c : AllCases()) {
    if (c.name == "BoltzmannAll") return c;
  }
  return {};
}

// An average of conditional probabilities never has more variance than that of
// the events (Rao-Blackwell).
TEST(SampleMarginalsTest, ConditionalsHaveSmallerErrors) {
  const DistributionCase c = SpreadCase();
  const auto distribution = c.Distribution();
  MarginalSampling sampling{.num_draws = 2000, .key = SeedKey(3)};
  ASSERT_OK_AND_ASSIGN(
      const SampledMarginals with,
      SampleMarginals(*distribution, c.Candidates(), sampling));
  sampling.use_conditionals = false;
  ASSERT_OK_AND_ASSIGN(
      const SampledMarginals without,
      SampleMarginals(*distribution, c.Candidates(), sampling));
  double squares_with = 0, squares_without = 0;
  for (size_t i = 0; i < with.marginals.size(); ++i) {
    squares_with += with.standard_errors[i] * with.standard_errors[i];
    squares_without += without.standard_errors[i] * without.standard_errors[i];
  }
  EXPECT_LT(squares_with, 0.7 * squares_without);
  EXPECT_GT(squares_with, 0);
}

// A game's orders have no conditional form that is simple; the enumeration
// knows nothing of it.
TEST(SampleMarginalsTest, KnowsGames) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(0.1);
  policy.mutable_game_ranking()->set_discount(model::v1::GameRanking::DCG);
  ASSERT_OK_AND_ASSIGN(const auto distribution, MakeActionDistribution(policy));
  const std::vector<double> scores = {0.1, 0, 0.4, 0.2, 0.9};
  ScoredCandidates candidates;
  candidates.scores = scores;
  candidates.top_k = 5;
  const std::vector<double> expected =
      MarginalsOverOrders(5, 5, [&](const Action& order) {
        return std::exp(static_cast<long double>(
            distribution->LogPropensity(candidates, order)));
      });
  ASSERT_OK_AND_ASSIGN(const SampledMarginals sampled,
                       SampleMarginals(*distribution, candidates,
                                       {.num_draws = 500, .key = SeedKey(5)}));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(sampled.marginals[i], expected[i],
                6 * sampled.standard_errors[i] + 1e-9);
  }
}

TEST(SampleMarginalsTest, NamesWhatIsWrong) {
  DistributionCase c = SpreadCase();
  EXPECT_THAT(
      SampleMarginals(*c.Distribution(), c.Candidates(), {.num_draws = 1}),
      IsInvalidArgument("num_draws is 1, must be at least 2"));
  c.scores[2] = 1e12;
  EXPECT_THAT(SampleMarginals(*c.Distribution(), c.Candidates(), {}),
              IsFailedPrecondition("cannot draw"));
}

}  // namespace
}  // namespace sortition
