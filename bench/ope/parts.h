#pragma once
// The parts of `./dev bench ope`.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct OpeBenchOptions {
  std::string data;        // Directory of data sets; empty: none.
  int replications = 100;  // Logs of each data set and temperature.
  int logs = 1000;         // Simulated logs of each world.
  int looking_logs = 200;  // Those that are looked at 96 times.
  int width_logs = 21;     // Logs of each length, where half of them pass.
  uint64_t decisions = 10'000'000;  // Of the stream.
};

// Errors of the estimators on logs of real data.
absl::StatusOr<std::vector<Target>> MeasureEstimators(
    const OpeBenchOptions& options);
// How often the intervals hold the truth.
std::vector<Target> MeasureCoverage(const OpeBenchOptions& options);
// How often the gate lets a policy pass that is no better.
std::vector<Target> MeasureFalsePasses(const OpeBenchOptions& options);
// How many decisions it takes until a better policy passes.
absl::StatusOr<std::vector<Target>> MeasureWidth(
    const OpeBenchOptions& options);
// Time and memory of the sums of ten policies.
std::vector<Target> MeasureStream(const OpeBenchOptions& options);
// The figures of docs/five_ways_to_be_wrong.md.
std::vector<Target> MeasureMistakes(const OpeBenchOptions& options);

}  // namespace sortition
