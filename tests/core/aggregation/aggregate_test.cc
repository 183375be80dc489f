#include "core/aggregation/aggregate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

}  // namespace
}  // namespace sortition
