// Interleaved orders at the edges: equal versions, huge scores, what is
// refused, keys and places.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/choices/traffic_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/choices/interleaving_case.h"
#include "tests/core/invalid.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::Interleave;
using testing::HasSubstr;

// Two versions that are the same make the orders of one of them, and neither
// gets more credit, whatever ranks earn.
TEST(InterleaverTest, EqualVersionsAreOneVersion) {
  for (const auto method :
       {Interleave::TEAM_DRAFT, Interleave::PROBABILISTIC}) {
    InterleavedPair pair(
        {.mixtures = {0.2, 0.2}, .weights = {1.5, 1.5}, .top_k = 3}, method);
    std::vector<double> log_odds;
    for (const Action& order : pair.Orders()) {
      const double alone = pair.OfVersion(0, order);
      EXPECT_NEAR(pair.LogPropensity(order), alone, 1e-13);
      TeamLogOdds(method, pair.scratch().conditionals[0],
                  pair.scratch().conditionals[1], &log_odds);
      EXPECT_THAT(log_odds, testing::Each(0.0));
    }
  }
}

// Scores far apart: what the two would never do together keeps its precision.
TEST(InterleaverTest, HugeScoresDoNotCancel) {
  for (const auto method :
       {Interleave::TEAM_DRAFT, Interleave::PROBABILISTIC}) {
    InterleavedPair pair({.weights = {1e4, -1e4}, .features = {0, 1, 2, 3}},
                         method);
    // Each version is certain of its order, the reverse of the other's. So each
    // coin decides, but for that of a last candidate that is left.
    const double coins = method == Interleave::TEAM_DRAFT ? 2 : 3;
    Draw draw;
    for (int i = 0; i < 50; ++i) {
      pair.Decide(absl::StrCat("d", i), &draw);
      EXPECT_NEAR(draw.log_propensity, -coins * std::log(2), 1e-12);
    }
    // The second version gives its second best in place of its best, e^-1e4. In
    // a pair, the first one would then have to give its worst: it is likelier,
    // with e^-2e4, that it gave its third best and the other one its best.
    const double expected = method == Interleave::TEAM_DRAFT ? -2e4 : -1e4;
    EXPECT_NEAR(pair.LogPropensity({1, 0, 2, 3}) / expected, 1, 1e-3);
  }
}

TEST(InterleaverTest, ScoresThatCannotBeDrawnMakeNoOrder) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    InterleavingCase c;
    c.weights = {1, 1};
    c.weights[side] = 1e12;
    InterleavedPair pair(c, Interleave::TEAM_DRAFT);
    Draw draw;
    pair.Decide("d", &draw);
    EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
    EXPECT_THAT(draw.action, testing::IsEmpty());
    EXPECT_EQ(pair.LogPropensity({0, 1, 2, 3, 4}), -HUGE_VAL);
  }
}

// A model of one feature refuses two, whichever of the versions it is.
TEST(InterleaverTest, ARefusalOfEitherStandsInTheFirstWorkspace) {
  const model::v1::Policy policy = RankPolicy(0);
  const auto one = *LinearPolicy::Create(policy, {1});
  const auto two = *LinearPolicy::Create(policy, {1, 1});
  const std::vector<float> features = {1, 2, 3, 4};
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 2);
  for (const bool is_first : {false, true}) {
    const auto interleaver = Interleaver::Create(
        Interleave::PROBABILISTIC, {is_first ? &one : &two, &policy},
        {is_first ? &two : &one, &policy});
    ASSERT_OK(interleaver);
    PolicyWorkspace first;
    PolicyWorkspace second;
    InterleavingScratch scratch;
    Draw draw;
    draw.action = {7};
    interleaver->Decide(query, SeedKey(1), {&first, &second}, &scratch, &draw);
    EXPECT_FALSE(first.refusal.ok());
    EXPECT_THAT(draw.action, testing::IsEmpty());
  }
}

TEST(InterleaverTest, MalformedOrdersAreImpossible) {
  InterleavedPair pair(
      {.eligible = {true, true, true, false, true}, .top_k = 2},
      Interleave::TEAM_DRAFT);
  for (const Action& order : std::vector<Action>{
           {}, {0}, {0, 0}, {0, 3}, {0, 5}, {0, -1}, {0, 1, 2}}) {
    EXPECT_EQ(pair.LogPropensity(order), -HUGE_VAL);
  }
}

TEST(InterleaverTest, OtherPoliciesAndMethodsAreRefusedByName) {
  const model::v1::Policy ranking = RankPolicy(0);
  const auto linear = *LinearPolicy::Create(ranking, {1});
  EXPECT_THAT(Interleaver::Create(Interleave::METHOD_UNSPECIFIED,
                                  {&linear, &ranking}, {&linear, &ranking}),
              IsInvalid(HasSubstr("method is 0")));
  for (const auto& [policy, name] :
       std::vector<std::pair<model::v1::Policy, std::string>>{
           {HeadPolicy(), "boltzmann_ranking"},
           {SoftmaxPolicy(0), "softmax_selection"},
           {model::v1::Policy(), "uniform"}}) {
    EXPECT_THAT(Interleaver::Create(Interleave::TEAM_DRAFT, {&linear, &ranking},
                                    {&linear, &policy}),
                IsInvalid(HasSubstr(absl::StrCat("policy is ", name,
                                                 ", must be plackett_luce"))));
  }
}

TEST(InterleaverTest, AllocatesNothingWhenWarm) {
  InterleavedPair pair({.mixtures = {0.1, 0.2}}, Interleave::TEAM_DRAFT);
  Draw draw;
  const std::string id = "decision";
  pair.Decide(id, &draw);
  const int64_t before = NumAllocations();
  pair.Decide(id, &draw);
  EXPECT_EQ(NumAllocations(), before);
}

// The key depends on both versions, and on which of the two is the first.
TEST(InterleavingKeyTest, BothVersionsCount) {
  const Hash128 a = DecisionKey("m", 1, "d", "0123");
  const Hash128 b = DecisionKey("m", 2, "d", "0123");
  const Hash128 c = DecisionKey("m", 2, "d", "4567");
  const std::vector<Hash128> keys = {InterleavingKey(a, b),
                                     InterleavingKey(b, a),
                                     InterleavingKey(a, c),
                                     InterleavingKey(c, b),
                                     a,
                                     b,
                                     c};
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(keys[i] == keys[j]);
  }
}

// The place says nothing of the arm that the unit would have, and a unit keeps
// it.
TEST(InterleavingPlaceTest, IsUniformAndIndependentOfArms) {
  std::vector<uint64_t> counts(16);
  for (int i = 0; i < 20'000; ++i) {
    const std::string unit = absl::StrCat("unit", i);
    const uint32_t place = InterleavingPlace("m", "salt", unit, "a");
    EXPECT_EQ(InterleavingPlace("m", "salt", unit, "b"), place);
    const uint32_t arm = SplitPlace("m", "salt", unit, "a");
    ASSERT_LT(place, kSplitPlaces);
    ++counts[place / 2500 * 4 + arm / 2500];
  }
  EXPECT_GT(ChiSquarePValue(counts, std::vector<double>(16, 1. / 16)), 1e-6);
  EXPECT_NE(InterleavingPlace("m", "salt", "", "a"),
            InterleavingPlace("m", "salt", "", "b"));
}

}  // namespace
}  // namespace sortition
