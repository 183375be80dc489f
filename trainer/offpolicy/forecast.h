#pragma once
// How much log the gate needs, from the variance of an estimate.
#include <cstdint>

#include "core/learners/counterfactual/weighted_tuples.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/scan/arrivals.h"

namespace sortition {

// The power of a forecast: the gate passes with this probability if the
// improvement is the assumed one.
inline constexpr double kForecastPower = 0.8;

struct ForecastTask {
  const WeightedTuples& part;  // The estimate is of these tuples.
  const model::v1::Estimate& improvement;
  double largest_unit = 1;         // UnitSample.largest_unit
  double reward_range = 1;         // Of the estimate's units.
  double failure_probability = 0;  // Of the lower bound of the next look.
  uint64_t test_units = 0;         // That the test part has now.
  uint64_t min_test_units = 0;     // Fewer are known not to suffice.
  double test_fraction = 0;        // Of new units that go to the test part.
  const Arrivals& arrivals;
};

// Returns how many units the log needs until the gate would pass with
// kForecastPower (DecisionsToSee(), by units). New units go to the test part
// with the probability `test_fraction`; units that come back do not count
// again. Requires improvement.value() > 0.
config::v1::TrainReport::Forecast MakeForecast(const ForecastTask& task);

// Returns about how many units a log needs to show an improvement as large as
// what the decisions of `part` earn above the smallest reward (or could earn
// more, if that is less), and sets that improvement, in [0, 1]. The variance is
// that of a policy that always takes one of the candidates: E[r²] (1/p - 1) per
// decision, p the geometric mean of the propensities, with 1/p - 1 at most 10,
// because policies for orders take many of them. Returns 0 if all rewards are
// the smallest or the largest.
uint64_t UnitsToDouble(const WeightedTuples& part, double failure_probability,
                       double test_fraction, double* improvement);

}  // namespace sortition
