#include "core/aggregation/aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/aggregation/aggregate_policy.h"
#include "core/aggregation/order.h"
#include "core/aggregation/scale_scores.h"
#include "core/aggregation/score_normaliser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

struct Lists {
  size_t items;
  std::vector<double> scores;
  std::vector<double> weights;

  ScoreLists view() const { return {scores, items, weights}; }
};

Lists RandomWeightedLists(std::mt19937_64* random, size_t items,
                          size_t sources) {
  std::uniform_real_distribution<double> uniform(0, 1);
  Lists lists = {items, {}, {}};
  const bool ties = (*random)() % 3 == 0;
  for (size_t e = 0; e < items * sources; ++e) {
    const double score = uniform(*random);
    lists.scores.push_back(ties ? std::round(2 * score) : 5 * score - 2);
  }
  for (size_t s = 0; s < sources; ++s)
    lists.weights.push_back(uniform(*random));
  return lists;
}

// Section 4 of the paper: three lists that hardly prefer the second item do not
// outvote two that clearly prefer the first.
TEST(AggregateTest, ConfidentListsOutweighTheOthers) {
  const Lists lists = {2, {1.9, 2, 1.8, 2, 1.95, 2, 2, 1, 2.5, 1.2}, {}};
  const Aggregation result =
      Aggregate(lists.view(), ScoreScale::kNone, SerialFor);
  EXPECT_NEAR(result.mean[0], 2.03, 1e-12);
  EXPECT_NEAR(result.mean[1], 1.64, 1e-12);
  EXPECT_THAT(result.order, ElementsAre(0, 1));
  EXPECT_NEAR(result.total_variation, 0.39, 1e-12);
  // By rank alone three lists outvote two.
  EXPECT_THAT(Aggregate(lists.view(), ScoreScale::kRank, SerialFor).order,
              ElementsAre(1, 0));
}

