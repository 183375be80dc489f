#include "core/clicks/click_fitter.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/clicks/click_evaluation.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

double SlowLogLikelihood(const FittedClicks& fitted,
                         const ClickSessions& sessions) {
  FittedList look;
  double sum = 0;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ShownList list = look.Look(fitted, sessions[s]);
    sum += sessions[s].weight() *
           ClickLogLikelihood(fitted.model, list, look.clicks());
  }
  return sum;
}

class ClickFitterTest : public ::testing::TestWithParam<ClickModelKind> {
 protected:
  const ClickWorld world_ = MakeClickWorld(ExampleModel(GetParam()), 5);
};

TEST_P(ClickFitterTest, ObjectiveNeverFallsAndIsThatOfTheSessions) {
  // Weights and unseen ranks too.
  const ClickSessions drawn = DrawSessions(world_, 2000, 6, 1);
  ClickSessions sessions = *ClickSessions::Create(drawn.num_items());
  for (size_t s = 0; s < drawn.size(); ++s) {
    Items items;
    Clicks clicks;
    const size_t seen = s % 3 == 0 ? 4 : 6;
    const double weight = s % 2 == 0 ? 1 : 1.75;
    for (size_t r = 0; r < 6; ++r) {
      items.push_back(drawn[s].item(r));
      clicks.push_back(r < seen && drawn[s].clicked(r));
    }
    ASSERT_OK(sessions.Add(items, clicks, weight, seen));
  }
  for (const bool accelerate : {false, true}) {
    ClickFitOptions options = OptionsFor(GetParam());
    options.accelerate = accelerate;
    options.prior_hits = .5;
    options.prior_misses = 1;
    ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                         ClickFitter::Create(&sessions, options));
    ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
    EXPECT_TRUE(fitted.converged);
    ASSERT_GT(fitted.trace.size(), 1u);
    for (size_t k = 1; k < fitted.trace.size(); ++k) {
      // Rounding of a sum of about 1e4.
      EXPECT_GE(fitted.trace[k], fitted.trace[k - 1] - 1e-8) << k;
    }
    EXPECT_EQ(fitted.trace.back(), fitted.objective);
    EXPECT_NEAR(fitted.log_likelihood, SlowLogLikelihood(fitted, sessions),
                1e-7);
    EXPECT_OK(CheckClickModel(fitted.model));
  }
}

// The maximum of the likelihood, found without EM: no parameter can be moved
// for more than what the tolerance leaves.
TEST_P(ClickFitterTest, NoParameterIsBetterElsewhere) {
  const ClickSessions sessions = DrawSessions(world_, 3000, 5, 2);
  ClickFitOptions options = OptionsFor(GetParam());
  options.tolerance = 1e-9;
  options.max_iterations = 20000;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  ASSERT_TRUE(fitted.converged);
  const double best = SlowLogLikelihood(fitted, sessions);
  FittedClicks moved = fitted;
  const auto try_values = [&](double* value, const std::string& name) {
    const double before = *value;
    for (const double step : {-.01, .01}) {
      *value = before + step;
      const bool allowed =
          *value >= 0 && *value <= 1 && CheckClickModel(moved.model).ok();
      if (allowed) {
        EXPECT_LT(SlowLogLikelihood(moved, sessions), best + 1e-5) << name;
      }
    }
    *value = before;
  };
  for (size_t i = 0; i < moved.attractions.size(); i += 7) {
    try_values(&moved.attractions[i], "attraction");
  }
  for (size_t i = 0; i < moved.satisfactions.size(); i += 7) {
    try_values(&moved.satisfactions[i], "satisfaction");
  }
  for (size_t r = 1; r < moved.model.examination.size(); ++r) {
    try_values(&moved.model.examination[r], "examination");
  }
  for (size_t r = 1; r < moved.model.slopes.size(); ++r) {
    try_values(&moved.model.slopes[r], "slope");
    try_values(&moved.model.offsets[r], "offset");
  }
  for (size_t r = 0; r + 1 < moved.model.continuations.size(); ++r) {
    try_values(&moved.model.continuations[r], "continuation");
  }
  if (GetParam() == ClickModelKind::kBayesianNetwork) {
    try_values(&moved.model.perseverance, "perseverance");
  }
}

// Acceleration changes the way and not the end.
TEST_P(ClickFitterTest, AccelerationEndsWhereEmEnds) {
  const ClickSessions sessions = DrawSessions(world_, 3000, 5, 3);
  ClickFitOptions options = OptionsFor(GetParam());
  options.tolerance = 1e-8;
  options.max_iterations = 50000;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fast,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks a, fast.Fit());
  options.accelerate = false;
  ASSERT_OK_AND_ASSIGN(const ClickFitter slow,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks b, slow.Fit());
  ASSERT_TRUE(a.converged && b.converged);
  EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-4);
}

