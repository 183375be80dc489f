#include "core/clicks/click_evaluation.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/clicks/click_fitter.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

TEST(ClickEvaluationTest, PerplexityIsThatOfTheDefinition) {
  FittedClicks fitted;
  fitted.model.kind = ClickModelKind::kCascade;
  fitted.attractions = {.5, .25};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(2));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{0, 1}));
  ASSERT_OK(sessions.Add(Items{1, 0}, Clicks{1, 0}, 3));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 0}, 2, 1));
  const ClickEvaluation evaluation = EvaluateClicks(fitted, sessions);
  EXPECT_EQ(evaluation.total_weight, 6);
  // P = 1/2 · 1/4; 1/4; 1/2 for the first rank alone.
  EXPECT_NEAR(evaluation.log_likelihood,
              (std::log(.125) + 3 * std::log(.25) + 2 * std::log(.5)) / 6,
              1e-12);
  // Rank 0: 1, 2 and 1 bits with weights 1, 3 and 2.
  EXPECT_NEAR(evaluation.perplexity[0], std::exp2(9. / 6), 1e-12);
  // Rank 1, weights 1 and 3: q = 1/2 · 1/4 clicked, q = 3/4 · 1/2 not.
  EXPECT_NEAR(evaluation.perplexity[1],
              std::exp2((3 - 3 * std::log2(1 - .375)) / 4), 1e-12);
  // Given the clicks above: 1/4 clicked; 0 not clicked.
  EXPECT_NEAR(evaluation.conditional_perplexity[1], std::exp2(2. / 4), 1e-12);
  EXPECT_NEAR(evaluation.mean_perplexity,
              (evaluation.perplexity[0] + evaluation.perplexity[1]) / 2, 1e-12);
}

TEST(ClickEvaluationTest, ImpossibleClicksAreInfinitelyBad) {
  FittedClicks none;
  none.model.kind = ClickModelKind::kCascade;
  none.attractions = {0};
  FittedClicks some = none;
  some.attractions = {.5};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(1));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{1}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(EvaluateClicks(none, sessions).log_likelihood, -kInfinity);
  EXPECT_EQ(EvaluateClicks(none, sessions).perplexity[0], kInfinity);
  EXPECT_EQ(CompareClicks(some, none, sessions).difference, kInfinity);
  EXPECT_EQ(CompareClicks(none, none, sessions).difference, 0);
}

TEST(ClickEvaluationTest, ComparisonIsTheMeanOfDifferences) {
  FittedClicks a;
  a.model.kind = ClickModelKind::kCascade;
  a.attractions = {.5};
  FittedClicks b = a;
  b.attractions = {.25};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(1));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{1}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  // log 2 once, log 2/3 twice.
  const double x = std::log(2.);
  const double y = std::log(2. / 3);
  const double mean = (x + 2 * y) / 3;
  const ClickComparison comparison = CompareClicks(a, b, sessions);
  EXPECT_NEAR(comparison.difference, mean, 1e-12);
  const double variance =
      ((x - mean) * (x - mean) + 2 * (y - mean) * (y - mean)) / 2;
  EXPECT_NEAR(comparison.standard_error, std::sqrt(variance / 3), 1e-12);
}

class TrueModelTest : public ::testing::TestWithParam<ClickModelKind> {};

// On sessions that no model has seen, the kind of the world is best. A kind
// that contains it (λ = 0 is a cascade, β = 0 is position-based) comes within
// what its additional parameters, at most 60, cost: each half a nat over the
// training sessions, so 30/10000 nats a session, plus chance.
TEST_P(TrueModelTest, PredictsBestInItsWorld) {
  const ClickWorld world = MakeClickWorld(ExampleModel(GetParam()), 5);
  const ClickSessions training = DrawSessions(world, 10000, 8, 21);
  const ClickSessions held_out = DrawSessions(world, 10000, 8, 22);
  const auto fit = [](const ClickSessions& sessions, ClickModelKind kind) {
    ClickFitOptions options;
    options.kind = kind;
    options.prior_hits = .5;
    options.prior_misses = .5;
    if (kind == ClickModelKind::kTrustBias) options.first_offset = .3;
    return ClickFitter::Create(&sessions, options)->Fit().value();
  };
  const FittedClicks right = fit(training, GetParam());
  for (const ClickModelKind kind : AllClickModelKinds()) {
    if (kind == GetParam()) continue;
    const bool cuts = kind == ClickModelKind::kCascade;
    const FittedClicks wrong =
        fit(cuts ? UntilFirstClick(training) : training, kind);
    const ClickComparison comparison = CompareClicks(right, wrong, held_out);
    if (cuts) {
      EXPECT_EQ(comparison.difference, std::numeric_limits<double>::infinity());
      continue;
    }
    const bool contains = GetParam() == ClickModelKind::kCascade &&
                          (kind == ClickModelKind::kDependentClick ||
                           kind == ClickModelKind::kBayesianNetwork);
    if (contains) {
      EXPECT_GT(comparison.difference, -4 * comparison.standard_error - 1e-6);
      EXPECT_LT(comparison.difference, .003 + 4 * comparison.standard_error);
    } else {
      EXPECT_GT(comparison.difference, 4 * comparison.standard_error)
          << ClickModelName(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrueModelTest,
                         ::testing::Values(ClickModelKind::kPositionBased,
                                           ClickModelKind::kTrustBias,
                                           ClickModelKind::kCascade,
                                           ClickModelKind::kDependentClick,
                                           ClickModelKind::kBayesianNetwork),
                         [](const auto& test) {
                           return std::string(ClickModelName(test.param));
                         });

}  // namespace
}  // namespace sortition
