#include "core/aggregation/submodular_function.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/metrics/pair_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using Function = std::unique_ptr<SubmodularFunction>;

class SubmodularFunctionTest : public ::testing::Test {
 protected:
  int Below(int bound) { return static_cast<int>(random_() % bound); }

  // One in three has many ties.
  std::vector<double> Scores(size_t n) {
    std::uniform_real_distribution<double> uniform(0, 1);
    const bool ties = Below(3) == 0;
    std::vector<double> x(n);
    for (double& score : x) score = ties ? Below(3) / 2.0 : uniform(random_);
    return x;
  }

  Order RandomOrder(size_t n) {
    Order order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  Function RandomCardinality(size_t n) {
    std::normal_distribution<double> normal;
    std::vector<double> increments(n);
    for (double& increment : increments) increment = normal(random_);
    std::sort(increments.begin(), increments.end(), std::greater<>());
    return CardinalityFunction::Create(increments).value();
  }

  Function RandomCut(size_t n) {
    std::vector<CutFunction::Edge> edges;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        if (i != j && Below(2) == 0) edges.push_back({i, j, 0.5 * Below(4)});
      }
    }
    return CutFunction::Create(n, edges).value();
  }

  Function RandomFunction(size_t n) {
    switch (Below(7)) {
      case 0:
        return CardinalityFunction::AllPairs(n);
      case 1:
        return CardinalityFunction::Top(n, 1 + Below(static_cast<int>(n)));
      case 2:
        return CardinalityFunction::Dcg(n, Below(static_cast<int>(n)));
      case 3:
        return CardinalityFunction::Ends(n);
      case 4:
        return CutFunction::Chain(n);
      case 5:
        return RandomCardinality(n);
      default:
        return RandomCut(n);
    }
  }

  std::mt19937_64 random_{7};
};

// Indicators of the sets of n items, by bits.
std::vector<uint8_t> SetOf(uint32_t bits, size_t n) {
  std::vector<uint8_t> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = (bits >> i) & 1;
  return in;
}

TEST_F(SubmodularFunctionTest, AreSubmodularAndAgreeWithTheirExtension) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const size_t n = 1 + Below(5);
    const Function f = RandomFunction(n);
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
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function f = RandomFunction(n);
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
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function f = RandomFunction(n);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    const double divergence = f->Divergence(x, order);
    ASSERT_NEAR(divergence, DivergenceByDefinition(*f, x, order), 1e-12);
    ASSERT_GE(divergence, 0);
    ASSERT_EQ(f->Divergence(x, OrderOf(x)), 0);
  }
}

TEST_F(SubmodularFunctionTest, DivergencesAreConvexInTheScores) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n);
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
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const size_t n = 2 + Below(5);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    bool falls = true;
    for (size_t r = 0; r + 1 < n; ++r) {
      falls = falls && x[order[r]] >= x[order[r + 1]];
    }
    for (const Function& f :
         {Function(CardinalityFunction::AllPairs(n)),
          Function(CardinalityFunction::Dcg(n, 0)), RandomCardinality(n)}) {
      EXPECT_EQ(f->Divergence(x, order) == 0, falls);
    }
  }
}

// Corollary 3.1.1.
TEST_F(SubmodularFunctionTest, NamesOfItemsDoNotMatterToCardinality) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function f = RandomCardinality(n);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    const Order rename = RandomOrder(n);
    std::vector<double> renamed_x(n);
    Order renamed_order(n);
    for (size_t i = 0; i < n; ++i) renamed_x[rename[i]] = x[i];
    for (size_t r = 0; r < n; ++r) renamed_order[r] = rename[order[r]];
    ASSERT_NEAR(f->Divergence(renamed_x, renamed_order),
                f->Divergence(x, order), 1e-12);
  }
}

