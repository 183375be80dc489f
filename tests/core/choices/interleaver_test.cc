// Interleaved orders at the edges: equal versions, huge scores, what is
// refused, keys and places.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/choices/interleaving.h"
#include "core/choices/traffic_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/choices/choice_case.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::Interleave;

// Two versions that make orders together, over few enough candidates to
// enumerate all orders and all coins.

struct InterleavingCase {
  std::string name = {};
  std::array<double, 2> mixtures = {0, 0};
  std::array<double, 2> weights = {1.3, -0.7};
  std::vector<bool> eligible = {};  // Empty: all.
  uint32_t top_k = 0;
  std::vector<float> features = {0.5f, -1.25f, 1, 0, 2};
};

std::vector<InterleavingCase> InterleavingCases() {
  return {
      {.name = "All"},
      {.name = "Mixed", .mixtures = {0.1, 0.4}},
      {.name = "OneMixed", .mixtures = {0.3, 0}, .top_k = 4},
      {.name = "UniformBesideSharp",
       .mixtures = {1, 0.01},
       .weights = {1, 9},
       .eligible = {true, true, false, true, true}},
      {.name = "Top1", .mixtures = {0.2, 0}, .top_k = 1},
      {.name = "Top2", .top_k = 2},
      {.name = "Top3", .mixtures = {0, 0.2}, .top_k = 3},
      {.name = "MaskedTop3",
       .mixtures = {0.1, 0.1},
       .eligible = {true, false, true, true, true},
       .top_k = 3},
      {.name = "Lone",
       .mixtures = {0.1, 0},
       .eligible = {false, false, true, false, false}},
      {.name = "Ties", .weights = {0, 2}, .features = {1, 1, 1, 3}},
  };
}

// Two versions, and what a server does with them.
class InterleavedPair {
 public:
  InterleavedPair(const InterleavingCase& c, Interleaver::Method method)
      : features_(c.features), method_(method) {
    for (size_t s = 0; s < 2; ++s) {
      policies_[s] = RankPolicy(c.mixtures[s]);
      auto linear = LinearPolicy::Create(policies_[s], {c.weights[s]});
      CHECK(linear.ok());
      linear_.push_back(*std::move(linear));
    }
    auto made = Interleaver::Create(method, {&linear_[0], &policies_[0]},
                                    {&linear_[1], &policies_[1]});
    CHECK(made.ok());
    interleaver_.emplace(*std::move(made));
    query_.candidates = Candidates::DenseUnchecked(features_, 1);
    std::copy(c.eligible.begin(), c.eligible.end(), eligible_.begin());
    query_.eligible = {eligible_.data(), c.eligible.size()};
    query_.top_k = c.top_k;
  }
  InterleavedPair(const InterleavedPair&) = delete;

  // Every order of so many ranks that there can be.
  std::vector<Action> Orders() const {
    std::vector<int32_t> documents;
    for (size_t i = 0; i < features_.size(); ++i) {
      if (query_.eligible.empty() || eligible_[i]) {
        documents.push_back(static_cast<int32_t>(i));
      }
    }
    const size_t ranks = query_.top_k == 0 ? documents.size() : query_.top_k;
    std::vector<Action> orders;
    Action order;
    AppendOrders(documents, ranks, &order, &orders);
    return orders;
  }

  // P(first r ranks of `order`) under a version, by adding up the orders that
  // begin so.
  long double OfPrefix(size_t side, const Action& order, size_t ranks) {
    const Action prefix(order.begin(),
                        order.begin() + static_cast<ptrdiff_t>(ranks));
    const auto [known, is_new] = prefixes_[side].try_emplace(prefix, 0);
    if (!is_new) return known->second;
    long double sum = 0;
    for (const Action& each : Orders()) {
      if (!std::equal(prefix.begin(), prefix.end(), each.begin())) continue;
      sum += std::exp(static_cast<long double>(
          linear_[side].LogPropensity(query_, each, &workspaces_[side])));
    }
    return known->second = sum;
  }

  // For each way that coins can fall: its probability together with the order,
  // and who filled each rank.
  struct Way {
    long double probability;
    std::vector<size_t> teams;
  };
  std::vector<Way> Ways(const Action& order) {
    const bool is_draft = method_ == model::v1::Interleave::TEAM_DRAFT;
    const size_t coins = is_draft ? (order.size() + 1) / 2 : order.size();
    std::vector<Way> ways;
    for (size_t fallen = 0; fallen < size_t{1} << coins; ++fallen) {
      Way way = {std::pow(0.5L, static_cast<int>(coins)), {}};
      for (size_t r = 0; r < order.size(); ++r) {
        const size_t coin = fallen >> (is_draft ? r / 2 : r) & 1;
        const size_t team = is_draft && r % 2 == 1 ? 1 - coin : coin;
        way.teams.push_back(team);
        way.probability *=
            OfPrefix(team, order, r + 1) / OfPrefix(team, order, r);
      }
      ways.push_back(way);
    }
    return ways;
  }

  double LogPropensity(const Action& order) {
    return interleaver_->LogPropensity(query_, order, Workspaces(), &scratch_);
  }
  void Decide(const std::string& id, Draw* draw) {
    interleaver_->Decide(
        query_,
        InterleavingKey(DecisionKey("m", 1, id), DecisionKey("m", 2, id)),
        Workspaces(), &scratch_, draw);
  }
  double OfVersion(size_t side, const Action& order) {
    return linear_[side].LogPropensity(query_, order, &workspaces_[side]);
  }

  Interleaver::Workspaces Workspaces() {
    return {&workspaces_[0], &workspaces_[1]};
  }
  const PolicyWorkspace& workspace(size_t side) const {
    return workspaces_[side];
  }
  const InterleavingScratch& scratch() const { return scratch_; }
  PolicyQuery& query() { return query_; }

 private:
  const std::vector<float> features_;
  const Interleaver::Method method_;
  std::array<model::v1::Policy, 2> policies_;
  std::vector<LinearPolicy> linear_;
  std::optional<Interleaver> interleaver_;
  std::array<bool, 8> eligible_ = {};
  PolicyQuery query_;
  std::array<PolicyWorkspace, 2> workspaces_;
  InterleavingScratch scratch_;
  std::array<std::map<Action, long double>, 2> prefixes_;
};

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
              IsInvalidArgument("method is 0"));
  for (const auto& [policy, name] :
       std::vector<std::pair<model::v1::Policy, std::string>>{
           {HeadPolicy(), "boltzmann_ranking"},
           {SoftmaxPolicy(0), "softmax_selection"},
           {model::v1::Policy(), "uniform"}}) {
    EXPECT_THAT(Interleaver::Create(Interleave::TEAM_DRAFT, {&linear, &ranking},
                                    {&linear, &policy}),
                IsInvalidArgument(absl::StrCat("policy is ", name,
                                               ", must be plackett_luce")));
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

// Interleaved orders: propensities against the enumeration of all coins and
// against what is drawn; who filled which rank.

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
