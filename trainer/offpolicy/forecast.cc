#include "trainer/offpolicy/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/evaluation/planning.h"
#include "trainer/tuples/scan/present_rate.h"

namespace sortition {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

uint64_t ToCount(double number) {
  constexpr double kMost = 1e18;
  return number < kMost ? static_cast<uint64_t>(number)
                        : static_cast<uint64_t>(kMost);
}

}  // namespace

config::v1::TrainReport::Forecast MakeForecast(const ForecastTask& task) {
  const double error = task.reward_range *
                       ImprovementError({.rewards = task.part.rewards,
                                         .log_weights = task.part.log_weights,
                                         .units = task.part.units,
                                         .largest_unit = task.largest_unit});
  const uint64_t units = NumUnits(task.part.units);
  const uint64_t so_far = task.arrivals.units;
  // Units of the whole log with which `improvement` would show.
  const auto needed_for = [&](double improvement, uint64_t at_least) {
    uint64_t test =
        DecisionsToSee(error, units, improvement, task.failure_probability,
                       kForecastPower, IntervalKind::kBetting);
    // A single unit has no variance.
    if (test == kUnknown) test = at_least;
    test = std::max({test, at_least, task.test_units});
    const double more =
        static_cast<double>(test - task.test_units) / task.test_fraction;
    return ToCount(RoundedUp(static_cast<double>(so_far) + more));
  };
  config::v1::TrainReport::Forecast forecast;
  forecast.set_by_units(!task.arrivals.units_are_decisions());
  forecast.set_so_far(so_far);
  forecast.set_improvement(task.improvement.value());
  forecast.set_standard_error(error);
  forecast.set_needed(
      needed_for(task.improvement.value(), task.min_test_units));
  forecast.set_needed_least(std::min(
      forecast.needed(),
      needed_for(forecast.improvement() + error, task.test_units + 1)));
  if (forecast.improvement() > error) {
    forecast.set_needed_most(std::max(
        forecast.needed(), needed_for(forecast.improvement() - error, 0)));
  }
  return forecast;
}

uint64_t UnitsToDouble(const WeightedTuples& part, double failure_probability,
                       double test_fraction, double* improvement) {
  const auto count = static_cast<double>(part.size());
  if (part.size() == 0) return 0;
  double sum = 0;
  double square_sum = 0;
  for (const double reward : part.rewards) {
    sum += reward;
    square_sum += reward * reward;
  }
  const double mean = sum / count;
  *improvement = std::min(mean, 1 - mean);
  if (!(*improvement > 0)) return 0;
  const double mean_log_propensity =
      std::accumulate(part.log_propensities.begin(),
                      part.log_propensities.end(), 0.0) /
      count;
  constexpr double kMaxAlternatives = 10;
  const double alternatives =
      std::min(std::exp(-mean_log_propensity) - 1, kMaxAlternatives);
  const auto decisions = static_cast<double>(DecisionsToSee(
      std::sqrt(alternatives * square_sum / count), 1, *improvement,
      failure_probability, kForecastPower, IntervalKind::kBetting));
  return ToCount(RoundedUp(decisions / test_fraction *
                           static_cast<double>(NumUnits(part.units)) / count));
}

}  // namespace sortition
