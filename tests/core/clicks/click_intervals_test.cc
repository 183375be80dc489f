#include "core/clicks/click_intervals.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "Eigen/Dense"
#include "core/clicks/click_evaluation.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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
  ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
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
    ASSERT_OK_AND_ASSIGN(const ClickFitter fitter,
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
      const ClickFitter fitter,
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
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  const ClickWorld world =
      MakeClickWorld(ExampleModel(ClickModelKind::kDependentClick), 2);
  const ClickSessions sessions = DrawSessions(world, 100, 4, 3);
  ASSERT_OK_AND_ASSIGN(
      const ClickFitter fitter,
      ClickFitter::Create(&sessions,
                          OptionsFor(ClickModelKind::kDependentClick)));
  ASSERT_OK_AND_ASSIGN(const FittedClicks fitted, fitter.Fit());
  EXPECT_THAT(InformationClickIntervals(fitter, fitted),
              invalid("click model is dependent_click, must be"));
  ClickBootstrapOptions options;
  options.draws = 5;
  EXPECT_THAT(BootstrapClickIntervals(fitter, fitted, options),
              invalid("draws is 5, must be at least 20"));
  options.draws = 20;
  options.confidence = 1;
  EXPECT_THAT(BootstrapClickIntervals(fitter, fitted, options),
              invalid("confidence is 1, must be in (0, 1)"));
}

}  // namespace
}  // namespace sortition
