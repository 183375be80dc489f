#include "core/clicks/click_fitter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "Eigen/Dense"
#include "core/clicks/click_evaluation.h"
#include "core/clicks/click_features.h"
#include "core/clicks/click_intervals.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
    const FittedClicks fitted = FitClicks(sessions, options);
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
  const FittedClicks fitted = FitClicks(sessions, options);
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
  const FittedClicks a = FitClicks(sessions, options);
  options.accelerate = false;
  const FittedClicks b = FitClicks(sessions, options);
  ASSERT_TRUE(a.converged && b.converged);
  EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-4);
}

// What the fit says differs from the truth by chance alone. Twice the excess of
// the fit's log-likelihood over that of the truth is about chi-square with as
// many degrees of freedom as parameters, k: mean k, variance 2 k.
TEST_P(ClickFitterTest, FindsTheWorldAndIsAsLikelyAsItShouldBe) {
  const ClickSessions sessions = DrawSessions(world_, 20000, 10, 4);
  const FittedClicks fitted = FitClicks(sessions, OptionsFor(GetParam()));
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
  // 50 items were shown 4000 times each. Errors of attractions are below 5
  // sqrt(1 / (4 · 4000 · mean examination)); those who rarely read so far give
  // less.
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

INSTANTIATE_TEST_SUITE_P(All, ClickFitterTest,
                         ::testing::ValuesIn(AllClickModelKinds()), NameOfKind);

TEST(ClickFitTest, ACascadeIsCountedInOneStep) {
  ASSERT_OK_AND_ASSIGN(auto sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{0, 1, 0}));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{1, 0, 0}, 2));
  ASSERT_OK(sessions.Add(Items{1, 2, 0}, Clicks{0, 0, 0}));
  ClickFitOptions options = OptionsFor(ClickModelKind::kCascade);
  const FittedClicks fitted = FitClicks(sessions, options);
  // Item 0 was examined 1 + 2 + 1 times, item 1 twice, item 2 once; item 3
  // never and has the mean, 3 clicks of 7.
  EXPECT_THAT(fitted.attractions,
              ::testing::ElementsAre(.5, .5, 0, ::testing::DoubleEq(3. / 7)));
  EXPECT_TRUE(fitted.converged);
  EXPECT_LE(fitted.iterations, 4u);
  options.prior_hits = 1;
  options.prior_misses = 3;
  const FittedClicks smooth = FitClicks(sessions, options);
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
    ASSERT_OK_AND_ASSIGN(const auto weighted,
                         ClickFitter::Create(&drawn, options));
    ASSERT_OK_AND_ASSIGN(const FittedClicks a,
                         weighted.Fit(multipliers, nullptr));
    const FittedClicks b = FitClicks(repeated, options);
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
  const FittedClicks fitted = FitClicks(sessions, options);
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
  const FittedClicks fitted = FitClicks(sessions, options);
  EXPECT_EQ(fitted.model.perseverance, 1);
  EXPECT_NEAR(fitted.log_likelihood, SlowLogLikelihood(fitted, sessions), 1e-7);
  // Learned, it comes out: of 5000 · 8 steps.
  options.perseverance.reset();
  const FittedClicks learned = FitClicks(sessions, options);
  EXPECT_NEAR(learned.model.perseverance, 1, .02);
  EXPECT_GE(learned.log_likelihood, fitted.log_likelihood - .1);
}

