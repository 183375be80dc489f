#include "core/counterfactual/rankings/click_relevance.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT

constexpr size_t kItems = 4;
constexpr size_t kShown = 2;
// DCG discounts: more ranks than are shown are worth something to nobody.
const std::vector<double> kWorth = {1, 0.6309};
const Examination kUsers = {{0.8, 0.5}, {0.1, 0.05}};
// Wrong.
const std::vector<double> kModel = {0.5, 0.1, 0.9, 0.2};

struct ClickWorld {
  Orders logging = {{0.3, -0.2, 0.1, 0.5}, kShown};
  Orders target = {{-0.5, 0.9, 0.2, -0.1}, kShown};

  static std::vector<double> MarginalsOf(const Orders& orders, int item) {
    std::vector<double> marginals;
    for (size_t k = 0; k < kShown; ++k) {
      marginals.push_back(orders.Marginal(item, k));
    }
    return marginals;
  }
  double TargetWeight(int item) const {
    return ExpectedOverRanks(MarginalsOf(target, item), kWorth);
  }
  double Examined(int item) const {
    return ExpectedOverRanks(MarginalsOf(logging, item), kUsers.alpha);
  }
  double Value() const {
    double value = 0;
    for (int i = 0; i < static_cast<int>(kItems); ++i) {
      value += AttractionOf(i) * TargetWeight(i);
    }
    return value;
  }

  // What a function of the item and its rank at the log's orders has on
  // average, summed over ranks.
  double Mean(const std::function<double(int, size_t)>& f) const {
    return logging.Mean([&](const Order& order) {
      double sum = 0;
      for (size_t k = 0; k < kShown; ++k) sum += f(order[k], k);
      return sum;
    });
  }
};

struct Choices {
  bool is_policy_aware = true;
  std::vector<double> model = {};
  double least_examination = 0;
  // Of examinations that are believed.
  double factor = 1;
};

// The expectations, with mean clicks α γ + β.
ClickTerms Expectation(const ClickWorld& world, const Choices& choices) {
  ClickTerms mean;
  double modelled = 0;
  for (size_t i = 0; i < choices.model.size(); ++i) {
    modelled += choices.model[i] * world.TargetWeight(static_cast<int>(i));
  }
  world.logging.ForEach([&](const Order& order) {
    std::vector<double> clicks, weights, examinations, relevances;
    for (size_t k = 0; k < kShown; ++k) {
      clicks.push_back(kUsers.alpha[k] * AttractionOf(order[k]) +
                       kUsers.beta[k]);
      weights.push_back(world.TargetWeight(order[k]));
      if (choices.is_policy_aware) {
        examinations.push_back(choices.factor * world.Examined(order[k]));
      }
      if (!choices.model.empty()) {
        relevances.push_back(choices.model[static_cast<size_t>(order[k])]);
      }
    }
    const auto terms = ClickTermsOf(kUsers,
                                    {.clicks = clicks,
                                     .target_weights = weights,
                                     .examinations = examinations,
                                     .modelled_relevances = relevances,
                                     .modelled_value = modelled},
                                    choices.least_examination);
    ASSERT_OK(terms);
    const double p = world.logging.Probability(order);
    mean.plain += p * terms->plain;
    mean.doubly_robust += p * terms->doubly_robust;
  });
  return mean;
}

TEST(ClickRelevanceTest, PolicyAwareEstimatesAreUnbiased) {
  const ClickWorld world;
  EXPECT_NEAR(Expectation(world, {}).plain, world.Value(), kTolerance);
  EXPECT_NEAR(Expectation(world, {}).doubly_robust, world.Value(), kTolerance);
}

// Each item counts as often as it is shown: Σ_d γ_d ω_d P₀(d is shown).
TEST(ClickRelevanceTest, PropensitiesOfTheRankMissWhatWasNotShown) {
  const ClickWorld world;
  double expected = 0;
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    const std::vector<double> p = ClickWorld::MarginalsOf(world.logging, i);
    expected += AttractionOf(i) * world.TargetWeight(i) * (p[0] + p[1]);
  }
  EXPECT_NEAR(Expectation(world, {.is_policy_aware = false}).plain, expected,
              kTolerance);
  EXPECT_LT(expected, 0.7 * world.Value());
}

TEST(ClickRelevanceTest, DoublyRobustIfEitherIsRight) {
  const ClickWorld world;
  // Any model.
  EXPECT_NEAR(Expectation(world, {.model = kModel}).doubly_robust,
              world.Value(), kTolerance);
  // Any examinations and clips.
  const std::vector<double> truth = {kAttraction[0], kAttraction[1],
                                     kAttraction[2], kAttraction[3]};
  EXPECT_NEAR(Expectation(world, {.model = truth, .factor = 0.3}).doubly_robust,
              world.Value(), kTolerance);
  EXPECT_NEAR(Expectation(world, {.model = truth, .least_examination = 0.5})
                  .doubly_robust,
              world.Value(), kTolerance);
  // Both wrong: each item counts γ̂ + (γ - γ̂) / factor.
  double both_wrong = 0;
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    const double model = kModel[static_cast<size_t>(i)];
    both_wrong +=
        world.TargetWeight(i) * (model + (AttractionOf(i) - model) / 0.3);
  }
  EXPECT_NEAR(
      Expectation(world, {.model = kModel, .factor = 0.3}).doubly_robust,
      both_wrong, kTolerance);
  EXPECT_GT(std::fabs(both_wrong - world.Value()), 0.05);
}