// Lemma 4.1, for divergences of every kind.
TEST(AggregateTest, NoOrderIsNearerToTheLists) {
  std::mt19937_64 random(5);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const size_t n = 2 + random() % 6;
    const size_t sources = 1 + random() % 5;
    const Lists lists = RandomWeightedLists(&random, n, sources);
    const std::vector<std::unique_ptr<CardinalityFunction>> functions = [&] {
      std::vector<std::unique_ptr<CardinalityFunction>> all;
      all.push_back(CardinalityFunction::AllPairs(n));
      all.push_back(CardinalityFunction::Dcg(n, 0));
      all.push_back(CardinalityFunction::Top(n, 1 + random() % n));
      return all;
    }();
    const Aggregation result =
        Aggregate(lists.view(), ScoreScale::kNone, SerialFor);
    for (const auto& f : functions) {
      const auto cost = [&](const Order& order) {
        const std::vector<double> divergences = SourceDivergences(
            lists.view(), ScoreScale::kNone, *f, order, SerialFor);
        return std::inner_product(divergences.begin(), divergences.end(),
                                  lists.weights.begin(), 0.0);
      };
      const double least = cost(result.order);
      Order order(n);
      std::iota(order.begin(), order.end(), 0);
      do {
        ASSERT_GE(cost(order), least - 1e-12);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(AggregateTest, ScalesMakeSourcesComparable) {
  const Lists lists = {3, {10, 30, 20, 5, 5, 5}, {3, 1}};
  const auto mean = [&](ScoreScale scale) {
    return Aggregate(lists.view(), scale, SerialFor).mean;
  };
  EXPECT_THAT(mean(ScoreScale::kNone), ElementsAre(8.75, 23.75, 16.25));
  EXPECT_THAT(
      mean(ScoreScale::kMinMax),
      Pointwise(DoubleNear(1e-15), std::vector<double>{0, 0.75, 0.375}));
  EXPECT_THAT(mean(ScoreScale::kRank), ElementsAre(0.125, 0.875, 0.5));
}

TEST(AggregateTest, TotalVariationIsTheMeanDifference) {
  std::mt19937_64 random(6);
  const Lists lists = RandomWeightedLists(&random, 7, 3);
  const Aggregation result =
      Aggregate(lists.view(), ScoreScale::kMinMax, SerialFor);
  double sum = 0;
  for (size_t i = 0; i < 7; ++i) {
    for (size_t j = 0; j < i; ++j) {
      sum += std::abs(result.mean[i] - result.mean[j]);
    }
  }
  EXPECT_NEAR(result.total_variation, sum / 21, 1e-12);
}

TEST(AggregateTest, OrderOfWorkDoesNotMatter) {
  std::mt19937_64 random(8);
  const Lists lists = RandomWeightedLists(&random, 50000, 3);
  const ParallelFor backwards = [](size_t count,
                                   const std::function<void(size_t)>& body) {
    for (size_t i = count; i-- > 0;) body(i);
  };
  for (const ScoreScale scale :
       {ScoreScale::kNone, ScoreScale::kMinMax, ScoreScale::kRank}) {
    EXPECT_EQ(Aggregate(lists.view(), scale, SerialFor).mean,
              Aggregate(lists.view(), scale, backwards).mean);
  }
}

// Half of the sources see a lead of 1, the others of -1. The weights times the
// scores are beyond the range of a double.
TEST(BootstrapPairsTest, HugeWeightsCountLikeSmallOnes) {
  Lists huge = {2, {}, {}};
  Lists small = {2, {}, {}};
  for (int s = 0; s < 6; ++s) {
    const double sign = s % 2 == 0 ? 1 : -1;
    huge.scores.insert(huge.scores.end(), {sign * 1e10, -sign * 1e10});
    small.scores.insert(small.scores.end(), {sign, -sign});
    huge.weights.push_back(1.6e299);
    small.weights.push_back(1);
  }
  const BootstrapOptions options = {.samples = 2000};
  const auto pairs = [&](const Lists& lists) {
    return BootstrapPairs(lists.view(), ScoreScale::kNone,
                          Aggregate(lists.view(), ScoreScale::kNone, SerialFor),
                          options);
  };
  const PairConfidence a = pairs(huge).at(0);
  const PairConfidence b = pairs(small).at(0);
  EXPECT_NEAR(a.lower, 1e10 * b.lower, 1e-3);
  EXPECT_NEAR(a.upper, 1e10 * b.upper, 1e-3);
  EXPECT_NEAR(a.support, b.support, 0.15);  // Ties may round to either side.
}

TEST(BootstrapPairsTest, EndsWhenTheTimeDoes) {
  std::mt19937_64 random(9);
  const Lists lists = RandomWeightedLists(&random, 101, 10);
  const Aggregation result =
      Aggregate(lists.view(), ScoreScale::kNone, SerialFor);
  // Time passes by a hundredth with every look at it.
  double used = 0;
  const std::function<double()> time_used = [&] { return used += 0.01; };
  const BootstrapOptions options = {.samples = 100'000,
                                    .time_used = &time_used};
  const std::vector<PairConfidence> pairs =
      BootstrapPairs(lists.view(), ScoreScale::kNone, result, options);
  ASSERT_GT(pairs.size(), 0);
  EXPECT_LT(pairs.size(), 60);
  EXPECT_GT(pairs[0].samples, 1);
  EXPECT_LT(pairs[0].samples, 100'000);
  used = 0.5;
  EXPECT_EQ(
      BootstrapPairs(lists.view(), ScoreScale::kNone, result, options).size(),
      0);
}

TEST(AggregateTest, ScoresThatHardlyDifferHaveFiniteScale) {
  const Lists lists = {2, {5e-324, 0}, {}};
  EXPECT_THAT(Aggregate(lists.view(), ScoreScale::kMinMax, SerialFor).mean,
              ElementsAre(0, 0));
}

// Ten sources agree on the first pair, and are split on the second.
TEST(BootstrapPairsTest, TellsAgreementFromDisagreement) {
  Lists lists = {3, {}, {}};
  for (int s = 0; s < 10; ++s) {
    const double tilt = s % 2 == 0 ? 0.2 : -0.2;
    lists.scores.insert(lists.scores.end(), {1, 0.5 + tilt, 0.5 - tilt});
  }
  const Aggregation result =
      Aggregate(lists.view(), ScoreScale::kNone, SerialFor);
  const std::vector<PairConfidence> pairs =
      BootstrapPairs(lists.view(), ScoreScale::kNone, result, {});
  ASSERT_EQ(pairs.size(), 2);
  EXPECT_EQ(pairs[0].support, 1);
  EXPECT_NEAR(pairs[0].difference, 0.5, 1e-12);
  EXPECT_GT(pairs[0].lower, 0.25);
  EXPECT_LE(pairs[0].upper, 0.7);
  // The lead of the second pair is 0.4 (2 B / 10 - 1), B binomial of 10 and
  // 1/2: its 2.5 and 97.5 % points are B = 2 and 8. Its support is 1/2 by
  // symmetry, within four standard errors.
  EXPECT_NEAR(pairs[1].lower, -0.24, 1e-12);
  EXPECT_NEAR(pairs[1].upper, 0.24, 1e-12);
  EXPECT_NEAR(pairs[1].support, 0.5, 4 * 0.5 / std::sqrt(1000));
}

TEST(BootstrapPairsTest, IsAFunctionOfItsSeed) {
  std::mt19937_64 random(9);
  const Lists lists = RandomWeightedLists(&random, 20, 4);
  const Aggregation result =
      Aggregate(lists.view(), ScoreScale::kMinMax, SerialFor);
  const auto upper = [&](uint64_t seed) {
    BootstrapOptions options;
    options.seed = seed;
    options.pairs = 5;
    std::vector<double> uppers;
    for (const PairConfidence& pair :
         BootstrapPairs(lists.view(), ScoreScale::kMinMax, result, options)) {
      uppers.push_back(pair.upper);
    }
    return uppers;
  };
  EXPECT_EQ(upper(1).size(), 5);
  EXPECT_EQ(upper(1), upper(1));
  EXPECT_NE(upper(1), upper(2));
}

TEST(ValidateScoreListsTest, NamesWhatIsWrong) {
  const auto problem = [](Lists lists) {
    return std::string(ValidateScoreLists(lists.view()).message());
  };
  EXPECT_EQ(problem({2, {1, 2, 3, 4}, {1, 0}}), "");
  EXPECT_THAT(problem({1, {1}, {}}), HasSubstr("num_items is 1, must be at"));
  EXPECT_THAT(problem({2, {}, {}}), HasSubstr("there are 0 scores"));
  EXPECT_THAT(problem({2, {1, 2, 3}, {}}),
              HasSubstr("must be a multiple of 2"));
  EXPECT_THAT(problem({2, {1, 2, 3, NAN}, {}}),
              HasSubstr("score of source 1, item 1 is nan, must be within"));
  EXPECT_THAT(problem({2, {1, 2}, {1, 1}}), HasSubstr("2 weights, must be 1"));
  EXPECT_THAT(problem({2, {1, 2}, {-1}}),
              HasSubstr("weights[0] is -1, must be within [0, "));
  EXPECT_THAT(problem({2, {1, 2}, {0}}),
              HasSubstr("weights add up to 0, must be above 0"));
}

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
  ASSERT_OK_AND_ASSIGN(const auto policy, AggregatePolicy::Create({}));
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
  ASSERT_OK_AND_ASSIGN(const auto policy, AggregatePolicy::Create({}));
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
    ASSERT_OK_AND_ASSIGN(const auto policy,
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
              IsInvalidArgument("does not rank"));
  ASSERT_OK_AND_ASSIGN(const auto policy, AggregatePolicy::Create({}));
  const std::vector<float> lists = {1, 2, 3};
  AggregateResult result;
  Draw draw;
  EXPECT_THAT(policy.Decide(QueryOf(lists), SeedKey(1), &result, &draw),
              IsInvalidArgument());
  EXPECT_THAT(MakeDivergence(AggregateDivergence::kTop, 0, 3),
              IsInvalidArgument("cutoff = 0"));
  EXPECT_THAT(MakeDivergence(AggregateDivergence::kAllPairs, 2, 3),
              IsInvalidArgument("cutoff = 2"));
}

TEST(ExpDividedDifferenceTest, EqualsItsDefinition) {
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2}), std::exp(-2),
              1e-16);
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2, 1}),
              (std::exp(1) - std::exp(-2)) / 3, 1e-15);
  // Equal nodes: e^t / n!.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>(6, -1)),
              std::exp(-1) / 120, 1e-17);
  // Nodes that are far apart: the largest dominates. exp[0, -100, -200] =
  // (1/100 - ~0) / 200.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{0, -100, -200}),
              1.0 / 20000, 1e-17);
  const std::vector<double> nodes = {-1, 0, -30, -2};
  double expected = 0;
  for (size_t i = 0; i < 4; ++i) {
    double product = 1;
    for (size_t j = 0; j < 4; ++j) {
      if (j != i) product *= nodes[i] - nodes[j];
    }
    expected += std::exp(nodes[i]) / product;
  }
  EXPECT_NEAR(ExpDividedDifference(nodes), expected, 1e-15);
}

