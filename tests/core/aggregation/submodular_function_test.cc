#include "core/aggregation/submodular_function.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster.h"
#include "core/aggregation/order.h"
#include "core/aggregation/tied_orders.h"
#include "core/metrics/pair_metrics.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class SubmodularFunctionTest : public RandomFunctionsTest {};

// The set of n items with these bits, as indicators.
std::vector<uint8_t> SetOf(uint32_t bits, size_t n) {
  std::vector<uint8_t> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = (bits >> i) & 1;
  return in;
}

TEST_F(SubmodularFunctionTest, AreSubmodularAndAgreeWithTheirExtension) {
  for (int repeat = 0; repeat < kKinds * 100; ++repeat) {
    const size_t n = 1 + Below(5);
    const Function f = RandomFunction(n, repeat % kKinds);
    const uint32_t sets = 1u << n;
    EXPECT_EQ(f->Value(SetOf(0, n)), 0);
    for (uint32_t s = 0; s < sets; ++s) {
      const std::vector<uint8_t> in = SetOf(s, n);
      EXPECT_NEAR(
          LovaszExtension(*f, std::vector<double>(in.begin(), in.end())),
          f->Value(in), 1e-12);
      for (uint32_t t = 0; t < sets; ++t) {
        EXPECT_GE(f->Value(in) + f->Value(SetOf(t, n)) + 1e-12,
                  f->Value(SetOf(s | t, n)) + f->Value(SetOf(s & t, n)));
      }
    }
  }
}

TEST_F(SubmodularFunctionTest, ExtremeSubgradientsAreWhatEachItemAdds) {
  for (int repeat = 0; repeat < kKinds * kRepeats; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function f = RandomFunction(n, repeat % kKinds);
    const Order order = RandomOrder(n);
    std::vector<double> h(n, 99);
    f->ExtremeSubgradient(order, h);
    std::vector<uint8_t> in(n);
    double before = 0;
    for (const uint32_t item : order) {
      in[item] = 1;
      EXPECT_NEAR(h[item], f->Value(in) - before, 1e-12);
      before = f->Value(in);
    }
  }
}

TEST_F(SubmodularFunctionTest, ClosedFormsEqualTheDefinition) {
  for (int repeat = 0; repeat < kKinds * kRepeats; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function f = RandomFunction(n, repeat % kKinds);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    const double divergence = f->Divergence(x, order);
    ASSERT_NEAR(divergence, DivergenceByDefinition(*f, x, order), 1e-12);
    ASSERT_GE(divergence, 0);
    ASSERT_EQ(f->Divergence(x, OrderOf(x)), 0);
  }
}

TEST_F(SubmodularFunctionTest, DivergencesAreConvexInTheScores) {
  for (int repeat = 0; repeat < kKinds * kRepeats; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n, repeat % kKinds);
    const std::vector<double> x = Scores(n);
    const std::vector<double> y = Scores(n);
    const Order order = RandomOrder(n);
    const double t = Below(11) / 10.0;
    std::vector<double> mixed(n);
    for (size_t i = 0; i < n; ++i) mixed[i] = t * x[i] + (1 - t) * y[i];
    ASSERT_LE(f->Divergence(mixed, order),
              t * f->Divergence(x, order) + (1 - t) * f->Divergence(y, order) +
                  1e-12);
  }
}

// Lemma 2.5: increments that all differ tell every order apart.
TEST_F(SubmodularFunctionTest, IsZeroOnlyForTheOrderOfTheScores) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 2 + Below(5);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    bool falls = true;
    for (size_t r = 0; r + 1 < n; ++r) {
      falls = falls && x[order[r]] >= x[order[r + 1]];
    }
    for (const Function& f : {Function(CardinalityFunction::AllPairs(n)),
                              Function(CardinalityFunction::Dcg(n, 0)),
                              Function(RandomCardinality(n))}) {
      EXPECT_EQ(f->Divergence(x, order) == 0, falls);
    }
  }
}

TEST_F(SubmodularFunctionTest, IsLinearInTheFunction) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 1 + Below(8);
    const auto one = RandomCardinality(n);
    const auto two = RandomCardinality(n);
    std::vector<double> sum(n);
    std::vector<double> shifted(n);  // A modular term has no effect.
    for (size_t r = 0; r < n; ++r) {
      sum[r] = one->increments()[r] + two->increments()[r];
      shifted[r] = sum[r] + 3;
    }
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    const double expected =
        one->Divergence(x, order) + two->Divergence(x, order);
    ASSERT_NEAR(CardinalityFunction::Create(sum).value()->Divergence(x, order),
                expected, 1e-12);
    ASSERT_NEAR(
        CardinalityFunction::Create(shifted).value()->Divergence(x, order),
        expected, 1e-12);
  }
}

