#include "bench/support/micro_benchmarks.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <limits>
#include <memory>

#include "bench/support/statistics.h"

namespace sortition {
namespace {

constexpr absl::string_view kMicroseconds = "microseconds";

// Keeps the figures that it passes on to the reporter of --benchmark_format.
class KeepingReporter : public benchmark::BenchmarkReporter {
 public:
  explicit KeepingReporter(MicroBenchmarkResults* results)
      : display_(benchmark::CreateDefaultDisplayReporter()),
        results_(results) {}

  bool ReportContext(const Context& context) override {
    return display_->ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      std::map<std::string, double> counters;
      for (const auto& [name, counter] : run.counters) {
        counters[name] = counter.value;
      }
      results_->Add(run.benchmark_name(),
                    1e6 * run.GetAdjustedCPUTime() /
                        benchmark::GetTimeUnitMultiplier(run.time_unit),
                    counters);
    }
    display_->ReportRuns(runs);
  }
  void Finalize() override { display_->Finalize(); }

 private:
  const std::unique_ptr<benchmark::BenchmarkReporter> display_;
  MicroBenchmarkResults* const results_;
};

bool HasFilter() {
  const std::string filter = benchmark::GetBenchmarkFilter();
  return !filter.empty() && filter != "all";
}

}  // namespace

void MicroBenchmarkResults::Add(const std::string& run, double microseconds,
                                const std::map<std::string, double>& counters) {
  auto& figures = figures_[run];
  figures[std::string(kMicroseconds)].push_back(microseconds);
  for (const auto& [name, value] : counters) figures[name].push_back(value);
}

double MicroBenchmarkResults::Microseconds(const std::string& run) const {
  return Figure(run, std::string(kMicroseconds));
}

double MicroBenchmarkResults::Counter(const std::string& run,
                                      const std::string& counter) const {
  return Figure(run, counter);
}

double MicroBenchmarkResults::Figure(const std::string& run,
                                     const std::string& name) const {
  const auto found = figures_.find(run);
  if (found == figures_.end() || !found->second.contains(name)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return MedianOf(found->second.at(name));
}

int RunMicroBenchmarks(
    int argc, char** argv, absl::string_view description,
    std::vector<Target> (*make_targets)(const MicroBenchmarkResults&)) {
  benchmark::Initialize(&argc, argv);
  return RunBenchmark(argc, argv, description, [&]() -> absl::StatusOr<Report> {
    MicroBenchmarkResults results;
    KeepingReporter reporter(&results);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    std::vector<Target> targets = make_targets(results);
    if (HasFilter()) {
      std::erase_if(targets, [](const Target& target) {
        return std::isnan(target.measured);
      });
    }
    return targets;
  });
}

}  // namespace sortition
