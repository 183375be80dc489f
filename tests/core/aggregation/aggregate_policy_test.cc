#include "core/aggregation/aggregate_policy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "core/aggregation/scale_scores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/invalid.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Candidates by rows: scores by three sources.
constexpr uint32_t kSources = 3;

std::vector<float> RandomListScores(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  std::vector<float> scores(n * kSources);
  for (float& score : scores) {
    score = static_cast<float>(static_cast<double>(random() % 7));
  }
  return scores;
}

AggregateQuery QueryOf(const std::vector<float>& lists) {
  AggregateQuery query;
  query.lists.candidates = Candidates::DenseUnchecked(lists, kSources);
  return query;
}

TEST(AggregatePolicyTest, WithoutAPolicyAnswersTheOrderOfTheMean) {
  // Means of sources scaled to [0, 1]: 1/3 (0 + 1 + 0), 1/3 (1 + 0 + 1/2), 1/3
  // (1/2 + 1/2 + 1).
  const std::vector<float> lists = {0, 5, 0, 2, 1, 4, 1, 3, 8};
  ASSERT_OK_AND_ASSIGN(const AggregatePolicy policy,
                       AggregatePolicy::Create({}));
  AggregateQuery query = QueryOf(lists);
  AggregateResult result;
  Draw draw;
  ASSERT_OK(policy.Decide(query, SeedKey(1), &result, &draw));
  EXPECT_THAT(draw.action, ElementsAre(2, 1, 0));
  EXPECT_EQ(draw.log_propensity, 0);
  EXPECT_THAT(draw.conditional_log_propensities, ElementsAre(0, 0, 0));
  EXPECT_DOUBLE_EQ(result.mean.mean[1], 0.5);
  query.lists.top_k = 1;
  ASSERT_OK(policy.Decide(query, SeedKey(1), &result, &draw));
  EXPECT_THAT(draw.action, ElementsAre(2));
}

// Without candidate 2 the others are scaled among themselves: 0 has (0, 1, 0),
// 1 has (1, 0, 1).
TEST(AggregatePolicyTest, WhatIsNotEligibleDoesNotCount) {
  const std::vector<float> lists = {0, 5, 0, 2, 1, 4, 1, 3, 8};
  const bool eligible[] = {true, true, false};
  ASSERT_OK_AND_ASSIGN(const AggregatePolicy policy,
                       AggregatePolicy::Create({}));
  AggregateQuery query = QueryOf(lists);
  query.lists.eligible = eligible;
  AggregateResult result;
  Draw draw;
  ASSERT_OK(policy.Decide(query, SeedKey(1), &result, &draw));
  EXPECT_THAT(draw.action, ElementsAre(1, 0));
  EXPECT_THAT(result.mean.mean, ElementsAre(testing::DoubleEq(1. / 3),
                                            testing::DoubleEq(2. / 3)));
  const std::vector<double> weights = {1, 4, 0};
  query.weights = weights;
  ASSERT_OK(policy.Decide(query, SeedKey(1), &result, &draw));
  EXPECT_THAT(draw.action, ElementsAre(0, 1));
  // Without candidate 0: (1, 0, 0) and (0, 1, 1).
  const bool others[] = {false, true, true};
  query.lists.eligible = others;
  ASSERT_OK(policy.Decide(query, SeedKey(1), &result, &draw));
  EXPECT_THAT(draw.action, ElementsAre(2, 1));
}

// p(σ) from the divergences themselves (seed 002, eq. 21), order by order.
std::map<Action, double> Enumerate(const AggregateQuery& query, size_t n,
                                   const CardinalityFunction& f,
                                   double concentration) {
  std::vector<std::vector<double>> scaled(kSources);
  ScoreScaler scaler;
  for (size_t s = 0; s < kSources; ++s) {
    std::vector<double> scores;
    for (size_t i = 0; i < n; ++i) {
      scores.push_back(query.lists.candidates.values()[i * kSources + s]);
    }
    scaler.Scale(scores, query.scale, &scaled[s]);
  }
  const double total =
      std::accumulate(query.weights.begin(), query.weights.end(), 0.0);
  std::map<Action, double> probabilities;
  double sum = 0;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  do {
    double divergence = 0;
    for (size_t s = 0; s < kSources; ++s) {
      divergence += query.weights[s] / total * f.Divergence(scaled[s], order);
    }
    const double weight = std::exp(-concentration * divergence);
    probabilities[Action(order.begin(), order.end())] = weight;
    sum += weight;
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& [action, probability] : probabilities) probability /= sum;
  return probabilities;
}