// Theorem 3.2 and its consequence: nearly equal scores are near to every order.
TEST_F(SubmodularFunctionTest, IsBoundedByTheSpreadOfTheScores) {
  for (int repeat = 0; repeat < kKinds * kRepeats; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n, repeat % kKinds);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    double most = -HUGE_VAL;
    double least = HUGE_VAL;
    const uint32_t all = (1u << n) - 1;
    for (size_t i = 0; i < n; ++i) {
      most = std::max(most, f->Value(SetOf(1u << i, n)));
      least = std::min(least, f->Value(SetOf(all, n)) -
                                  f->Value(SetOf(all & ~(1u << i), n)));
    }
    ASSERT_LE(f->Divergence(x, order),
              (*high - *low) * static_cast<double>(n) * (most - least) + 1e-12);
    ASSERT_LE(CardinalityFunction::AllPairs(n)->Divergence(x, order),
              2 * (*high - *low) *
                      static_cast<double>(KendallDistance(OrderOf(x), order)) +
                  1e-12);
  }
}

TEST_F(SubmodularFunctionTest, RefusesWhatIsNoSubmodularFunction) {
  EXPECT_THAT(CardinalityFunction::Create({1, 2}),
              IsInvalidArgument("increments[1] is 2, must be at most"));
  EXPECT_THAT(CardinalityFunction::Create({NAN}),
              IsInvalidArgument("increments[0] is nan, must be finite"));
  EXPECT_THAT(CutFunction::Create(2, {{0, 2, 1}}),
              IsInvalidArgument("edges[0] is from 0 to 2, must join two"));
  EXPECT_THAT(CutFunction::Create(2, {{0, 1, -1}}),
              IsInvalidArgument("edges[0].weight is -1, must be at least 0"));
  EXPECT_THAT(CompleteOrder(std::vector<uint32_t>{1, 1}, 3),
              IsInvalidArgument("order[1] is 1, must not be named twice"));
  EXPECT_THAT(ValidateOrder(std::vector<uint32_t>{1}, 2),
              IsInvalidArgument("order has 1 items, must have 2"));
}

// Properties of every submodular function are in submodular_function_test.cc.
class BlockFunctionTest : public RandomFunctionsTest {
 protected:
  double Normal() { return normal_(random_); }

 private:
  std::normal_distribution<double> normal_;
};

// σ has the items of each block by falling score, whatever it does between
// blocks, so the divergence is 0.
TEST_F(BlockFunctionTest, BlocksAreNotCompared) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const std::unique_ptr<BlockFunction> f = RandomBlocks(1 + Below(10));
    const std::vector<double> x = Scores(f->num_items());
    const Order order = RandomOrder(f->num_items());
    std::vector<double> shifted = x;
    for (size_t b = 0; b < f->num_blocks(); ++b) {
      const double shift = Normal();
      for (size_t i = f->begin(b); i < f->begin(b + 1); ++i) {
        shifted[i] += shift;
      }
    }
    ASSERT_NEAR(f->Divergence(x, OrderOf(shifted)), 0, 1e-12);
    ASSERT_NEAR(f->Divergence(shifted, order), f->Divergence(x, order), 1e-12);
  }
}

TEST_F(BlockFunctionTest, BlocksAreThoseOfTheirOwnFunctions) {
  const BlockFunction f(
      {CardinalityFunction::AllPairs(2), CardinalityFunction::Top(3, 1)});
  ASSERT_EQ(f.num_items(), 5u);
  EXPECT_EQ(f.begin(1), 2u);
  const std::vector<double> x = {0.25, 1, 0, 0.5, 0.75};
  const Order order = {3, 0, 2, 1, 4};
  EXPECT_EQ(f.SplitOrder(order), (Order{0, 1, 1, 0, 2}));
  // 2 (1 - 0.25) for the inverted pair; the first item of the second block
  // lacks 0.75 - 0.5.
  EXPECT_EQ(f.Divergence(x, order), 1.75);
}

// Two kinds of sources over 40 queries of 3 candidates: the scores of one kind
// are those of the other reversed, plus shifts of each query that do not affect
// any block.
TEST_F(BlockFunctionTest, GroupsSourcesOfManyQueries) {
  const std::shared_ptr<const CardinalityFunction> dcg =
      CardinalityFunction::Dcg(3, 0);
  const BlockFunction f(
      std::vector<std::shared_ptr<const SubmodularFunction>>(40, dcg));
  ScoreMatrix sources(6, 120);
  for (int i = 0; i < 120; ++i) {
    const double quality = Normal();
    for (int s = 0; s < 6; ++s) {
      sources(s, i) = (s % 2 == 0 ? 1 : -1) * quality + 0.3 * Normal() +
                      static_cast<double>(i / 3 % 5);
    }
  }
  ASSERT_OK_AND_ASSIGN(const Clustering result,
                       Cluster(sources, f, ClusterOptions(), nullptr));
  for (int s = 0; s < 6; ++s)
    EXPECT_EQ(result.cluster[s], result.cluster[s % 2]);
  EXPECT_NE(result.cluster[0], result.cluster[1]);
}

// Ties, both zeros, subnormal, huge and negative numbers.
std::vector<double> AwkwardScores(std::mt19937_64* random, size_t n) {
  std::normal_distribution<double> normal;
  const double special[] = {0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, 1};
  std::vector<double> scores(n);
  for (double& score : scores) {
    const uint64_t kind = (*random)() % 3;
    score = kind == 0   ? special[(*random)() % 7]
            : kind == 1 ? std::round(4 * normal(*random))
                        : normal(*random) * std::exp2((*random)() % 400);
  }
  return scores;
}