TEST_F(SubmodularFunctionTest, IsLinearInTheFunction) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 1 + Below(8);
    const Function one = RandomCardinality(n);
    const Function two = RandomCardinality(n);
    std::vector<double> sum(n);
    std::vector<double> shifted(n);  // And a modular term does not matter.
    for (size_t r = 0; r < n; ++r) {
      sum[r] = static_cast<CardinalityFunction&>(*one).increments()[r] +
               static_cast<CardinalityFunction&>(*two).increments()[r];
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

// Theorem 3.2 and what follows it: scores that are nearly equal are near to
// every order.
TEST_F(SubmodularFunctionTest, IsBoundedByTheSpreadOfTheScores) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n);
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

// Lemma 3.1: two neighbours that change places cost their difference times what
// the function tells them apart by.
TEST_F(SubmodularFunctionTest, CostsOfNeighboursThatChangePlaces) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n);
    std::vector<double> x = Scores(n);
    const Order own = OrderOf(x);
    const size_t k = Below(static_cast<int>(n) - 1);
    Order order = own;
    std::swap(order[k], order[k + 1]);
    std::vector<uint8_t> before(n);
    for (size_t r = 0; r < k; ++r) before[own[r]] = 1;
    std::vector<uint8_t> with_item = before;
    with_item[own[k]] = 1;
    std::vector<uint8_t> with_other = before;
    with_other[own[k + 1]] = 1;
    std::vector<uint8_t> with_both = with_item;
    with_both[own[k + 1]] = 1;
    const double gain_first = f->Value(with_item) - f->Value(before);
    const double gain_second = f->Value(with_both) - f->Value(with_other);
    ASSERT_NEAR(f->Divergence(x, order),
                (x[own[k]] - x[own[k + 1]]) * (gain_first - gain_second),
                1e-12);
  }
}

// Eq. 14 and table 1 as printed count each inverted pair once.
TEST_F(SubmodularFunctionTest, PrintedCutDivergencesAreHalf) {
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = 2 + Below(6);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    double all_pairs = 0;
    double chain = 0;
    for (size_t r = 0; r < n; ++r) {
      for (size_t s = r + 1; s < n; ++s) {
        const double inverted = std::max(0.0, x[order[s]] - x[order[r]]);
        all_pairs += inverted;
        const auto gap =
            static_cast<int>(order[s]) - static_cast<int>(order[r]);
        if (std::abs(gap) == 1) chain += inverted;
      }
    }
    EXPECT_NEAR(CardinalityFunction::AllPairs(n)->Divergence(x, order),
                2 * all_pairs, 1e-12);
    EXPECT_NEAR(CutFunction::Chain(n)->Divergence(x, order), 2 * chain, 1e-12);
  }
}

// Row 7 of table 1 is 0 for a reversed order, which the definition is not.
TEST_F(SubmodularFunctionTest, PrintedRowSevenIsNotTheDivergence) {
  const std::vector<double> x = {3, 2, 1};
  const Order reversed = {2, 1, 0};
  EXPECT_EQ(CardinalityFunction::Ends(3)->Divergence(x, reversed), 4);
}

TEST_F(SubmodularFunctionTest, TopCountsWhatTheFirstLack) {
  const std::vector<double> x = {0.1, 0.9, 0.5, 0.4};
  EXPECT_NEAR(CardinalityFunction::Top(4, 2)->Divergence(x, Order{3, 1, 0, 2}),
              0.1, 1e-15);
  EXPECT_NEAR(CardinalityFunction::Top(4, 1)->Divergence(x, Order{3, 1, 0, 2}),
              0.5, 1e-15);
  EXPECT_EQ(CardinalityFunction::Top(4, 9)->Divergence(x, Order{0, 1, 2, 3}),
            0);
  ASSERT_OK_AND_ASSIGN(const Order order,
                       CompleteOrder(std::vector<uint32_t>{3, 1}, 4));
  EXPECT_EQ(order, (Order{3, 1, 0, 2}));
}