TEST(ClickFitTest, RefusesWhatIsWrong) {
  ASSERT_OK_AND_ASSIGN(auto sessions, ClickSessions::Create(2));
  EXPECT_THAT(ClickFitter::Create(&sessions, {}),
              IsInvalidArgument("number of sessions is 0, must be at least 1"));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 1}));
  const auto create = [&](auto change) {
    ClickFitOptions options;
    change(&options);
    return ClickFitter::Create(&sessions, options);
  };
  EXPECT_THAT(create([](auto* o) { o->kind = ClickModelKind::kCascade; }),
              IsInvalidArgument("session 0 has 2 clicks, must have at most 1"));
  EXPECT_THAT(create([](auto* o) { o->max_iterations = 0; }),
              IsInvalidArgument("max_iterations is 0, must be at least 1"));
  EXPECT_THAT(
      create([](auto* o) { o->tolerance = -1; }),
      IsInvalidArgument("tolerance is -1, must be finite and at least 0"));
  EXPECT_THAT(create([](auto* o) {
                o->prior_hits = std::numeric_limits<double>::infinity();
              }),
              IsInvalidArgument("prior_hits is inf"));
  EXPECT_THAT(create([](auto* o) { o->first_offset = 1; }),
              IsInvalidArgument("first_offset is 1, must be in [0, 1)"));
  EXPECT_THAT(
      create([](auto* o) {
        o->first_offset = .25;
        o->first_slope = .8;
      }),
      IsInvalidArgument("first_slope is 0.8, must be in (0, 0.75], 1 minus "
                        "first_offset"));
  EXPECT_THAT(create([](auto* o) { o->perseverance = 2; }),
              IsInvalidArgument("perseverance is 2, must be in [0, 1]"));
  ASSERT_OK_AND_ASSIGN(const auto fitter, ClickFitter::Create(&sessions, {}));
  const std::vector<double> two = {1, 1};
  EXPECT_THAT(fitter.Fit(two, nullptr),
              IsInvalidArgument(
                  "number of multipliers is 2, must be that of sessions"));
  const std::vector<double> zero = {0};
  EXPECT_THAT(fitter.Fit(zero, nullptr),
              IsInvalidArgument("sum of multipliers is 0, must be positive"));
  const std::vector<double> negative = {-1};
  EXPECT_THAT(
      fitter.Fit(negative, nullptr),
      IsInvalidArgument("multipliers[0] is -1, must be finite and at least 0"));
}

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
  const FittedClicks fitted = FitClicks(sessions, options, {made.rows, 2});
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
  const FittedClicks fitted = FitClicks(sessions, options, {made.rows, 2});
  EXPECT_TRUE(fitted.converged);
  EXPECT_NEAR(fitted.model.perseverance, .85, .05);
  EXPECT_NEAR(fitted.attraction_weights[0], 1, .1);
  EXPECT_NEAR(fitted.satisfaction_weights[1], .8, .2);
  EXPECT_NEAR(fitted.satisfaction_weights[2], .3, .25);
}

// With an intercept alone, all items are one: attraction is the rate of clicks.
TEST(ClickFeaturesTest, AnInterceptIsTheCommonRate) {
  ASSERT_OK_AND_ASSIGN(auto sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2}, Clicks{0, 1, 0}));
  ASSERT_OK(sessions.Add(Items{3, 1, 2}, Clicks{0, 0, 0}));
  const std::vector<float> zeros(4, 0);
  ClickFitOptions options;
  options.kind = ClickModelKind::kCascade;
  options.tolerance = 1e-12;
  const FittedClicks fitted = FitClicks(sessions, options, {zeros, 1});
  // One click of 2 + 3 examined items.
  for (const double a : fitted.attractions) EXPECT_NEAR(a, .2, 1e-6);
}