// What the fit says differs from the truth by chance alone. Twice the excess of
// the fit's log-likelihood over that of the truth is about chi-square with as
// many degrees of freedom as parameters, k: mean k, variance 2 k.
TEST_P(ClickFitterTest, TheTruthIsAsLikelyAsItShouldBe) {
  const ClickSessions sessions = DrawSessions(world_, 20000, 10, 4);
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, OptionsFor(GetParam())));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  ASSERT_TRUE(fitted.converged);
  const double excess =
      2 * (fitted.log_likelihood - SlowLogLikelihood(world_.truth, sessions));
  double parameters = 50;  // Attractions.
  switch (GetParam()) {
    case ClickModelKind::kPositionBased:
    case ClickModelKind::kDependentClick:
      parameters += 9;
      break;
    case ClickModelKind::kTrustBias:
      parameters += 18;
      break;
    case ClickModelKind::kBayesianNetwork:
      parameters += 51;
      break;
    case ClickModelKind::kCascade:
      break;
  }
  EXPECT_GT(excess, parameters - 5 * std::sqrt(2 * parameters));
  EXPECT_LT(excess, parameters + 5 * std::sqrt(2 * parameters));
}

// Users who trust the first rank so much that interest matters more at the next
// one. In units of the slope at rank 0 the others would not be probabilities.
TEST(TrustBiasTest, FindsSlopesAboveThatOfTheFirstRank) {
  ClickModel model = {.kind = ClickModelKind::kTrustBias};
  model.slopes = {.22, .6, .5, .3};
  model.offsets = {.44, .2, .1, .05};
  const ClickWorld world = MakeClickWorld(model, 5);
  const ClickSessions sessions = DrawSessions(world, 40000, 4, 7);
  ClickFitOptions options = OptionsFor(ClickModelKind::kTrustBias);
  options.first_offset = model.offsets[0];
  const auto excess_of = [&] {
    const FittedClicks fitted = *ClickFitter::Create(&sessions, options)->Fit();
    return 2 *
           (fitted.log_likelihood - SlowLogLikelihood(world.truth, sessions));
  };
  // As above: 50 attractions, 3 slopes and 3 offsets.
  constexpr double kParameters = 56;
  const double spread = 5 * std::sqrt(2 * kParameters);
  EXPECT_LT(excess_of(), kParameters - spread);
  options.first_slope = model.slopes[0];
  EXPECT_NEAR(excess_of(), kParameters, spread);
}

// 40 items were shown 4000 times each. Errors of attractions are below 5 sqrt(1
// / (4 · 4000 · mean examination)); those who rarely read so far give less.
TEST_P(ClickFitterTest, FindsTheParametersOfTheWorld) {
  const ClickSessions sessions = DrawSessions(world_, 20000, 10, 5);
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, OptionsFor(GetParam())));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  for (size_t i = 0; i < fitted.attractions.size(); ++i) {
    EXPECT_NEAR(fitted.attractions[i], world_.truth.attractions[i], .09) << i;
  }
  const std::vector<ClickParameter> truth =
      ClickParametersOf(world_.truth, false);
  const std::vector<ClickParameter> found = ClickParametersOf(fitted, false);
  ASSERT_EQ(found.size(), truth.size());
  for (size_t k = 0; k < found.size(); ++k) {
    // Nothing follows the last rank.
    if (found[k].kind == ClickParameterKind::kContinuation &&
        found[k].index == 9) {
      continue;
    }
    EXPECT_NEAR(found[k].value, truth[k].value, .06)
        << ClickParameterName(found[k].kind) << found[k].index;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClickFitterTest,
                         ::testing::Values(ClickModelKind::kPositionBased,
                                           ClickModelKind::kTrustBias,
                                           ClickModelKind::kCascade,
                                           ClickModelKind::kDependentClick,
                                           ClickModelKind::kBayesianNetwork),
                         [](const auto& test) {
                           return std::string(ClickModelName(test.param));
                         });

TEST(ClickFitTest, ACascadeIsCountedInOneStep) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{0, 1, 0}));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{1, 0, 0}, 2));
  ASSERT_OK(sessions.Add(Items{1, 2, 0}, Clicks{0, 0, 0}));
  ClickFitOptions options = OptionsFor(ClickModelKind::kCascade);
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  // Item 0 was examined 1 + 2 + 1 times, item 1 twice, item 2 once; item 3
  // never and has the mean, 3 clicks of 7.
  EXPECT_THAT(fitted.attractions,
              ::testing::ElementsAre(.5, .5, 0, ::testing::DoubleEq(3. / 7)));
  EXPECT_TRUE(fitted.converged);
  EXPECT_LE(fitted.iterations, 4u);
  options.prior_hits = 1;
  options.prior_misses = 3;
  ASSERT_OK_AND_ASSIGN(const ClickFitter smoothed,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks smooth, smoothed.Fit());
  EXPECT_THAT(smooth.attractions,
              ::testing::ElementsAre(3. / 8, 2. / 6, 1. / 5, 1. / 4));
}