TEST_F(SubmodularFunctionTest, DcgIsTheLossInDcg) {
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = 1 + Below(8);
    const uint32_t cutoff = Below(static_cast<int>(n) + 1);
    std::vector<int> relevances(n);
    std::vector<double> gains(n);
    for (size_t i = 0; i < n; ++i) {
      relevances[i] = Below(4);
      gains[i] = std::exp2(relevances[i]) - 1;
    }
    const Order order = RandomOrder(n);
    std::vector<int> ranked(n);
    for (size_t r = 0; r < n; ++r) ranked[r] = relevances[order[r]];
    std::vector<int> ideal = relevances;
    std::sort(ideal.begin(), ideal.end(), std::greater<>());
    const double loss =
        CardinalityFunction::Dcg(n, cutoff)->Divergence(gains, order);
    EXPECT_NEAR(loss, Dcg(ideal, cutoff) - Dcg(ranked, cutoff), 1e-12);
    if (Dcg(ideal, cutoff) > 0) {
      EXPECT_NEAR(1 - loss / Dcg(ideal, cutoff),
                  Ndcg(ranked, relevances, cutoff), 1e-12);
    }
  }
}

TEST_F(SubmodularFunctionTest, AllPairsGivesTheAreaUnderTheCurve) {
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = 2 + Below(7);
    std::vector<double> x(n);
    for (double& good : x) good = Below(2);
    const double goods = std::accumulate(x.begin(), x.end(), 0.0);
    if (goods == 0 || goods == static_cast<double>(n)) continue;
    const Order order = RandomOrder(n);
    std::vector<uint8_t> ranked(n);
    for (size_t r = 0; r < n; ++r) ranked[r] = x[order[r]] > 0 ? 1 : 0;
    const double pairs = goods * (static_cast<double>(n) - goods);
    EXPECT_NEAR(
        CardinalityFunction::AllPairs(n)->Divergence(x, order) / (2 * pairs),
        1 - AreaUnderRoc(ranked), 1e-12);
  }
}

// The paper's example: 1 > 2, 3 > 2 of {1, 2, 3, 4}.
TEST_F(SubmodularFunctionTest, PartialOrdersCountTheirPairsOnly) {
  const std::vector<CutFunction::Edge> better = {{0, 1, 1}, {2, 1, 1}};
  const std::vector<double> x = {0.2, 0.7, 0.6, 0.9};
  EXPECT_NEAR(PartialOrderDivergence(x, better), 0.5 + 0.1, 1e-15);
  const auto cut = CutFunction::Create(4, better).value();
  for (const Order& obeys : {Order{0, 2, 1, 3}, Order{3, 2, 0, 1}}) {
    EXPECT_NEAR(cut->Divergence(x, obeys), 0.6, 1e-15);
  }
}

TEST_F(SubmodularFunctionTest, SignsTellOrdersApart) {
  const auto f = CardinalityFunction::Create({2, 1}).value();
  const std::vector<double> x = {2, 1};
  // |y| = (1, 2) falls as 1, 0.
  const SignedOrder negative = {{1, 0}, {-1, -1}};
  ASSERT_OK_AND_ASSIGN(const double far, ExtendedDivergence(*f, x, negative));
  EXPECT_NEAR(far, 5 + 4, 1e-15);  // f̂ = 2·2 + 1, <x, s h> = -2·1 - 1·2.
  ASSERT_OK_AND_ASSIGN(const double near,
                       ExtendedDivergence(*f, x, {{0, 1}, {1, 1}}));
  EXPECT_EQ(near, 0);
  EXPECT_THAT(ExtendedDivergence(*CardinalityFunction::Ends(2), x, negative),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be monotone")));
}

TEST_F(SubmodularFunctionTest, RefusesWhatIsNoSubmodularFunction) {
  EXPECT_THAT(CardinalityFunction::Create({1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("increments[1] is 2, must be at most")));
  EXPECT_THAT(CardinalityFunction::Create({NAN}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("increments[0] is nan, must be finite")));
  EXPECT_THAT(CutFunction::Create(2, {{0, 2, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("edges[0] is from 0 to 2, must join two")));
  EXPECT_THAT(CutFunction::Create(2, {{0, 1, -1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("edges[0].weight is -1, must be at least 0")));
  EXPECT_THAT(CompleteOrder(std::vector<uint32_t>{1, 1}, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("order[1] is 1, must not be named twice")));
  EXPECT_THAT(ValidateOrder(std::vector<uint32_t>{1}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("order has 1 items, must have 2")));
}

}  // namespace
}  // namespace sortition
