// Propensities of mixtures of versions and baselines, against the enumeration
// of all actions and against what is drawn.
#include "core/choices/baseline_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/choices/log_sum_tree.h"
#include "core/choices/traffic_split.h"
#include "core/policies/linear_policy.h"
#include "gtest/gtest.h"
#include "tests/core/choices/choice_case.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ChoiceTest : public testing::TestWithParam<ChoiceCase> {};
// Cases of orders above a baseline.
class OrderChoiceTest : public testing::TestWithParam<ChoiceCase> {};

// Σ_a q_a p_a, computed in long double from the parts, is what each arm that
// could draw the action says; and over all actions it adds up to 1.
TEST_P(ChoiceTest, MixturesAreExactAndAddUp) {
  const ChoiceCase& c = GetParam();
  Choice choice(c);
  long double sum = 0;
  for (const Action& action : choice.Actions()) {
    long double expected = 0;
    for (size_t a = 0; a < choice.arms().size(); ++a) {
      expected += choice.arms()[a].probability *
                  std::exp(static_cast<long double>(choice.OfArm(a, action)));
    }
    sum += expected;
    for (size_t own = 0; own < choice.arms().size(); ++own) {
      Draw draw;
      draw.action = action;
      draw.log_propensity = choice.OfArm(own, action);
      if (draw.log_propensity == -kInfinity) continue;
      EXPECT_NEAR(choice.Mixture(own, draw),
                  static_cast<double>(std::log(expected)), 1e-12)
          << own;
    }
  }
  EXPECT_NEAR(static_cast<double>(sum), 1, 1e-12);
}

// The whole procedure: the arm by a hash of the unit, the baseline's number,
// the draw. What is drawn is logged with the bits that a repetition has, and
// its frequencies are those of the mixture. A right one fails with probability
// 1e-6 (fixed ids).
TEST_P(ChoiceTest, FrequenciesAreThoseOfTheMixture) {
  constexpr int kUnits = 20000;
  Choice choice(GetParam());
  const std::vector<Action> actions = choice.Actions();
  std::vector<double> probabilities(actions.size());
  std::vector<uint64_t> counts(actions.size());
  std::vector<double> shares;
  std::vector<uint64_t> units(choice.arms().size());
  for (const MixedArm& arm : choice.arms()) shares.push_back(arm.probability);
  Draw draw;
  for (int u = 0; u < kUnits; ++u) {
    const size_t arm = choice.Decide(absl::StrCat("unit", u),
                                     absl::StrCat("decision", u), &draw);
    ++units[arm];
    const auto found = std::find(actions.begin(), actions.end(), draw.action);
    ASSERT_NE(found, actions.end());
    const auto place = static_cast<size_t>(found - actions.begin());
    ++counts[place];
    EXPECT_EQ(std::bit_cast<uint64_t>(draw.log_propensity),
              std::bit_cast<uint64_t>(choice.OfArm(arm, draw.action)));
    probabilities[place] = std::exp(choice.Mixture(arm, draw));
  }
  for (size_t i = 0; i < actions.size(); ++i) {
    if (counts[i] > 0) continue;
    // What was never drawn: by the parts.
    for (size_t a = 0; a < shares.size(); ++a) {
      probabilities[i] += shares[a] * std::exp(choice.OfArm(a, actions[i]));
    }
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-6);
  EXPECT_GT(ChiSquarePValue(units, shares), 1e-6);
}

// P(first r ranks) / P(first r - 1 ranks), by adding up the orders that begin
// so.
TEST_P(OrderChoiceTest, RanksHaveTheConditionalsOfTheMixture) {
  const ChoiceCase& c = GetParam();
  Choice choice(c);
  const std::vector<Action> actions = choice.Actions();
  const auto of_prefix = [&](size_t arm, const Action& order, size_t ranks) {
    long double sum = 0;
    for (const Action& action : actions) {
      if (std::equal(order.begin(),
                     order.begin() + static_cast<ptrdiff_t>(ranks),
                     action.begin())) {
        sum += std::exp(static_cast<long double>(choice.OfArm(arm, action)));
      }
    }
    return sum;
  };
  Draw draw;
  size_t with_conditionals = 0;
  for (int u = 0; u < 200; ++u) {
    const std::string id = absl::StrCat("decision", u);
    const size_t arm = choice.Decide(id, id, &draw);
    if (draw.conditional_log_propensities.empty()) {
      // The version would never give the baseline's order.
      EXPECT_EQ(draw.action, c.baseline);
      EXPECT_EQ(choice.arms()[arm].policy, choice.arms()[0].policy);
      continue;
    }
    ++with_conditionals;
    ASSERT_EQ(draw.conditional_log_propensities.size(), draw.action.size());
    for (size_t r = 0; r < draw.action.size(); ++r) {
      EXPECT_NEAR(std::exp(draw.conditional_log_propensities[r]),
                  static_cast<double>(of_prefix(arm, draw.action, r + 1) /
                                      of_prefix(arm, draw.action, r)),
                  1e-9);
    }
  }
  EXPECT_GT(with_conditionals, 0u);
}