void ExpectSorts(const std::vector<double>& scores) {
  Order expected(scores.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(
      expected.begin(), expected.end(),
      [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  Sorter sorter;
  Order order;
  std::vector<double> values;
  for (int use = 0; use < 2; ++use) {  // The second use is warm.
    sorter.Sort(scores, &order);
    ASSERT_EQ(order, expected);
    sorter.SortValues(scores, &values);
    ASSERT_EQ(values.size(), scores.size());
    for (size_t r = 0; r < scores.size(); ++r) {
      ASSERT_EQ(values[r], scores[order[r]]);
    }
  }
}

TEST(SorterTest, SortsByFallingScoreAndItem) {
  std::mt19937_64 random(1);
  for (const size_t n : {0, 1, 2, 100, 2047, 2048, 2049, 50000}) {
    ExpectSorts(AwkwardScores(&random, n));
  }
}

// Many parts of about the same size, with ties across and within them.
TEST(SorterTest, SortsScoresThatFillTheirRange) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-3, 5);
  std::vector<double> scores(100000);
  for (double& score : scores) score = uniform(random);
  for (size_t i = 0; i < scores.size(); i += 7) scores[i] = scores[i / 2];
  ExpectSorts(scores);
}

TEST(SorterTest, SortsScoresWithoutARange) {
  std::vector<double> scores(20000, 0.5);
  ExpectSorts(scores);
  std::vector<double> one_differs(3000, 0.5);
  one_differs[17] = 0.75;
  ExpectSorts(one_differs);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = 5e-324 * static_cast<double>(i % 3);
  }
  ExpectSorts(scores);
  const double most = std::numeric_limits<double>::max();
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = i % 3 == 0 ? -most : i % 3 == 1 ? most : 1.0;
  }
  ExpectSorts(scores);
  scores[5] = HUGE_VAL;
  scores[6] = -HUGE_VAL;
  ExpectSorts(scores);
}

TEST(OrderTest, RanksAreTheInverse) {
  EXPECT_EQ(RanksOf(Order{2, 0, 1}), (std::vector<uint32_t>{1, 2, 0}));
}

std::vector<double> MeanOf(const BlockFunction& f,
                           const std::vector<double>& x) {
  std::vector<double> h(x.size());
  MeanSubgradient(f, x, h);
  return h;
}

// All pairs of 3: the increments are 2, 0, -2; of 2: 1, -1. The second block's
// scores differ by rounding.
TEST(TiedOrdersTest, EqualScoresShareTheirIncrements) {
  const BlockFunction f(
      {CardinalityFunction::AllPairs(3), CardinalityFunction::AllPairs(2)});
  ASSERT_NE(0.1 + 0.2, 0.3);
  EXPECT_EQ(MeanOf(f, {1, 0, 1, 0.1 + 0.2, 0.3}),
            (std::vector<double>{1, -2, 1, 0, 0}));
  EXPECT_EQ(MeanOf(f, {0, 1, 2, 5, 6}), (std::vector<double>{-2, 0, 2, -1, 1}));
}

// The mean over all orders that agree with the groups, one by one.
TEST_F(RandomFunctionsTest, TiedSubgradientIsTheMeanOverTheOrdersOfTies) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      const size_t n = 1 + Below(5);
      const Function f = RandomFunction(n, kind);
      std::vector<uint32_t> ties(n);
      for (uint32_t& tie : ties) tie = Below(static_cast<int>(n));
      Order order(n);
      std::iota(order.begin(), order.end(), 0u);
      std::vector<double> mean(n), h(n);
      double orders = 0;
      do {
        const bool agrees = std::is_sorted(
            order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return ties[a] < ties[b]; });
        if (!agrees) continue;
        f->ExtremeSubgradient(order, h);
        for (size_t i = 0; i < n; ++i) mean[i] += h[i];
        ++orders;
      } while (std::next_permutation(order.begin(), order.end()));
      f->TiedSubgradient(ties, h);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(h[i], mean[i] / orders, 1e-12) << kind;
      }
    }
  }
}

TEST(TiedOrdersTest, PairsThatEitherTiesCountHalf) {
  const std::vector<double> rising = {1, 2, 3};
  EXPECT_EQ(TiedKendallDistance(rising, rising), 0);
  EXPECT_EQ(TiedKendallDistance(rising, std::vector<double>{3, 2, 1}), 3);
  EXPECT_EQ(TiedKendallDistance(rising, std::vector<double>{7, 7, 7}), 1.5);
  EXPECT_EQ(TiedKendallDistance(std::vector<double>{7, 7, 7},
                                std::vector<double>{5, 5, 5}),
            1.5);
  // (0, 1) and (1, 2) are tied in one order each; (0, 2) is reversed.
  EXPECT_EQ(TiedKendallDistance(std::vector<double>{1, 1, 0},
                                std::vector<double>{0, 1, 1}),
            2);
}

}  // namespace
}  // namespace sortition