TEST(AggregatePolicyTest, DrawsTheLovaszMallowsModelOfTheSources) {
  constexpr size_t kItems = 5;
  const std::vector<float> lists = RandomListScores(3, kItems);
  const std::vector<double> weights = {1, 0.5, 3};
  AggregateQuery query = QueryOf(lists);
  query.weights = weights;
  struct Case {
    AggregateDivergence divergence;
    uint32_t cutoff;
    double concentration;
    ScoreScale scale;
  };
  for (const Case& c :
       {Case{AggregateDivergence::kDcg, 0, 4, ScoreScale::kMinMax},
        Case{AggregateDivergence::kDcg, 2, 9, ScoreScale::kRank},
        Case{AggregateDivergence::kAllPairs, 0, 0.7, ScoreScale::kMinMax},
        Case{AggregateDivergence::kTop, 2, 3, ScoreScale::kNone}}) {
    query.scale = c.scale;
    ASSERT_OK_AND_ASSIGN(const auto f,
                         MakeDivergence(c.divergence, c.cutoff, kItems));
    const auto expected = Enumerate(query, kItems, *f, c.concentration);
    ASSERT_OK_AND_ASSIGN(const AggregatePolicy policy,
                         AggregatePolicy::Create(MakeAggregateDraw(
                             c.divergence, c.cutoff, c.concentration)));
    AggregateResult result;
    Draw draw;
    std::map<Action, uint64_t> counts;
    constexpr uint64_t kDraws = 20'000;
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      ASSERT_OK(policy.Decide(query, SeedKey(seed), &result, &draw));
      ++counts[draw.action];
      ASSERT_NEAR(std::exp(draw.log_propensity), expected.at(draw.action),
                  1e-12);
    }
    std::vector<double> probabilities;
    std::vector<uint64_t> observed;
    for (const auto& [action, probability] : expected) {
      probabilities.push_back(probability);
      observed.push_back(counts[action]);
    }
    EXPECT_GT(ChiSquarePValue(observed, probabilities), 1e-4);
  }
}

// The policy is logged with every decision, so it has to stay small.
TEST(AggregatePolicyTest, APolicyForALargeCutoffIsSmall) {
  const model::v1::Policy policy =
      MakeAggregateDraw(AggregateDivergence::kTop, 1'000'000, 1);
  EXPECT_LT(policy.ByteSizeLong(), 200u);
  EXPECT_OK(AggregatePolicy::Create(policy));
}

TEST(AggregatePolicyTest, RefusesWhatIsNoListOrNoRanking) {
  model::v1::Policy selection;
  selection.mutable_softmax_selection();
  selection.set_inverse_temperature(1);
  EXPECT_THAT(AggregatePolicy::Create(selection),
              IsInvalid(HasSubstr("does not rank")));
  ASSERT_OK_AND_ASSIGN(const AggregatePolicy policy,
                       AggregatePolicy::Create({}));
  const std::vector<float> lists = {1, 2, 3};
  AggregateResult result;
  Draw draw;
  EXPECT_THAT(policy.Decide(QueryOf(lists), SeedKey(1), &result, &draw),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MakeDivergence(AggregateDivergence::kTop, 0, 3),
              IsInvalid(HasSubstr("cutoff = 0")));
  EXPECT_THAT(MakeDivergence(AggregateDivergence::kAllPairs, 2, 3),
              IsInvalid(HasSubstr("cutoff = 2")));
}

}  // namespace
}  // namespace sortition
