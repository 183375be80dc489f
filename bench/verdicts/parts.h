#pragma once
// The parts of the benchmark: each prints a table and returns its targets.
#include <vector>

#include "bench/support/report.h"

namespace sortition {

struct VerdictOptions {
  int runs = 1000;  // Simulated logs or rollouts of each setting.
  int threads = 2;
};

// Traffic splits whose units return more or less often with one version:
// coverage of intervals with --arms=auto, and width if returns are equal.
std::vector<Target> MeasureArms(const VerdictOptions& options);
// Files of complaints that end before the log: false passes of guardrails.
std::vector<Target> MeasureOutcomes(const VerdictOptions& options);
// Simulated logs of sharp policies: loss of the policies that `train` chooses.
std::vector<Target> MeasureSelection(const VerdictOptions& options);
// Logs with little support for a policy: false passes of guardrails, coverage
// of rows by rank, and power with full support.
std::vector<Target> MeasureSupport(const VerdictOptions& options);
// Intervals at small click rates: width and coverage.
std::vector<Target> MeasureRates(const VerdictOptions& options);
// Rollouts with probes, censoring, and tuples that are removed or joined again:
// how they end, compared with the rule that recomputed its evidence.
std::vector<Target> MeasureRollouts(const VerdictOptions& options);
// Metrics of rankings with ties, from files sorted by label.
std::vector<Target> MeasureTies(const VerdictOptions& options);

}  // namespace sortition