// Two items, |S||V∖S|: d = 2 (x_1 - x_0)_+, and the lead u = x_1 - x_0 has the
// density 1 - |u|: Z = 1/2 + ∫_0^1 exp(-2θu) (1 - u) du.
TEST(ScoreNormaliserTest, OfTwoItemsInClosedForm) {
  const auto f = CardinalityFunction::AllPairs(2);
  for (const double theta : {0.0, 0.1, 1.0, 20.0, 1e3, 1e5}) {
    const double a = 2 * theta;
    const double half = theta == 0 ? 0.5 : (a - 1 + std::exp(-a)) / (a * a);
    ASSERT_OK_AND_ASSIGN(const Normaliser z, ScoreNormaliser(*f, theta, 0, 1));
    EXPECT_NEAR(z.value, 0.5 + half, 1e-13);
    EXPECT_EQ(z.standard_error, 0);
  }
}

// Z falls to the share of scores that are in order, 1 / n!.
TEST(ScoreNormaliserTest, IsFiniteForAnyTheta) {
  const auto f = CardinalityFunction::AllPairs(3);
  double last = 1;
  for (const double theta : {1.0, 100.0, 500.0, 1e3, 1e4, 1e6}) {
    ASSERT_OK_AND_ASSIGN(const Normaliser z, ScoreNormaliser(*f, theta, 0, 1));
    EXPECT_LE(z.value, last);
    EXPECT_GT(z.value, 1.0 / 6);
    last = z.value;
  }
  EXPECT_NEAR(last, 1.0 / 6, 1e-6);
}

