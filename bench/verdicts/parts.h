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
// coverage of estimates with --arms=auto, and width where returns are equal.
std::vector<Target> MeasureArms(const VerdictOptions& options);
// Files of complaints that end before the log does: false passes of guardrails.
std::vector<Target> MeasureOutcomes(const VerdictOptions& options);
// Simulated sharp logs: how good the policies are that `train` chooses.
std::vector<Target> MeasureSelection(const VerdictOptions& options);
// Logs that hardly ever tried what a policy does: false passes of guardrails,
// coverage of rows by rank, and power where nothing is missing.
std::vector<Target> MeasureSupport(const VerdictOptions& options);
// Intervals at small click rates: width and coverage.
std::vector<Target> MeasureRates(const VerdictOptions& options);
// Rollouts with probes, censoring, and tuples that are removed or joined anew:
// how they end, beside the rule that recomputed its evidence.
std::vector<Target> MeasureRollouts(const VerdictOptions& options);
// Metrics of rankings with ties, from files that are sorted by label.
std::vector<Target> MeasureTies(const VerdictOptions& options);

}  // namespace sortition