std::string NameOf(const testing::TestParamInfo<ChoiceCase>& test) {
  return test.param.name;
}

std::vector<ChoiceCase> OrderCases() {
  std::vector<ChoiceCase> cases = ChoiceCases();
  std::erase_if(cases, [](const ChoiceCase& c) {
    return c.kind != ActionKind::kRank || c.model_probability == 0;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, ChoiceTest, testing::ValuesIn(ChoiceCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Cases, OrderChoiceTest,
                         testing::ValuesIn(OrderCases()), NameOf);

// exp(-800) is 0 in doubles; a part that is 0 must not make the whole 0.
TEST(LogOfMixtureTest, PartsWithoutProbabilityDoNotCount) {
  EXPECT_EQ(LogAboveBaseline(1, -800, true), -800);
  EXPECT_EQ(LogAboveBaseline(1, -800, false), -800);
  EXPECT_EQ(LogAboveBaseline(1e-4, -kInfinity, false), -kInfinity);
  EXPECT_NEAR(LogAboveBaseline(1e-4, -kInfinity, true), std::log(0.9999),
              1e-15);
  EXPECT_NEAR(LogAboveBaseline(1e-4, -800, false), std::log(1e-4) - 800, 1e-12);
  EXPECT_NEAR(LogAboveBaseline(1e-4, 0, true), 0, 1e-15);
  EXPECT_EQ(LogOfMixture(std::vector<double>{0.5, 0.5},
                         std::vector<double>{-kInfinity, -kInfinity}),
            -kInfinity);
}

// Selects among three candidates, of which the caller takes the second.
class ModeTest : public testing::Test {
 protected:
  BaselineOutcome Decide(const LinearPolicy& policy, const BaselinePlan& plan) {
    query_.candidates = Candidates::DenseUnchecked(features_, 1);
    return DecideWithBaseline(plan, policy, query_, DecisionKey("m", 1, "d"),
                              0.5, &workspace_, &draw_);
  }
  BaselinePlan Plan(model::v1::LearningMode mode) const {
    BaselinePlan plan;
    plan.mode = mode;
    plan.action = action_;
    return plan;
  }

  const std::vector<float> features_ = {1, 2, 3};
  Action action_ = {1};
  PolicyQuery query_;
  PolicyWorkspace workspace_;
  Draw draw_;
};

TEST_F(ModeTest, TheBaselineDecidesWithTheCallersPropensity) {
  const auto policy = *LinearPolicy::Create(SoftmaxPolicy(0.1), {1});
  for (const auto mode :
       {model::v1::APPRENTICE, model::v1::SHADOW, model::v1::OFF}) {
    BaselinePlan plan = Plan(mode);
    BaselineOutcome outcome = Decide(policy, plan);
    EXPECT_EQ(draw_.action, action_);
    EXPECT_EQ(draw_.log_propensity, 0);
    EXPECT_FALSE(outcome.model_decided);
    plan.log_propensity = -1.5;
    outcome = Decide(policy, plan);
    EXPECT_EQ(draw_.action, action_);
    EXPECT_EQ(draw_.log_propensity, -1.5);
    if (mode == model::v1::APPRENTICE) {
      EXPECT_EQ(outcome.model_log_propensity,
                policy.LogPropensity(query_, action_, &workspace_));
    } else {
      EXPECT_EQ(outcome.model_log_propensity, std::nullopt);
    }
    // All arms take the baseline.
    const std::vector<MixedArm> arms = {{&policy, 0.25}, {&policy, 0.75}};
    EXPECT_EQ(*MixtureLogPropensity(arms, 0, &plan, query_, draw_, &workspace_),
              -1.5);
  }
}

TEST_F(ModeTest, RanksOfACertainOrderAreCertain) {
  const auto policy = *LinearPolicy::Create(RankPolicy(0.1), {1});
  action_ = {2, 0};
  query_.top_k = 2;
  Decide(policy, Plan(model::v1::OFF));
  EXPECT_EQ(draw_.conditional_log_propensities, (std::vector<double>{0, 0}));
  BaselinePlan drawn = Plan(model::v1::OFF);
  drawn.log_propensity = -2;
  Decide(policy, drawn);  // How it spreads over the ranks is not known.
  EXPECT_TRUE(draw_.conditional_log_propensities.empty());
}

TEST_F(ModeTest, AnAbstentionIsAnActionLikeOthers) {
  const auto policy = *LinearPolicy::Create(SoftmaxPolicy(0.1, true), {1});
  action_ = {kAbstain};
  BaselinePlan plan = Plan(model::v1::EXPLORE_ABOVE_BASELINE);
  plan.model_probability = 0.25;  // Below the number 0.5: the baseline decides.
  const BaselineOutcome outcome = Decide(policy, plan);
  EXPECT_EQ(draw_.action, action_);
  EXPECT_FALSE(outcome.model_decided);
  const double model = policy.LogPropensity(query_, action_, &workspace_);
  EXPECT_EQ(outcome.model_log_propensity, model);
  EXPECT_NEAR(std::exp(draw_.log_propensity), 0.25 * std::exp(model) + 0.75,
              1e-15);
}

// Its strategy depends on time: it is never asked beside a baseline.
TEST_F(ModeTest, FScoreGamesLookAway) {
  model::v1::Policy game;
  game.set_inverse_temperature(1);
  game.mutable_game_subset()->set_measure(model::v1::GameSubset::F_BETA);
  const auto policy = *LinearPolicy::Create(game, {1});
  action_ = {0, 2};
  const BaselineOutcome outcome = Decide(policy, Plan(model::v1::APPRENTICE));
  EXPECT_EQ(draw_.action, action_);
  EXPECT_EQ(draw_.log_propensity, 0);
  EXPECT_EQ(outcome.model_log_propensity, std::nullopt);
  EXPECT_FALSE(draw_.game_rounds.has_value());
}

model::v1::Split Assigned(const std::map<uint64_t, uint32_t>& places,
                          model::v1::Split split = {}) {
  EXPECT_OK(AssignPlaces(places, &split));
  split.set_salt(kSalt);
  EXPECT_OK(ValidateSplit(split));
  return split;
}

// The version of each place; 0: none.
std::vector<uint64_t> VersionsOf(const model::v1::Split& split) {
  std::vector<uint64_t> versions;
  for (uint32_t place = 0; place < kSplitPlaces; ++place) {
    const int arm = ArmAt(split, place);
    versions.push_back(arm < 0 ? 0 : split.arms(arm).version());
  }
  return versions;
}

TEST(TrafficSplitTest, EachVersionHasItsPlaces) {
  const model::v1::Split split = Assigned({{7, 100}, {9, 2500}, {8, 0}});
  ASSERT_EQ(split.arms_size(), 2);
  EXPECT_EQ(PlacesOf(split.arms(0)), 100u);
  EXPECT_EQ(PlacesOf(split.arms(1)), 2500u);
  EXPECT_EQ(FreePlaces(split), 7400u);
  const std::vector<uint64_t> versions = VersionsOf(split);
  EXPECT_EQ(std::count(versions.begin(), versions.end(), 7), 100);
  EXPECT_EQ(std::count(versions.begin(), versions.end(), 9), 2500);
  EXPECT_EQ(Assigned({}).arms_size(), 0);
  EXPECT_EQ(FreePlaces(Assigned({{1, 10000}})), 0u);
}

// Whoever has come to a version stays there while its share grows, whatever the
// other shares do as long as there is room.
TEST(TrafficSplitTest, AShareThatGrowsKeepsItsPlaces) {
  model::v1::Split split = Assigned({{7, 100}, {8, 300}});
  for (const auto& [seven, eight] : std::vector<std::pair<uint32_t, uint32_t>>{
           {1000, 300}, {1000, 200}, {5000, 5000}, {9000, 1000}, {100, 0}}) {
    const std::vector<uint64_t> before = VersionsOf(split);
    split = Assigned({{7, seven}, {8, eight}}, split);
    const std::vector<uint64_t> after = VersionsOf(split);
    for (const uint64_t version : {7, 8}) {
      const auto had = std::count(before.begin(), before.end(), version);
      const auto has = std::count(after.begin(), after.end(), version);
      EXPECT_EQ(has, version == 7 ? seven : eight);
      int64_t stayed = 0;
      for (size_t i = 0; i < before.size(); ++i) {
        stayed += before[i] == version && after[i] == version;
      }
      EXPECT_EQ(stayed, std::min(had, has));
    }
  }
}

TEST(TrafficSplitTest, RefusesWhatIsNoSplit) {
  model::v1::Split split;
  EXPECT_THAT(AssignPlaces({{1, 6000}, {2, 4001}}, &split),
              IsInvalidArgument("10001 places of 10,000"));
  split = Assigned({{1, 10}, {2, 20}});
  split.mutable_arms(1)->mutable_ranges(0)->set_begin(5);
  EXPECT_THAT(ValidateSplit(split), IsInvalidArgument("has two arms"));
  split = Assigned({{1, 10}, {2, 20}});
  split.mutable_arms(1)->set_version(1);
  EXPECT_FALSE(ValidateSplit(split).ok());
  split = Assigned({{1, 10}});
  split.mutable_arms(0)->mutable_ranges(0)->set_end(10001);
  EXPECT_FALSE(ValidateSplit(split).ok());
  split.mutable_arms(0)->clear_ranges();
  EXPECT_FALSE(ValidateSplit(split).ok());
  split = Assigned({{1, 10}});
  split.clear_salt();
  EXPECT_THAT(ValidateSplit(split), IsInvalidArgument("split.salt"));
}

// A right one fails with probability 1e-6 (fixed ids).
TEST(TrafficSplitTest, PlacesAreUniform) {
  std::vector<uint64_t> of_units(100);
  std::vector<uint64_t> of_ids(100);
  for (int i = 0; i < 100000; ++i) {
    const std::string name = absl::StrCat("name", i);
    ++of_units[SplitPlace("m", kSalt, name, "d") / 100];
    ++of_ids[SplitPlace("m", kSalt, "", name) / 100];
  }
  const std::vector<double> uniform(100, 0.01);
  EXPECT_GT(ChiSquarePValue(of_units, uniform), 1e-6);
  EXPECT_GT(ChiSquarePValue(of_ids, uniform), 1e-6);
}

TEST(TrafficSplitTest, AUnitHasOnePlaceWhateverTheDecision) {
  std::set<uint32_t> places;
  std::set<uint32_t> without_unit;
  for (int i = 0; i < 100; ++i) {
    places.insert(SplitPlace("m", kSalt, "anna", absl::StrCat(i)));
    without_unit.insert(SplitPlace("m", kSalt, "", absl::StrCat(i)));
  }
  EXPECT_EQ(places.size(), 1u);
  EXPECT_GT(without_unit.size(), 90u);
}

// Who is where under one salt, model or kind of name says nothing of another.
TEST(TrafficSplitTest, OtherSaltsModelsAndNamesAreIndependent) {
  constexpr char kOther[] = "fedcba9876543210fedcba9876543210";
  std::array<std::vector<uint64_t>, 3> tables;
  for (auto& table : tables) table.resize(100);
  for (int i = 0; i < 50000; ++i) {
    const std::string name = absl::StrCat("name", i);
    const uint32_t row = SplitPlace("m", kSalt, name, "") / 1000 * 10;
    ++tables[0][row + SplitPlace("m", kOther, name, "") / 1000];
    ++tables[1][row + SplitPlace("other", kSalt, name, "") / 1000];
    ++tables[2][row + SplitPlace("m", kSalt, "", name) / 1000];
  }
  const std::vector<double> uniform(100, 0.01);
  for (const auto& table : tables) {
    EXPECT_GT(ChiSquarePValue(table, uniform), 1e-6);
  }
}

// What ids decide — arm, baseline, draw, shadows, trainer's parts, samples — is
// independent of each other.

constexpr int kIds = 180000;
constexpr size_t kBins = 3;

enum Use {
  kArm,
  kBaseline,
  kDraw,
  kShadow,
  kPart,
  kSubsample,
  kKeep,
  kKeepAlone,  // A decision without a unit.
  kNumUses
};

size_t Bin(double number) { return static_cast<size_t>(number * kBins); }

// Everything that is decided by one name, which is that of a unit and of its
// only decision: the worst case, and the same salt for all.
class Uses {
 public:
  Uses() { query_.candidates = Candidates::DenseUnchecked(features_, 1); }

  std::array<size_t, kNumUses> Of(const std::string& id) {
    policy_.Decide(query_, DecisionKey("m", 1, id, kSalt), &workspace_, &draw_);
    return {SplitPlace("m", kSalt, id, id) * kBins / kSplitPlaces,
            Bin(BaselineNumber("m", kSalt, id)),
            static_cast<size_t>(draw_.action[0]),
            Bin(UnitInterval(StableHash(HashDomain::kShadow, {"m", id}))),
            Bin(UnitInterval(StableHash(HashDomain::kSplit, {id}))),
            Bin(UnitInterval(StableHash(HashDomain::kSubsample, {id}))),
            Bin(KeepNumber(id, id)),
            Bin(KeepNumber("", id))};
  }

 private:
  const std::vector<float> features_ = std::vector<float>(kBins, 0);
  const LinearPolicy policy_ =
      LinearPolicy::Uniform(ActionKind::kSelect, false);
  PolicyQuery query_;
  PolicyWorkspace workspace_;
  Draw draw_;
};

// The table of all eight together: 3⁸ cells of some 27 ids. It would show any
// dependence, also one of three that no pair shows. Fixed ids; a right one
// fails with probability 1e-6.
TEST(ChoiceIndependenceTest, TheJointTableIsUniform) {
  const auto cells = static_cast<size_t>(
      std::pow(static_cast<double>(kBins), static_cast<double>(kNumUses)));
  std::vector<uint64_t> joint(cells);
  // And by pairs, which have more in each cell.
  std::array<std::array<std::vector<uint64_t>, kNumUses>, kNumUses> pairs;
  for (auto& row : pairs) row.fill(std::vector<uint64_t>(kBins * kBins));
  Uses uses;
  for (int i = 0; i < kIds; ++i) {
    const auto bins = uses.Of(absl::StrCat("decision-", i));
    size_t cell = 0;
    for (size_t a = 0; a < kNumUses; ++a) {
      ASSERT_LT(bins[a], kBins);
      cell = cell * kBins + bins[a];
      for (size_t b = 0; b < a; ++b) ++pairs[a][b][bins[a] * kBins + bins[b]];
    }
    ++joint[cell];
  }
  const std::vector<double> uniform(cells, 1 / static_cast<double>(cells));
  EXPECT_GT(ChiSquarePValue(joint, uniform), 1e-6);
  const std::vector<double> ninth(kBins * kBins, 1.0 / (kBins * kBins));
  for (size_t a = 0; a < kNumUses; ++a) {
    for (size_t b = 0; b < a; ++b) {
      EXPECT_GT(ChiSquarePValue(pairs[a][b], ninth), 1e-6) << a << " " << b;
    }
  }
}

// Two decisions of a unit have one arm, and draws that are independent of each
// other.
TEST(ChoiceIndependenceTest, DecisionsOfAUnitAreDrawnIndependently) {
  std::vector<uint64_t> draws(kBins * kBins);
  std::vector<uint64_t> baselines(kBins * kBins);
  Uses uses;
  for (int i = 0; i < 20000; ++i) {
    const auto first = uses.Of(absl::StrCat("unit", i, "-1"));
    const auto second = uses.Of(absl::StrCat("unit", i, "-2"));
    ++draws[first[kDraw] * kBins + second[kDraw]];
    ++baselines[first[kBaseline] * kBins + second[kBaseline]];
  }
  const std::vector<double> ninth(kBins * kBins, 1.0 / (kBins * kBins));
  EXPECT_GT(ChiSquarePValue(draws, ninth), 1e-6);
  EXPECT_GT(ChiSquarePValue(baselines, ninth), 1e-6);
}

// Draws without replacement against sums of long doubles.

// log exp(l_i) / Σ exp(l_j) over those that are left.
double ExactLogShare(const std::vector<double>& scores, double alpha,
                     const std::set<size_t>& left, size_t i) {
  long double sum = 0;
  for (const size_t j : left) {
    const double logit = alpha * scores[j];
    sum += std::exp(static_cast<long double>(logit) - alpha * scores[i]);
  }
  return static_cast<double>(-std::log(sum));
}

// Of all sizes up to some powers of two, in an order of removal that does not
// depend on the scores; these are spread so that most sums are of one term.
TEST(LogSumTreeTest, SharesAreExactWhileCandidatesLeave) {
  RandomSequence random(SeedKey(5));
  LogSumTree tree;
  for (size_t n = 1; n <= 33; ++n) {
    for (const double spread : {0.5, 30.0, 5000.0}) {
      std::vector<double> scores;
      std::set<size_t> left;
      for (size_t i = 0; i < n; ++i) {
        scores.push_back(spread * random.Normal());
        left.insert(i);
      }
      tree.Assign(scores, 1.5);
      while (!left.empty()) {
        for (const size_t i : left) {
          const double exact = ExactLogShare(scores, 1.5, left, i);
          // Larger differences overflow a long double.
          if (!std::isfinite(exact)) continue;
          EXPECT_NEAR(tree.LogShare(i), exact,
                      1e-13 * std::max(1.0, std::abs(exact)))
              << n;
        }
        const auto gone = std::next(
            left.begin(), static_cast<ptrdiff_t>(random.Below(left.size())));
        tree.Remove(*gone);
        left.erase(gone);
      }
    }
  }
}

// A share of nearly 1: what it lacks keeps its precision.
TEST(LogSumTreeTest, WhatIsNearlyCertainDoesNotCancel) {
  LogSumTree tree;
  tree.Assign(std::vector<double>{0, 1e4, -40, 1e4 - 60}, 1);
  EXPECT_NEAR(tree.LogShare(1) / -std::exp(-60.0), 1, 1e-12);
  tree.Remove(1);
  EXPECT_EQ(tree.LogShare(3), 0);
  tree.Remove(3);
  // Nothing is left of the sizes that were there before.
  EXPECT_NEAR(tree.LogShare(0) / -std::exp(-40.0), 1, 1e-12);
  EXPECT_NEAR(tree.LogShare(2), -40, 1e-12);
}

// Places on a fine grid: each candidate has its share of them, to a cell at
// each of its ends.
TEST(LogSumTreeTest, PlacesAreSharedOutInOrder) {
  const std::vector<double> scores = {0.3, -1, 2, 0, 1.1, -4, 0.3};
  LogSumTree tree;
  tree.Assign(scores, 0.7);
  tree.Remove(3);
  constexpr int kCells = 200'000;
  std::vector<int> counts(scores.size());
  size_t last = 0;
  for (int c = 0; c < kCells; ++c) {
    const size_t i = tree.Draw((c + 0.5) / kCells);
    ASSERT_GE(i, last);
    last = i;
    ++counts[i];
  }
  EXPECT_EQ(counts[3], 0);
  for (const size_t i : {0, 1, 2, 4, 5, 6}) {
    EXPECT_NEAR(counts[i], kCells * std::exp(tree.LogShare(i)), 1.001) << i;
  }
}

TEST(LogSumTreeTest, TheLastIsDrawnAtEveryPlace) {
  LogSumTree tree;
  for (const size_t n : {size_t{1}, size_t{5}, size_t{8}}) {
    for (size_t kept = 0; kept < n; ++kept) {
      std::vector<double> scores(n, -300);
      scores[kept] = 1e9;
      tree.Assign(scores, 1);
      // Against its weight the others have none, also before they leave.
      for (const double place : {0.0, 0.5, 1 - 0x1p-53}) {
        EXPECT_EQ(tree.Draw(place), kept);
      }
      for (size_t i = 0; i < n; ++i) {
        if (i != kept) tree.Remove(i);
      }
      for (const double place : {0.0, 0.5, 1 - 0x1p-53}) {
        EXPECT_EQ(tree.Draw(place), kept);
      }
      EXPECT_EQ(tree.LogShare(kept), 0);
    }
  }
}

}  // namespace
}  // namespace sortition