TEST(ScoreNormaliserTest, ExactAndSampledAgree) {
  for (const size_t n : {3, 5, 7}) {
    const auto f = CardinalityFunction::Dcg(n, 0);
    ASSERT_OK_AND_ASSIGN(const Normaliser exact, ScoreNormaliser(*f, 5, 0, 1));
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(0, 1);
    Order trusted(n);
    std::iota(trusted.begin(), trusted.end(), 0);
    constexpr int kSamples = 100000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kSamples; ++i) {
      std::vector<double> x(n);
      for (double& score : x) score = uniform(random);
      const double density = std::exp(-5 * f->Divergence(x, trusted));
      sum += density;
      squares += density * density;
    }
    const double mean = sum / kSamples;
    const double error =
        std::sqrt((squares / kSamples - mean * mean) / kSamples);
    EXPECT_NEAR(exact.value, mean, 4 * error);
  }
  // Without an exact value, compare the sampler with a longer run of its own.
  const auto f = CardinalityFunction::Dcg(9, 0);
  ASSERT_OK_AND_ASSIGN(const Normaliser one, ScoreNormaliser(*f, 3, 20000, 1));
  ASSERT_OK_AND_ASSIGN(const Normaliser two, ScoreNormaliser(*f, 3, 200000, 2));
  EXPECT_GT(one.standard_error, 2 * two.standard_error);
  EXPECT_NEAR(one.value, two.value,
              4 * std::hypot(one.standard_error, two.standard_error));
}

TEST(ScoreNormaliserTest, NamesWhatIsWrong) {
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(2, 0), -1, 0, 1),
              IsInvalidArgument("theta is -1, must be at least 0"));
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(8, 0), 1, 1, 1),
              IsInvalidArgument("samples is 1, must be at least 2"));
}

}  // namespace
}  // namespace sortition
