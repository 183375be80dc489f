#pragma once
// Latencies of a server beside those of an echo, under the same open load.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/support/report.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

struct LatencyOptions {
  int channels = 4;
  double seconds = 2;
  int pairs = 3;
};

// One server and the echo at a share of what the server can do.
struct LatencyComparison {
  std::string name;
  double share = 0.25;
  double requests_per_second = 0;
  int port = 0;
  int echo_port = 0;
  // Milliseconds, ascending, of all pairs.
  std::vector<double> latencies = {};
  std::vector<double> echo_latencies = {};
  double p99_ratio = 0;  // Median over the pairs; NaN: not measured.

  bool is_measured() const {
    return !latencies.empty() && !echo_latencies.empty();
  }
};

// Fills `comparison`.
absl::Status MeasureLatencies(const v1::RankRequest& request,
                              const LatencyOptions& options,
                              LatencyComparison* comparison);

void PrintLatencies(const std::vector<LatencyComparison>& comparisons);
std::vector<Target> LatencyTargets(
    const std::vector<LatencyComparison>& comparisons);
std::string LatenciesJson(const std::vector<LatencyComparison>& comparisons);
// Returns a picture of percentiles as SVG.
std::string DrawLatencies(const std::vector<LatencyComparison>& comparisons);

}  // namespace sortition
