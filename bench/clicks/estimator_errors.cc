// Errors of estimators of rankings, by users, by the policy that logged, and by
// sessions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/clicks/judged_sessions.h"
#include "bench/clicks/page_sessions.h"
#include "bench/clicks/page_world.h"
#include "bench/clicks/parts.h"
#include "bench/clicks/pictures.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint64_t kSeedOfTruth = 21;
constexpr double kHalf = 0.5;
// Student's t of squared errors that counts as worse, in any of the cases.
constexpr double kWorse = 3;

struct UserCase {
  std::string name;
  // Right for these users, and what `ope` says to read of them without a model
  // of clicks.
  PageEstimator right;
};

std::vector<UserCase> UserCases() {
  return {{"ultra_pbm", PageEstimator::kItemPosition},
          {"ultra_trust", PageEstimator::kItemPosition},
          {"ultra_cascade", PageEstimator::kNormalisedPrefixes},
          {"ultra_dependent_click", PageEstimator::kNormalisedPrefixes},
          {"informational", PageEstimator::kNormalisedPrefixes},
          {"expected_reciprocal_rank", PageEstimator::kNormalisedPrefixes}};
}

// By estimator, size and run: the estimate minus the truth.
struct ErrorTable {
  double truth = 0;
  double truth_error = 0;
  std::vector<std::vector<PageEstimates>> errors;  // By size and run.

  std::vector<double> SquaresOf(PageEstimator estimator, size_t size) const {
    std::vector<double> squares;
    for (const PageEstimates& run : errors[size]) {
      const double error = run[static_cast<size_t>(estimator)];
      squares.push_back(error * error);
    }
    return squares;
  }
  double RmseOf(PageEstimator estimator, size_t size) const {
    return std::sqrt(Mean(SquaresOf(estimator, size)));
  }
};

absl::StatusOr<ErrorTable> MeasureErrors(const PagePolicy& log,
                                         const PagePolicy& target,
                                         const ClickUser& user,
                                         const ClicksBenchOptions& options) {
  const PageTruth truth =
      TruthOf(target, user, options.truth_draws, kSeedOfTruth);
  const PageTruth logged =
      TruthOf(log, user, options.truth_draws / 10 + 2, kSeedOfTruth + 1);
  ASSIGN_OR_RETURN(
      const PageJudge judge,
      PageJudge::Create(&log, &target, &user, logged.examinations));
  ErrorTable table{
      .truth = truth.clicks, .truth_error = truth.standard_error, .errors = {}};
  table.errors.assign(
      options.sessions.size(),
      std::vector<PageEstimates>(static_cast<size_t>(options.runs)));
  RETURN_IF_ERROR(RunInParallel(
      static_cast<size_t>(options.runs), options.threads,
      [&](size_t run) -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<PageEstimates> estimates,
                         judge.EstimatesOf(options.sessions, run));
        for (size_t size = 0; size < estimates.size(); ++size) {
          for (size_t e = 0; e < estimates[size].size(); ++e) {
            table.errors[size][run][e] = estimates[size][e] - truth.clicks;
          }
        }
        return absl::OkStatus();
      }));
  return table;
}

void PrintHeader(int runs) {
  absl::PrintF(
      "\nRMSE of a policy's expected clicks on a page, in %% of the truth, "
      "from "
      "%d logs\n\n| users | logging | truth | sessions |",
      runs);
  for (const PageEstimator estimator : AllPageEstimators()) {
    absl::PrintF(" %s |", PageEstimatorName(estimator));
  }
  absl::PrintF("\n|---|---|---|---|");
  for (size_t i = 0; i < AllPageEstimators().size(); ++i) absl::PrintF("---|");
  absl::PrintF("\n");
}

void PrintRows(const std::string& user, const std::string& logging,
               const ErrorTable& table, const std::vector<uint32_t>& sessions) {
  for (size_t size = 0; size < sessions.size(); ++size) {
    absl::PrintF("| %s | %s | %.4f ± %.4f | %d |", user, logging, table.truth,
                 table.truth_error, sessions[size]);
    for (const PageEstimator estimator : AllPageEstimators()) {
      absl::PrintF(" %.2f |",
                   100 * table.RmseOf(estimator, size) / table.truth);
    }
    absl::PrintF("\n");
  }
  std::fflush(stdout);
}

absl::Status Picture(const std::string& user, const ErrorTable& table,
                     const ClicksBenchOptions& options) {
  BandChart chart{.title = absl::StrCat("Error of estimates: ", user),
                  .x_name = "sessions",
                  .y_name = "RMSE of expected clicks",
                  .logarithmic = true};
  for (const PageEstimator estimator : AllPageEstimators()) {
    BandChart::Series series{.name = PageEstimatorName(estimator)};
    for (size_t size = 0; size < options.sessions.size(); ++size) {
      const double rmse = table.RmseOf(estimator, size);
      series.spots.push_back(
          {static_cast<double>(options.sessions[size]), rmse, rmse, rmse});
    }
    chart.series.push_back(std::move(series));
  }
  return WritePicture(chart, options.pictures,
                      absl::StrCat("clicks_rmse_", user));
}

// The t of squared errors of prefixes against whole orders; 0 where none
// differ.
double MoreErrorOfPrefixes(const ErrorTable& table, size_t size) {
  const std::vector<double> prefixes =
      table.SquaresOf(PageEstimator::kPrefixes, size);
  const std::vector<double> whole =
      table.SquaresOf(PageEstimator::kWholeOrder, size);
  return prefixes == whole ? 0 : TestPairs(prefixes, whole).t;
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureEstimation(
    const LetorFold& fold, const ClicksBenchOptions& options) {
  ASSIGN_OR_RETURN(std::vector<double> skyline, TrainRanker(fold.train, 1, 1));
  const PagePolicy target(fold.train,
                          Times(kTargetSharpness, std::move(skyline)));
  PrintHeader(options.runs);
  std::vector<Target> targets;
  double worst = -HUGE_VAL;
  // The size of the targets, 100,000 sessions: the third one.
  const size_t judged = std::min<size_t>(2, options.sessions.size() - 1);
  for (const UserCase& user_case : UserCases()) {
    ASSIGN_OR_RETURN(const ClickUser user, MakePageUser(user_case.name));
    for (const auto& [logging, share] :
         {std::pair{"weak", 0.01}, std::pair{"decent", 0.2}}) {
      ASSIGN_OR_RETURN(std::vector<double> weights,
                       TrainRanker(fold.train, share, 1));
      const PagePolicy log(fold.train,
                           Times(kLoggingSharpness, std::move(weights)));
      ASSIGN_OR_RETURN(const ErrorTable table,
                       MeasureErrors(log, target, user, options));
      PrintRows(user_case.name, logging, table, options.sessions);
      targets.push_back(
          {absl::StrCat("RMSE of ", PageEstimatorName(user_case.right),
                        " / whole order, ", user_case.name, ", ", logging),
           table.RmseOf(user_case.right, judged) /
               table.RmseOf(PageEstimator::kWholeOrder, judged),
           kHalf});
      for (size_t size = 0; size < options.sessions.size(); ++size) {
        worst = std::max(worst, MoreErrorOfPrefixes(table, size));
      }
      if (absl::string_view(logging) == "weak") {
        RETURN_IF_ERROR(Picture(user_case.name, table, options));
      }
    }
  }
  Target& never_worse = targets.emplace_back();
  never_worse.what =
      "prefixes worse than whole orders, largest t of squared errors";
  never_worse.measured = worst;
  never_worse.required = kWorse;
  return targets;
}

}  // namespace sortition