TEST(ClickFeaturesTest, RefusesWhatIsWrong) {
  const std::vector<float> rows = {1, 2, 3,
                                   std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(CheckClickFeatures({rows, 2}, 3),
              IsInvalidArgument("features.rows.size is 4, must be 6"));
  EXPECT_THAT(CheckClickFeatures({rows, 2}, 2),
              IsInvalidArgument("feature 1 of item 1 is nan, must be finite"));
}

double TruthOf(const ClickModel& model, const ClickParameter& parameter) {
  switch (parameter.kind) {
    case ClickParameterKind::kExamination:
      return model.Examination(parameter.index);
    case ClickParameterKind::kSlope:
      return model.Slope(parameter.index);
    case ClickParameterKind::kOffset:
      return model.Offset(parameter.index);
    case ClickParameterKind::kContinuation:
      return model.Continuation(parameter.index);
    default:
      return model.perseverance;
  }
}

// True where the interval of width 0 of something fixed says nothing.
bool IsFixed(const ClickInterval& interval) {
  return interval.lower == interval.upper;
}

// How often intervals contain the truth, over independent worlds.
template <typename Intervals>
double Coverage(ClickModelKind kind, int worlds, const Intervals& intervals) {
  const ClickWorld world = MakeClickWorld(ExampleModel(kind), 3);
  double inside = 0;
  double total = 0;
  for (int w = 0; w < worlds; ++w) {
    const ClickSessions sessions =
        DrawSessions(world, 2000, 4, 100 + static_cast<uint64_t>(w));
    const ClickFitter fitter =
        ClickFitter::Create(&sessions, OptionsFor(kind)).value();
    const FittedClicks fitted = fitter.Fit().value();
    for (const ClickInterval& interval : intervals(fitter, fitted)) {
      if (IsFixed(interval)) continue;
      const double truth = TruthOf(world.truth.model, interval.parameter);
      inside += interval.lower <= truth && truth <= interval.upper;
      ++total;
    }
  }
  return inside / total;
}

// 150 worlds with three parameters each, not independent: the coverage has a
// standard error of at most sqrt(.9 · .1 / 150) = 0.024; three of them, and
// 0.02 for what an approximation may miss.
TEST(ClickIntervalsTest, InformationCoversAsOftenAsItSays) {
  for (const ClickModelKind kind :
       {ClickModelKind::kPositionBased, ClickModelKind::kTrustBias}) {
    const double coverage = Coverage(
        kind, 150, [](const ClickFitter& fitter, const FittedClicks& fitted) {
          return InformationClickIntervals(fitter, fitted, .9).value();
        });
    EXPECT_NEAR(coverage, .9, 3 * .024 + .02) << ClickModelName(kind);
  }
}

// 40 worlds: the standard error is 0.047.
TEST(ClickIntervalsTest, BootstrapCoversAsOftenAsItSays) {
  for (const ClickModelKind kind :
       {ClickModelKind::kDependentClick, ClickModelKind::kBayesianNetwork}) {
    const double coverage = Coverage(
        kind, 40, [](const ClickFitter& fitter, const FittedClicks& fitted) {
          ClickBootstrapOptions options;
          options.draws = 60;
          options.confidence = .9;
          return BootstrapClickIntervals(fitter, fitted, options).value();
        });
    EXPECT_NEAR(coverage, .9, 3 * .047) << ClickModelName(kind);
  }
}

// Two ways to the same width. A width from 200 draws has an error of about 1 /
// sqrt(2 · 200) = 5 %, with percentiles about twice that.
TEST(ClickIntervalsTest, BootstrapAndInformationAgree) {
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kPositionBased), 2);
  const ClickSessions sessions = DrawSessions(world, 5000, 4, 1);
  ClickFitOptions fit_options = OptionsFor(ClickModelKind::kPositionBased);
  fit_options.tolerance = 1e-6;
  ASSERT_OK_AND_ASSIGN(const auto fitter,
                       ClickFitter::Create(&sessions, fit_options));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  ASSERT_OK_AND_ASSIGN(const std::vector<ClickInterval> exact,
                       InformationClickIntervals(fitter, fitted));
  ClickBootstrapOptions options;
  options.with_items = true;
  ASSERT_OK_AND_ASSIGN(const std::vector<ClickInterval> drawn,
                       BootstrapClickIntervals(fitter, fitted, options));
  ASSERT_EQ(exact.size(), 4u);
  ASSERT_EQ(drawn.size(), 4u + 20u);
  EXPECT_TRUE(IsFixed(exact[0]));
  EXPECT_TRUE(IsFixed(drawn[0]));
  for (size_t r = 1; r < 4; ++r) {
    const double width = exact[r].upper - exact[r].lower;
    EXPECT_NEAR((drawn[r].upper - drawn[r].lower) / width, 1, .3) << r;
    EXPECT_LT(exact[r].lower, fitted.model.examination[r]);
    EXPECT_GT(exact[r].upper, fitted.model.examination[r]);
  }
  for (size_t k = 4; k < drawn.size(); ++k) {
    EXPECT_EQ(drawn[k].parameter.kind, ClickParameterKind::kAttraction);
    EXPECT_LE(drawn[k].lower, drawn[k].parameter.value);
    EXPECT_GE(drawn[k].upper, drawn[k].parameter.value);
  }
}

// The pointers to what is learned: ranks but the first, then items.
std::vector<double*> FreeParameters(FittedClicks* fitted) {
  std::vector<double*> free;
  for (size_t r = 1; r < fitted->model.examination.size(); ++r) {
    free.push_back(&fitted->model.examination[r]);
  }
  for (size_t r = 1; r < fitted->model.slopes.size(); ++r) {
    free.push_back(&fitted->model.slopes[r]);
    free.push_back(&fitted->model.offsets[r]);
  }
  for (double& a : fitted->attractions) free.push_back(&a);
  return free;
}