TEST(ClickFitTest, AWeightIsAsManySessions) {
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kBayesianNetwork), 2);
  const ClickSessions drawn = DrawSessions(world, 500, 5, 6);
  ClickSessions repeated = *ClickSessions::Create(20);
  std::vector<double> multipliers;
  for (size_t s = 0; s < drawn.size(); ++s) {
    multipliers.push_back(static_cast<double>(s % 3));
    Items items;
    Clicks clicks;
    for (size_t r = 0; r < 5; ++r) {
      items.push_back(drawn[s].item(r));
      clicks.push_back(drawn[s].clicked(r));
    }
    for (size_t k = 0; k < s % 3; ++k) ASSERT_OK(repeated.Add(items, clicks));
  }
  for (const ClickModelKind kind :
       {ClickModelKind::kBayesianNetwork, ClickModelKind::kDependentClick,
        ClickModelKind::kPositionBased}) {
    ClickFitOptions options = OptionsFor(kind);
    options.max_iterations = 10;
    options.accelerate = false;
    ASSERT_OK_AND_ASSIGN(const ClickFitter weighted,
                         ClickFitter::Create(&drawn, options));
    ASSERT_OK_AND_ASSIGN(const FittedClicks a,
                         weighted.Fit(multipliers, nullptr));
    ASSERT_OK_AND_ASSIGN(const ClickFitter plain,
                         ClickFitter::Create(&repeated, options));
    ASSERT_OK_AND_ASSIGN(const FittedClicks b, plain.Fit());
    EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-8);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(a.attractions[i], b.attractions[i], 1e-10);
    }
  }
}

TEST(ClickFitTest, SaysThatItDidNotConverge) {
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kPositionBased), 2);
  const ClickSessions sessions = DrawSessions(world, 500, 5, 7);
  ClickFitOptions options = OptionsFor(ClickModelKind::kPositionBased);
  options.max_iterations = 3;
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  EXPECT_FALSE(fitted.converged);
  EXPECT_EQ(fitted.iterations, 3u);
  EXPECT_EQ(fitted.model.examination[0], 1);
}

TEST(ClickFitTest, PerseveranceMayBeKnown) {
  ClickModel model = ExampleModel(ClickModelKind::kBayesianNetwork);
  model.perseverance = 1;
  const ClickWorld world = MakeClickWorld(model, 2);
  const ClickSessions sessions = DrawSessions(world, 5000, 8, 8);
  ClickFitOptions options = OptionsFor(ClickModelKind::kBayesianNetwork);
  options.perseverance = 1;
  ASSERT_OK_AND_ASSIGN(const ClickFitter simplified,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, simplified.Fit());
  EXPECT_EQ(fitted.model.perseverance, 1);
  EXPECT_NEAR(fitted.log_likelihood, SlowLogLikelihood(fitted, sessions), 1e-7);
  // Learned, it comes out: of 5000 · 8 steps.
  options.perseverance.reset();
  ASSERT_OK_AND_ASSIGN(const ClickFitter full,
                       ClickFitter::Create(&sessions, options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks learned, full.Fit());
  EXPECT_NEAR(learned.model.perseverance, 1, .02);
  EXPECT_GE(learned.log_likelihood, fitted.log_likelihood - .1);
}

TEST(ClickFitTest, RefusesWhatIsWrong) {
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(2));
  EXPECT_THAT(ClickFitter::Create(&sessions, {}),
              invalid("number of sessions is 0, must be at least 1"));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 1}));
  const auto create = [&](auto change) {
    ClickFitOptions options;
    change(&options);
    return ClickFitter::Create(&sessions, options);
  };
  EXPECT_THAT(create([](auto* o) { o->kind = ClickModelKind::kCascade; }),
              invalid("session 0 has 2 clicks, must have at most 1"));
  EXPECT_THAT(create([](auto* o) { o->max_iterations = 0; }),
              invalid("max_iterations is 0, must be at least 1"));
  EXPECT_THAT(create([](auto* o) { o->tolerance = -1; }),
              invalid("tolerance is -1, must be finite and at least 0"));
  EXPECT_THAT(create([](auto* o) {
                o->prior_hits = std::numeric_limits<double>::infinity();
              }),
              invalid("prior_hits is inf"));
  EXPECT_THAT(create([](auto* o) { o->first_offset = 1; }),
              invalid("first_offset is 1, must be in [0, 1)"));
  EXPECT_THAT(create([](auto* o) {
                o->first_offset = .25;
                o->first_slope = .8;
              }),
              invalid("first_slope is 0.8, must be in (0, 0.75], 1 minus "
                      "first_offset"));
  EXPECT_THAT(create([](auto* o) { o->perseverance = 2; }),
              invalid("perseverance is 2, must be in [0, 1]"));
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
                       ClickFitter::Create(&sessions, {}));
  const std::vector<double> two = {1, 1};
  EXPECT_THAT(fitter.Fit(two, nullptr),
              invalid("number of multipliers is 2, must be that of sessions"));
  const std::vector<double> zero = {0};
  EXPECT_THAT(fitter.Fit(zero, nullptr),
              invalid("sum of multipliers is 0, must be positive"));
  const std::vector<double> negative = {-1};
  EXPECT_THAT(fitter.Fit(negative, nullptr),
              invalid("multipliers[0] is -1, must be finite and at least 0"));
}

}  // namespace
}  // namespace sortition
