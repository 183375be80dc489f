// RMSE of each estimator relative to IPS, on logs that were drawn from data
// whose labels are known.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/ope/class_bandit.h"
#include "bench/ope/class_problems.h"
#include "bench/ope/parts.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/slope.h"

namespace sortition {
namespace {

constexpr double kInverseTemperatures[] = {2, 1, 0.5, 0.25};
constexpr double kConfidence = 0.95;
constexpr uint64_t kFirstSeed = 50'000;

// Those that can be judged with what these logs have; IPS is the first.
constexpr EstimatorKind kKinds[] = {EstimatorKind::kIps,
                                    EstimatorKind::kControlledIps,
                                    EstimatorKind::kSelfNormalised,
                                    EstimatorKind::kClipped,
                                    EstimatorKind::kLogSmoothed,
                                    EstimatorKind::kSubGaussian,
                                    EstimatorKind::kDirect,
                                    EstimatorKind::kDoublyRobust,
                                    EstimatorKind::kSelfNormalisedDr,
                                    EstimatorKind::kClippedDr,
                                    EstimatorKind::kOptimisticDr,
                                    EstimatorKind::kSwitch};

// Squared errors by log.
struct Errors {
  std::vector<std::vector<double>> of_kind;
  std::vector<double> chosen;
  std::map<std::string, int> choices;  // How often each was the default.
};

double SquaredError(const PolicySums& sums, const Estimator& estimator,
                    double truth) {
  const double error =
      EstimateRatios(sums.sums(), sums.RatiosOf(0, estimator)).value - truth;
  return error * error;
}

absl::StatusOr<Errors> MeasureErrors(const ClassBandit& bandit,
                                     const BanditPolicies& policies,
                                     int replications) {
  Errors errors;
  errors.of_kind.resize(std::size(kKinds));
  for (int log = 0; log < replications; ++log) {
    ASSIGN_OR_RETURN(const PolicySums sums,
                     bandit.DrawSums(policies, RewardModelKind::kRidge,
                                     kFirstSeed + static_cast<uint64_t>(log)));
    for (size_t k = 0; k < std::size(kKinds); ++k) {
      const Estimator estimator =
          ParametersOf(kKinds[k]).empty()
              ? Estimator{kKinds[k]}
              : ChooseBySlope(sums, 0, kKinds[k], kConfidence);
      errors.of_kind[k].push_back(
          SquaredError(sums, estimator, policies.value));
    }
    const Estimator chosen = DefaultEstimator(/*has_model=*/true);
    errors.chosen.push_back(SquaredError(sums, chosen, policies.value));
    ++errors.choices[EstimatorKey(chosen.kind)];
  }
  return errors;
}

double Rmse(const std::vector<double>& squares) {
  return std::sqrt(Mean(squares));
}

size_t IndexOf(EstimatorKind kind) {
  return static_cast<size_t>(
      std::find(std::begin(kKinds), std::end(kKinds), kind) -
      std::begin(kKinds));
}

std::string Choices(const Errors& errors) {
  std::string text;
  for (const auto& [name, count] : errors.choices) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", count);
  }
  return text;
}

// The worst over data sets and temperatures.
struct Worst {
  double against_best = 0;  // RMSE of the default over the least RMSE.
  double dr_test = -1e9;    // t of the squared errors of DR against IPS.
};

void AddRow(const std::string& name, double inverse_temperature,
            const BanditPolicies& policies, const Errors& errors,
            Worst* worst) {
  const double ips = Rmse(errors.of_kind[0]);
  const double chosen = Rmse(errors.chosen);
  double best = chosen;
  absl::PrintF("%-10s %5g %6.3f %6.3f %8.5f", name, inverse_temperature,
               policies.logged_value, policies.value, ips);
  for (const std::vector<double>& squares : errors.of_kind) {
    absl::PrintF(" %6.3f", Rmse(squares) / ips);
    best = std::min(best, Rmse(squares));
  }
  const double test =
      TestPairs(errors.of_kind[IndexOf(EstimatorKind::kDoublyRobust)],
                errors.of_kind[0])
          .t;
  absl::PrintF(" %6.3f  %5.3f %6.1f  %s\n", chosen / ips, chosen / best, test,
               Choices(errors));
  std::fflush(stdout);
  worst->against_best = std::max(worst->against_best, chosen / best);
  worst->dr_test = std::max(worst->dr_test, test);
}

void PrintHead() {
  absl::PrintF(
      "\nRMSE over that of IPS; alpha: inverse temperature of the logging "
      "policy; t: of the squared errors of DR minus those of IPS\n"
      "%-10s %5s %6s %6s %8s",
      "data", "alpha", "logged", "target", "IPS");
  for (const EstimatorKind kind : kKinds) {
    absl::PrintF(" %6s", EstimatorKey(kind).substr(0, 6));
  }
  absl::PrintF(" %6s  %5s %6s  %s\n", "chosen", "/best", "t", "which");
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureEstimators(
    const OpeBenchOptions& options) {
  if (options.data.empty()) {
    absl::PrintF("skipped: estimators on real data, --data is empty\n");
    return std::vector<Target>();
  }
  ASSIGN_OR_RETURN(const std::vector<ClassProblem> problems,
                   ReadClassProblems(options.data));
  if (problems.empty()) return std::vector<Target>();
  PrintHead();
  Worst worst;
  for (const ClassProblem& problem : problems) {
    ASSIGN_OR_RETURN(const ClassBandit bandit, ClassBandit::Create(problem));
    for (const double inverse_temperature : kInverseTemperatures) {
      const BanditPolicies policies = bandit.PoliciesAt(inverse_temperature);
      ASSIGN_OR_RETURN(const Errors errors,
                       MeasureErrors(bandit, policies, options.replications));
      AddRow(problem.name, inverse_temperature, policies, errors, &worst);
    }
  }
  return std::vector<Target>{
      {"RMSE of the default over the best, worst case", worst.against_best,
       1.1},
      {"DR against IPS, t of squared errors, worst case", worst.dr_test, 2.33}};
}

}  // namespace sortition
