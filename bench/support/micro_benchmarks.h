#pragma once
// Derives targets from what Google Benchmark measures.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/support/report.h"

namespace sortition {

// Figures by the name of a run, such as "Dcg/100". With several repetitions
// they are medians.
class MicroBenchmarkResults {
 public:
  // Adds one repetition: CPU time of an iteration, and its counters.
  void Add(const std::string& run, double microseconds,
           const std::map<std::string, double>& counters);

  // Returns the CPU time of an iteration; NaN for a run that did not take
  // place.
  double Microseconds(const std::string& run) const;
  double Counter(const std::string& run, const std::string& counter) const;

 private:
  double Figure(const std::string& run, const std::string& name) const;

  std::map<std::string, std::map<std::string, std::vector<double>>> figures_;
};

// The main function of a benchmark of registered BENCHMARK()s: RunBenchmark()
// with the targets that `make_targets` derives. With --benchmark_filter it
// reports only the targets whose runs took place.
int RunMicroBenchmarks(
    int argc, char** argv, absl::string_view description,
    std::vector<Target> (*make_targets)(const MicroBenchmarkResults&));

}  // namespace sortition
