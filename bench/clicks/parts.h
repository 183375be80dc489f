#pragma once
// The parts of `./dev bench clicks`.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"
#include "bench/support/report.h"

namespace sortition {

struct ClicksBenchOptions {
  int threads = 2;
  std::string pictures;              // Directory of SVG files; empty: none.
  std::vector<uint32_t> sessions;    // Sizes of logs, ascending.
  int runs = 24;                     // Logs for each RMSE, at least 2.
  int truth_draws = 2000;            // Orders of a page for a true value.
  int gate_runs = 40;                // Logs from which power is counted.
  uint32_t gate_sessions = 100'000;  // The longest of them.
  int coverage_runs = 1000;
  int worlds = 10;              // Of each kind of click model.
  uint32_t recovery = 100'000;  // Sessions from which parameters are learned.
  int folds = 2;                // That objectives learn on, in [1, 5].
  int safe_runs = 40;
};

// Errors of estimators of rankings.
absl::StatusOr<std::vector<Target>> MeasureEstimation(
    const LetorFold& fold, const ClicksBenchOptions& options);
// What objectives learn from clicks, and whether the safe one is safe.
absl::StatusOr<std::vector<Target>> MeasureLearning(
    const LetorFolds& folds, const ClicksBenchOptions& options);
// How many sessions the gate needs, by the weights that it takes.
absl::StatusOr<std::vector<Target>> MeasureGate(
    const LetorFold& fold, const ClicksBenchOptions& options);
// Whether click models find their own parameters, and their own kind.
absl::StatusOr<std::vector<Target>> MeasureClickModels(
    const ClicksBenchOptions& options);

}  // namespace sortition