// The negative Hessian of the log-likelihood by differences.
Eigen::MatrixXd NumericInformation(const FittedClicks& fitted,
                                   const ClickSessions& sessions) {
  constexpr double kStep = 1e-4;
  FittedClicks moved = fitted;
  const std::vector<double*> free = FreeParameters(&moved);
  const auto value = [&](size_t i, double di, size_t j, double dj) {
    const double before_i = *free[i];
    const double before_j = *free[j];
    *free[i] += di;
    *free[j] += dj;
    const double sum = EvaluateClicks(moved, sessions).log_likelihood *
                       sessions.total_weight();
    *free[i] = before_i;
    *free[j] = before_j;
    return sum;
  };
  const auto size = static_cast<Eigen::Index>(free.size());
  Eigen::MatrixXd information(size, size);
  for (size_t i = 0; i < free.size(); ++i) {
    for (size_t j = 0; j < free.size(); ++j) {
      const double difference =
          value(i, kStep, j, kStep) - value(i, kStep, j, -kStep) -
          value(i, -kStep, j, kStep) + value(i, -kStep, j, -kStep);
      information(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          -difference / (4 * kStep * kStep);
    }
  }
  return information;
}

// Away from the maximum too, where first derivatives do not vanish by rank.
TEST(ClickIntervalsTest, InformationIsTheHessian) {
  for (const ClickModelKind kind :
       {ClickModelKind::kPositionBased, ClickModelKind::kTrustBias}) {
    ClickModel model = ExampleModel(kind);
    model.examination.resize(std::min<size_t>(model.examination.size(), 3));
    model.slopes.resize(std::min<size_t>(model.slopes.size(), 3));
    model.offsets.resize(std::min<size_t>(model.offsets.size(), 3));
    const ClickWorld world = MakeClickWorld(model, 1);
    const ClickSessions sessions = DrawSessions(world, 2000, 3, 5);
    ASSERT_OK_AND_ASSIGN(const auto fitter,
                         ClickFitter::Create(&sessions, OptionsFor(kind)));
    constexpr double kConfidence = 0.6826894921370859;  // One standard error.
    ASSERT_OK_AND_ASSIGN(
        const auto intervals,
        InformationClickIntervals(fitter, world.truth, kConfidence));
    const Eigen::MatrixXd covariance =
        NumericInformation(world.truth, sessions).inverse();
    FittedClicks truth = world.truth;
    const std::vector<double*> free = FreeParameters(&truth);
    const size_t num_ranks = free.size() - 10;
    for (size_t k = 0; k < num_ranks; ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      const double p = *free[k];
      double width = std::sqrt(covariance(i, i));
      // By rank: slopes, then offsets.
      size_t place = 1 + k;
      if (kind == ClickModelKind::kTrustBias) {
        place = 1 + k / 2 + 3 * (k % 2);
      }
      const ClickInterval& interval = intervals[place];
      if (interval.parameter.kind == ClickParameterKind::kSlope) {
        EXPECT_NEAR((interval.upper - p) / width, 1, 1e-3) << k;
        continue;
      }
      // The scale of log-odds.
      width /= p * (1 - p);
      EXPECT_NEAR(std::log(interval.upper / (1 - interval.upper)),
                  std::log(p / (1 - p)) + width, 1e-3 * width)
          << k;
    }
  }
}

TEST(ClickIntervalsTest, BootstrapDependsOnItsSeedAndNotOnTheOrder) {
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kDependentClick), 2);
  const ClickSessions sessions = DrawSessions(world, 500, 4, 2);
  ASSERT_OK_AND_ASSIGN(
      const auto fitter,
      ClickFitter::Create(&sessions,
                          OptionsFor(ClickModelKind::kDependentClick)));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  ClickBootstrapOptions options;
  options.draws = 20;
  const auto backwards = [](size_t count, const auto& body) {
    for (size_t i = count; i > 0; --i) body(i - 1);
  };
  ASSERT_OK_AND_ASSIGN(const auto a,
                       BootstrapClickIntervals(fitter, fitted, options));
  ASSERT_OK_AND_ASSIGN(const auto b, BootstrapClickIntervals(
                                         fitter, fitted, options, backwards));
  options.seed = 2;
  ASSERT_OK_AND_ASSIGN(const auto c,
                       BootstrapClickIntervals(fitter, fitted, options));
  EXPECT_EQ(a[0].lower, b[0].lower);
  EXPECT_EQ(a[1].upper, b[1].upper);
  EXPECT_NE(a[0].lower, c[0].lower);
}

TEST(ClickIntervalsTest, RefusesWhatIsWrong) {
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kDependentClick), 2);
  const ClickSessions sessions = DrawSessions(world, 100, 4, 3);
  ASSERT_OK_AND_ASSIGN(
      const auto fitter,
      ClickFitter::Create(&sessions,
                          OptionsFor(ClickModelKind::kDependentClick)));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  EXPECT_THAT(InformationClickIntervals(fitter, fitted),
              IsInvalidArgument("click model is dependent_click, must be"));
  ClickBootstrapOptions options;
  options.draws = 5;
  EXPECT_THAT(BootstrapClickIntervals(fitter, fitted, options),
              IsInvalidArgument("draws is 5, must be at least 20"));
  options.draws = 20;
  options.confidence = 1;
  EXPECT_THAT(BootstrapClickIntervals(fitter, fitted, options),
              IsInvalidArgument("confidence is 1, must be in (0, 1)"));
}

}  // namespace
}  // namespace sortition
