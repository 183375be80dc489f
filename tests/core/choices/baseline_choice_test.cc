// Propensities of mixtures of versions and baselines, against the enumeration
// of all actions and against what is drawn.
#include "core/choices/baseline_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "tests/core/choices/choice_case.h"
#include "tests/testing/chi_square.h"

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
    EXPECT_EQ(MixtureLogPropensity(arms, 0, &plan, query_, draw_, &workspace_),
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

}  // namespace
}  // namespace sortition
