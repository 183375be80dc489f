#include "core/aggregation/submodular_function.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/metrics/pair_metrics.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/core/invalid.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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

// Corollary 3.1.1: functions of cardinality do not depend on the names of
// items.
TEST_F(SubmodularFunctionTest, NamesOfItemsDoNotMatterToCardinality) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
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

// Lemma 3.1: two neighbours that swap places cost their difference in score
// times the amount by which the function tells them apart.
TEST_F(SubmodularFunctionTest, CostsOfNeighboursThatChangePlaces) {
  for (int repeat = 0; repeat < kKinds * kRepeats; ++repeat) {
    const size_t n = 2 + Below(6);
    const Function f = RandomFunction(n, repeat % kKinds);
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

TEST_F(SubmodularFunctionTest, RefusesWhatIsNoSubmodularFunction) {
  EXPECT_THAT(CardinalityFunction::Create({1, 2}),
              IsInvalid(HasSubstr("increments[1] is 2, must be at most")));
  EXPECT_THAT(CardinalityFunction::Create({NAN}),
              IsInvalid(HasSubstr("increments[0] is nan, must be finite")));
  EXPECT_THAT(CutFunction::Create(2, {{0, 2, 1}}),
              IsInvalid(HasSubstr("edges[0] is from 0 to 2, must join two")));
  EXPECT_THAT(
      CutFunction::Create(2, {{0, 1, -1}}),
      IsInvalid(HasSubstr("edges[0].weight is -1, must be at least 0")));
  EXPECT_THAT(CompleteOrder(std::vector<uint32_t>{1, 1}, 3),
              IsInvalid(HasSubstr("order[1] is 1, must not be named twice")));
  EXPECT_THAT(ValidateOrder(std::vector<uint32_t>{1}, 2),
              IsInvalid(HasSubstr("order has 1 items, must have 2")));
}

}  // namespace
}  // namespace sortition
