// Interleaved orders: propensities against the enumeration of all coins and
// against what is drawn; who filled which rank.
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/choices/interleaving_case.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

using model::v1::Interleave;

class InterleavingTest
    : public testing::TestWithParam<
          std::tuple<InterleavingCase, Interleaver::Method>> {
 protected:
  InterleavedPair pair_{std::get<0>(GetParam()), std::get<1>(GetParam())};
  const Interleaver::Method method_ = std::get<1>(GetParam());
};

// The propensity of an order is that of all coins that lead to it, and all
// orders add up to 1.
TEST_P(InterleavingTest, PropensitiesAreThoseOfAllCoins) {
  long double sum = 0;
  for (const Action& order : pair_.Orders()) {
    long double expected = 0;
    for (const InterleavedPair::Way& way : pair_.Ways(order))
      expected += way.probability;
    sum += expected;
    EXPECT_NEAR(pair_.LogPropensity(order),
                static_cast<double>(std::log(expected)), 1e-12);
  }
  EXPECT_NEAR(static_cast<double>(sum), 1, 1e-12);
}

// Each rank given those above it: P(first r + 1 ranks) / P(first r ranks), by
// adding up the orders that begin so. So the conditionals of a prefix add up to
// the propensity of the prefix.
TEST_P(InterleavingTest, RanksHaveTheConditionalsOfTheWhole) {
  const std::vector<Action> orders = pair_.Orders();
  const auto of_prefix = [&](const Action& order, size_t ranks) {
    long double sum = 0;
    for (const Action& each : orders) {
      if (std::equal(order.begin(),
                     order.begin() + static_cast<ptrdiff_t>(ranks),
                     each.begin())) {
        sum += std::exp(static_cast<long double>(pair_.LogPropensity(each)));
      }
    }
    return sum;
  };
  Draw draw;
  for (int i = 0; i < 20; ++i) {
    pair_.Decide(absl::StrCat("d", i), &draw);
    ASSERT_EQ(draw.conditional_log_propensities.size(), draw.action.size());
    const std::vector<double> conditionals = draw.conditional_log_propensities;
    double sum = 0;
    for (size_t r = 0; r < draw.action.size(); ++r) {
      sum += conditionals[r];
      EXPECT_NEAR(std::exp(sum),
                  static_cast<double>(of_prefix(draw.action, r + 1)), 1e-12);
      EXPECT_LE(conditionals[r], 0);
    }
    EXPECT_EQ(draw.log_propensity, sum);
  }
}

// P(team of rank r | order), by Bayes from all coins.
TEST_P(InterleavingTest, TeamsArePosteriorsOverCoins) {
  std::vector<double> log_odds;
  for (const Action& order : pair_.Orders()) {
    std::vector<long double> of_first(order.size());
    long double sum = 0;
    for (const InterleavedPair::Way& way : pair_.Ways(order)) {
      sum += way.probability;
      for (size_t r = 0; r < order.size(); ++r) {
        if (way.teams[r] == 0) of_first[r] += way.probability;
      }
    }
    ASSERT_NE(pair_.LogPropensity(order), -HUGE_VAL);
    TeamLogOdds(method_, pair_.scratch().conditionals[0],
                pair_.scratch().conditionals[1], &log_odds);
    for (size_t r = 0; r < order.size(); ++r) {
      EXPECT_NEAR(1 / (1 + std::exp(-log_odds[r])),
                  static_cast<double>(of_first[r] / sum), 1e-12);
    }
  }
}

// Each rank is filled by each version half of the time, so that a reward that
// depends on ranks alone prefers nobody: Σ over orders of P(order) (P(first) -
// P(second)) is 0 at every rank.
TEST_P(InterleavingTest, RanksAreFair) {
  std::vector<double> log_odds;
  std::vector<double> difference(pair_.Orders()[0].size());
  for (const Action& order : pair_.Orders()) {
    const double probability = std::exp(pair_.LogPropensity(order));
    TeamLogOdds(method_, pair_.scratch().conditionals[0],
                pair_.scratch().conditionals[1], &log_odds);
    for (size_t r = 0; r < order.size(); ++r) {
      difference[r] += probability * std::tanh(log_odds[r] / 2);
    }
  }
  for (const double each : difference) EXPECT_NEAR(each, 0, 1e-12);
}

// What is drawn is logged with the bits that a repetition has, and as often as
// is logged. A right one fails with probability 1e-6 (fixed ids).
TEST_P(InterleavingTest, OrdersAreDrawnAsOftenAsIsLogged) {
  constexpr int kDraws = 30'000;
  const std::vector<Action> orders = pair_.Orders();
  std::map<Action, size_t> places;
  std::vector<double> probabilities;
  for (const Action& order : orders) {
    places[order] = probabilities.size();
    probabilities.push_back(std::exp(pair_.LogPropensity(order)));
  }
  std::vector<uint64_t> counts(orders.size());
  Draw draw;
  for (int i = 0; i < kDraws; ++i) {
    pair_.Decide(absl::StrCat("decision", i), &draw);
    const auto found = places.find(draw.action);
    ASSERT_NE(found, places.end());
    ++counts[found->second];
    if (i >= 100) continue;
    EXPECT_EQ(std::bit_cast<uint64_t>(draw.log_propensity),
              std::bit_cast<uint64_t>(pair_.LogPropensity(draw.action)));
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-6);
}

std::string NameOfInterleaving(
    const testing::TestParamInfo<InterleavingTest::ParamType>& test) {
  return absl::StrCat(std::get<0>(test.param).name,
                      std::get<1>(test.param) == Interleave::TEAM_DRAFT
                          ? "TeamDraft"
                          : "Probabilistic");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, InterleavingTest,
    testing::Combine(testing::ValuesIn(InterleavingCases()),
                     testing::Values(Interleave::TEAM_DRAFT,
                                     Interleave::PROBABILISTIC)),
    NameOfInterleaving);

}  // namespace
}  // namespace sortition
