// Divergences against known ones: the rows of table 1, DCG, the area under the
// curve, partial and signed orders.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/aggregation/submodular_function.h"
#include "core/metrics/pair_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class KnownDivergencesTest : public RandomFunctionsTest {};

// Eq. 14 and table 1 as printed count each inverted pair once.
TEST_F(KnownDivergencesTest, PrintedCutDivergencesAreHalf) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
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

// Row 7 of table 1 is 0 for a reversed order; the definition is not.
TEST_F(KnownDivergencesTest, PrintedRowSevenIsNotTheDivergence) {
  const std::vector<double> x = {3, 2, 1};
  const Order reversed = {2, 1, 0};
  EXPECT_EQ(CardinalityFunction::Ends(3)->Divergence(x, reversed), 4);
}

TEST_F(KnownDivergencesTest, TopCountsWhatTheFirstLack) {
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

TEST_F(KnownDivergencesTest, DcgIsTheLossInDcg) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 1 + Below(8);
    const uint32_t cutoff = Below(static_cast<int>(n) + 1);
    std::vector<uint32_t> relevances(n);
    std::vector<double> gains(n);
    for (size_t i = 0; i < n; ++i) {
      relevances[i] = Below(4);
      gains[i] = std::exp2(relevances[i]) - 1;
    }
    const Order order = RandomOrder(n);
    std::vector<uint32_t> by_rank(n);
    for (size_t r = 0; r < n; ++r) by_rank[r] = relevances[order[r]];
    const TiedRanking ranked = TiedRanking::OfOrder(by_rank);
    const double ideal = Dcg(ranked.Best(), cutoff);
    const double loss =
        CardinalityFunction::Dcg(n, cutoff)->Divergence(gains, order);
    EXPECT_NEAR(loss, ideal - Dcg(ranked, cutoff), 1e-12);
    if (ideal > 0) {
      EXPECT_NEAR(1 - loss / ideal, Ndcg(ranked, cutoff), 1e-12);
    }
  }
}

TEST_F(KnownDivergencesTest, AllPairsGivesTheAreaUnderTheCurve) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 2 + Below(7);
    std::vector<double> x(n);
    for (double& good : x) good = Below(2);
    const double goods = std::accumulate(x.begin(), x.end(), 0.0);
    if (goods == 0 || goods == static_cast<double>(n)) continue;
    const Order order = RandomOrder(n);
    std::vector<double> scores(n);
    std::vector<uint32_t> labels(n);
    for (size_t r = 0; r < n; ++r) {
      scores[r] = -static_cast<double>(r);
      labels[r] = x[order[r]] > 0 ? 1 : 0;
    }
    const double pairs = goods * (static_cast<double>(n) - goods);
    EXPECT_NEAR(
        CardinalityFunction::AllPairs(n)->Divergence(x, order) / (2 * pairs),
        1 - RightPairs(scores, labels), 1e-12);
  }
}

// The paper's example: 1 > 2, 3 > 2 of {1, 2, 3, 4}.
TEST_F(KnownDivergencesTest, PartialOrdersCountTheirPairsOnly) {
  const std::vector<CutFunction::Edge> better = {{0, 1, 1}, {2, 1, 1}};
  const std::vector<double> x = {0.2, 0.7, 0.6, 0.9};
  EXPECT_NEAR(PartialOrderDivergence(x, better), 0.5 + 0.1, 1e-15);
  const auto cut = CutFunction::Create(4, better).value();
  for (const Order& obeys : {Order{0, 2, 1, 3}, Order{3, 2, 0, 1}}) {
    EXPECT_NEAR(cut->Divergence(x, obeys), 0.6, 1e-15);
  }
}

// Scores that obey the edges cost nothing; others cost as much as the cut from
// every order that obeys them.
TEST_F(KnownDivergencesTest, PartialOrdersAreCutsOfWhatObeysThem) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 2 + Below(6);
    const std::vector<double> x = Scores(n);
    const Order order = RandomOrder(n);
    std::vector<CutFunction::Edge> better;
    for (size_t r = 0; r < n; ++r) {
      for (size_t s = r + 1; s < n; ++s) {
        if (Below(2) == 0) {
          better.push_back({order[r], order[s], 0.5 * Below(4)});
        }
      }
    }
    const Function cut = CutFunction::Create(n, better).value();
    ASSERT_NEAR(PartialOrderDivergence(x, better), cut->Divergence(x, order),
                1e-12);
    ASSERT_NEAR(PartialOrderDivergence(x, better),
                DivergenceByDefinition(*cut, x, order), 1e-12);
  }
}

// f̂(|x|) is a norm whose subgradient at points of that order and those signs is
// s h_σ: the divergence is its Bregman divergence.
TEST_F(KnownDivergencesTest, ExtendedDivergencesAreOfSignedScores) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const size_t n = 1 + Below(6);
    std::vector<double> increments(n);
    for (double& increment : increments) increment = Scores(1)[0];
    std::sort(increments.begin(), increments.end(), std::greater<>());
    const Function f = CardinalityFunction::Create(increments).value();
    const auto signed_scores = [&] {
      std::vector<double> x = Scores(n);
      for (double& score : x) score *= Below(2) == 0 ? 1 : -1;
      return x;
    };
    const auto absolute = [](std::vector<double> x) {
      for (double& score : x) score = std::abs(score);
      return x;
    };
    const std::vector<double> x = signed_scores();
    SignedOrder order = {RandomOrder(n), std::vector<int8_t>(n)};
    for (int8_t& sign : order.signs) sign = Below(2) == 0 ? 1 : -1;
    double product = 0;
    for (size_t r = 0; r < n; ++r) {
      const uint32_t item = order.order[r];
      product += x[item] * order.signs[item] * increments[r];
    }
    const double divergence = ExtendedDivergence(*f, x, order).value();
    ASSERT_NEAR(divergence, LovaszExtension(*f, absolute(x)) - product, 1e-12);
    ASSERT_GE(divergence, -1e-12);
    // Its own order and signs cost 0.
    SignedOrder own = {OrderOf(absolute(x)), std::vector<int8_t>(n)};
    for (size_t i = 0; i < n; ++i) own.signs[i] = x[i] < 0 ? -1 : 1;
    ASSERT_NEAR(ExtendedDivergence(*f, x, own).value(), 0, 1e-12);
    // The divergence is convex.
    const std::vector<double> y = signed_scores();
    const double t = Below(11) / 10.0;
    std::vector<double> mixed(n);
    for (size_t i = 0; i < n; ++i) mixed[i] = t * x[i] + (1 - t) * y[i];
    ASSERT_LE(ExtendedDivergence(*f, mixed, order).value(),
              t * divergence +
                  (1 - t) * ExtendedDivergence(*f, y, order).value() + 1e-12);
  }
}

TEST_F(KnownDivergencesTest, SignsTellOrdersApart) {
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
              IsInvalidArgument("must be monotone"));
}

}  // namespace
}  // namespace sortition
