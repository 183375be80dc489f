#include "core/clicks/click_features.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/clicks/click_fitter.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

double Logistic(double z) { return 1 / (1 + std::exp(-z)); }

// Two features of each item, and attractions that are a function of them:
// log-odds -0.5 + x_0 - 0.7 x_1.
struct FeatureWorld {
  ClickWorld world;
  std::vector<float> rows;
};

FeatureWorld MakeFeatureWorld(ClickModelKind kind, uint32_t queries) {
  FeatureWorld made = {MakeClickWorld(ExampleModel(kind), queries), {}};
  RandomSequence random(SeedKey(11));
  FittedClicks& truth = made.world.truth;
  for (size_t i = 0; i < truth.attractions.size(); ++i) {
    const double x0 = random.Normal();
    const double x1 = random.Normal();
    made.rows.push_back(static_cast<float>(x0));
    made.rows.push_back(static_cast<float>(x1));
    truth.attractions[i] = Logistic(-.5 + x0 - .7 * x1);
    if (!truth.satisfactions.empty()) {
      truth.satisfactions[i] = Logistic(.3 + .8 * x1);
    }
  }
  return made;
}

TEST(ClickFeaturesTest, RegressionFindsTheWeights) {
  // Every item is seen about three times: too little for attractions of items.
  const FeatureWorld made =
      MakeFeatureWorld(ClickModelKind::kPositionBased, 3000);
  const ClickSessions sessions = DrawSessions(made.world, 10000, 10, 1);
  ClickFitOptions options;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options, {made.rows, 2}));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  EXPECT_TRUE(fitted.converged);
  for (size_t k = 1; k < fitted.trace.size(); ++k) {
    EXPECT_GE(fitted.trace[k], fitted.trace[k - 1] - 1e-7) << k;
  }
  // 1e5 impressions: the error of a weight is about 1 / sqrt(1e5 · p (1 - p))
  // with clicks at p = 0.15, 0.01, and some more since ranks are learned too.
  ASSERT_EQ(fitted.attraction_weights.size(), 3);
  EXPECT_NEAR(fitted.attraction_weights[0], 1, .06);
  EXPECT_NEAR(fitted.attraction_weights[1], -.7, .06);
  EXPECT_NEAR(fitted.attraction_weights[2], -.5, .1);
  for (size_t r = 0; r < 10; ++r) {
    EXPECT_NEAR(fitted.model.examination[r],
                made.world.truth.model.examination[r], .06);
  }
  EXPECT_NEAR(fitted.attractions[5],
              Logistic(fitted.attraction_weights[2] +
                       fitted.attraction_weights[0] * made.rows[10] +
                       fitted.attraction_weights[1] * made.rows[11]),
              1e-12);
}

TEST(ClickFeaturesTest, SatisfactionIsAFunctionOfFeaturesToo) {
  const FeatureWorld made =
      MakeFeatureWorld(ClickModelKind::kBayesianNetwork, 2000);
  const ClickSessions sessions = DrawSessions(made.world, 10000, 10, 2);
  ClickFitOptions options;
  options.kind = ClickModelKind::kBayesianNetwork;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options, {made.rows, 2}));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  EXPECT_TRUE(fitted.converged);
  EXPECT_NEAR(fitted.model.perseverance, .85, .05);
  EXPECT_NEAR(fitted.attraction_weights[0], 1, .1);
  EXPECT_NEAR(fitted.satisfaction_weights[1], .8, .2);
  EXPECT_NEAR(fitted.satisfaction_weights[2], .3, .25);
}

// With an intercept alone, all items are one: attraction is the rate of clicks.
TEST(ClickFeaturesTest, AnInterceptIsTheCommonRate) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{0, 1, 0}));
  ASSERT_OK(sessions.Add(Items{3, 1, 2}, Clicks{0, 0, 0}));
  const std::vector<float> zeros(4, 0);
  ClickFitOptions options;
  options.kind = ClickModelKind::kCascade;
  options.tolerance = 1e-12;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options, {zeros, 1}));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  // One click of 2 + 3 examined items.
  for (const double a : fitted.attractions) EXPECT_NEAR(a, .2, 1e-6);
}

TEST(ClickFeaturesTest, RefusesWhatIsWrong) {
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  const std::vector<float> rows = {1, 2, 3,
                                   std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(CheckClickFeatures({rows, 2}, 3),
              invalid("features.rows.size is 4, must be 6"));
  EXPECT_THAT(CheckClickFeatures({rows, 2}, 2),
              invalid("feature 1 of item 1 is nan, must be finite"));
}

}  // namespace
}  // namespace sortition