// Clipped at τ, an item counts ᾱ / max(ᾱ, τ) of its relevance.
TEST(ClickRelevanceTest, ClippingIsTooLowByWhatItCuts) {
  const ClickWorld world;
  constexpr double kLeast = 0.33;
  double expected = 0;
  int num_clipped = 0;
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    const double examined = world.Examined(i);
    num_clipped += examined < kLeast ? 1 : 0;
    expected += AttractionOf(i) * world.TargetWeight(i) *
                std::fmin(1, examined / kLeast);
  }
  EXPECT_EQ(num_clipped, 2);
  EXPECT_NEAR(Expectation(world, {.least_examination = kLeast}).plain, expected,
              kTolerance);
  EXPECT_LT(expected, world.Value());
}

// One rank: weight 0.6, α = 0.8, β = 0.1, a click: 0.6 · 0.9 / 0.4.
TEST(ClickRelevanceTest, ByHand) {
  const double click[] = {1};
  const double weight[] = {0.6};
  const double examined[] = {0.4};
  const double modelled[] = {0.5};
  ASSERT_OK_AND_ASSIGN(const ClickTerms terms,
                       ClickTermsOf(kUsers, {.clicks = click,
                                             .target_weights = weight,
                                             .examinations = examined,
                                             .modelled_relevances = modelled,
                                             .modelled_value = 0.3}));
  EXPECT_NEAR(terms.plain, 1.35, 1e-12);
  // 0.3 + 0.6 (0.9 - 0.4) / 0.4
  EXPECT_NEAR(terms.doubly_robust, 1.05, 1e-12);
  ASSERT_OK_AND_ASSIGN(
      const ClickTerms clipped,
      ClickTermsOf(
          kUsers,
          {.clicks = click, .target_weights = weight, .examinations = examined},
          0.6));
  EXPECT_NEAR(clipped.plain, 0.9, 1e-12);
  EXPECT_EQ(clipped.doubly_robust, clipped.plain);
}

TEST(ClickRelevanceTest, SumsAreMeansByPolicy) {
  ClickSums all(2, 16);
  ClickSums parts[2] = {all, all};
  for (uint64_t i = 0; i < 6; ++i) {
    const double x = static_cast<double>(i);
    const ClickTerms terms[2] = {{x, 2 * x}, {1, 3}};
    all.Add(MixedUnit(i), 0.5, terms);
    parts[i % 2].Add(MixedUnit(i), 0.5, terms);
  }
  parts[0].Merge(parts[1]);
  for (const ClickSums* sums : {&all, &parts[0]}) {
    const auto value = [&](size_t policy, bool is_doubly_robust) {
      return EstimateRatios(sums->sums(),
                            sums->RatiosOf(policy, is_doubly_robust))
          .value;
    };
    EXPECT_NEAR(value(0, false), 2.5, 1e-12);
    EXPECT_NEAR(value(0, true), 5, 1e-12);
    EXPECT_NEAR(value(1, false), 1, 1e-12);
    EXPECT_NEAR(value(1, true), 3, 1e-12);
  }
}

TEST(ClickRelevanceTest, RefusesWhatIsOutOfRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(CheckExamination({{0.5, 1.5}, {}}),
              IsInvalidArgument("alpha[1] is 1.5, must be in [0, 1]"));
  EXPECT_THAT(CheckExamination({{0.75}, {0.5}}),
              IsInvalidArgument("beta[0] is 0.5, must be in [0, 0.25]"));
  EXPECT_THAT(CheckExamination({{0.75}, {0.1, 0.1}}),
              IsInvalidArgument("beta has 2 numbers, must have 1"));
  const auto refuse = [](double click, double weight, double examined,
                         double least, const char* message) {
    EXPECT_THAT(ClickTermsOf(kUsers,
                             {.clicks = {&click, 1},
                              .target_weights = {&weight, 1},
                              .examinations = {&examined, 1}},
                             least),
                IsInvalidArgument(message));
  };
  refuse(1.5, 1, 0.5, 0, "clicks[0] is 1.5, must be in [0, 1]");
  refuse(kNan, 1, 0.5, 0, "clicks[0] is nan");
  refuse(1, -1, 0.5, 0, "target_weights[0] is -1");
  refuse(1, 1, 0, 0, "examinations[0] is 0, must be in (0, 1]");
  refuse(1, 1, 0.5, 2, "least_examination is 2, must be in [0, 1]");
  const double clicks[] = {1, 0};
  EXPECT_THAT(ClickTermsOf(kUsers, {.clicks = clicks, .target_weights = {}}),
              IsInvalidArgument("target_weights has 0 numbers, must have 2"));
}

}  // namespace
}  // namespace sortition
