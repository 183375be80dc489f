// Time to aggregate score lists and to compare one with an order; figures of
// the Lovász-Bregman paper.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "Eigen/Dense"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_format.h"
#include "bench/aggregation_figures.h"
#include "bench/report.h"
#include "core/aggregation/aggregate.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

ABSL_FLAG(size_t, items, 1'000'000, "candidates that are aggregated");
ABSL_FLAG(size_t, sources, 20, "score lists of them");
ABSL_FLAG(int, repetitions, 5, "runs of each; the fastest counts");
ABSL_FLAG(std::string, figures, "", "directory for figures 1 to 3, as SVG");

namespace sortition {
namespace {

std::vector<double> RandomScores(size_t count) {
  const CounterRandom random(SeedKey(1));
  std::vector<double> scores(count);
  random.UniformBlocks(0, scores);
  return scores;
}

void ParallelThreads(size_t count, const std::function<void(size_t)>& body) {
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (size_t i = t; i < count; i += threads) body(i);
    });
  }
}

double FastestSeconds(const std::function<void()>& run) {
  double fastest = HUGE_VAL;
  for (int i = 0; i < absl::GetFlag(FLAGS_repetitions); ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    fastest = std::min(fastest, std::chrono::duration<double>(
                                    std::chrono::steady_clock::now() - start)
                                    .count());
  }
  return fastest;
}

// Slope of log seconds by log size.
double Exponent(const std::vector<size_t>& sizes,
                const std::function<double(size_t)>& seconds) {
  Eigen::MatrixXd design(sizes.size(), 2);
  Eigen::VectorXd logs(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    design.row(row) << 1, std::log(static_cast<double>(sizes[i]));
    logs(row) = std::log(seconds(sizes[i]));
    std::printf("  %9zu items: %9.3f ms\n", sizes[i],
                1e3 * std::exp(logs(row)));
  }
  return (design.transpose() * design)
      .inverse()
      .
      operator*(design.transpose() * logs)(1);
}

double AggregateSeconds(const std::vector<double>& scores, size_t items,
                        ScoreScale scale, const ParallelFor& parallel_for) {
  const ScoreLists lists = {
      std::span(scores).first(items * absl::GetFlag(FLAGS_sources)), items, {}};
  return FastestSeconds([&] { Aggregate(lists, scale, parallel_for); });
}

absl::StatusOr<std::vector<Target>> Run() {
  std::vector<Target> targets;
  const size_t items = absl::GetFlag(FLAGS_items);
  const size_t sources = absl::GetFlag(FLAGS_sources);
  const std::vector<double> scores = RandomScores(items * sources);
  const std::string size =
      absl::StrFormat("%d items x %d sources", items, sources);
  const double one =
      AggregateSeconds(scores, items, ScoreScale::kMinMax, SerialFor);
  targets.push_back({"Aggregate " + size + ", one thread, s", one, 0.5});
  std::printf(
      "%s: one thread %.3f s, all threads %.3f s; by rank %.3f s\n",
      size.c_str(), one,
      AggregateSeconds(scores, items, ScoreScale::kMinMax, ParallelThreads),
      AggregateSeconds(scores, items, ScoreScale::kRank, ParallelThreads));
  targets.push_back({"Aggregate, growth exponent",
                     Exponent({items / 8, items / 4, items / 2, items},
                              [&](size_t n) {
                                return AggregateSeconds(
                                    scores, n, ScoreScale::kMinMax, SerialFor);
                              }),
                     1.1});
  const auto divergence_seconds = [&](size_t n) {
    const auto f = CardinalityFunction::AllPairs(n);
    const std::span<const double> x = std::span(scores).first(n);
    const Order order = OrderOf(std::span(scores).last(n));
    double sum = 0;
    const double seconds =
        FastestSeconds([&] { sum += f->Divergence(x, order); });
    CHECK(sum > 0);
    return seconds;
  };
  targets.push_back({"|S||V-S| divergence of 1e5 items, ms",
                     1e3 * divergence_seconds(100'000), 50});
  targets.push_back(
      {"Divergence, growth exponent",
       Exponent({100'000, 200'000, 400'000, 800'000}, divergence_seconds),
       1.1});
  const std::string figures = absl::GetFlag(FLAGS_figures);
  if (!figures.empty()) RETURN_IF_ERROR(DrawAggregationFigures(figures));
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Times and figures of score aggregation.");
  absl::ParseCommandLine(argc, argv);
  return sortition::PrintTargets(sortition::Run());
}
