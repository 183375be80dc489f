// Time of aggregating score lists, and figures of the Lovász-Bregman paper.
//
// Also times the divergence of one list from an order.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "bench/papers/aggregation_figures.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/aggregation/aggregate.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "process/threads.h"

ABSL_FLAG(size_t, items, 1'000'000, "candidates to aggregate");
ABSL_FLAG(size_t, sources, 20, "score lists to aggregate");
ABSL_FLAG(int, repetitions, 15, "runs of each; the fastest counts");
ABSL_FLAG(std::string, figures, "", "directory for figures 1 to 3, as SVG");

namespace sortition {
namespace {

constexpr size_t kDivergenceItems = 100'000;

std::vector<double> RandomScores(size_t count) {
  const CounterRandom random(SeedKey(1));
  std::vector<double> scores(count);
  random.UniformBlocks(0, scores);
  return scores;
}

double Seconds(const std::function<void()>& run) {
  const double start = WallSeconds();
  run();
  return WallSeconds() - start;
}

double FastestSeconds(const std::function<void()>& run) {
  double fastest = HUGE_VAL;
  for (int i = 0; i < absl::GetFlag(FLAGS_repetitions); ++i) {
    fastest = std::min(fastest, Seconds(run));
  }
  return fastest;
}

// Returns the exponent of growth from an eighth of `items` to all of them. All
// sizes take turns, so that whatever else the machine does affects all of them.
double Exponent(size_t items,
                const std::function<std::function<void()>(size_t)>& make_run) {
  const std::vector<size_t> sizes = {items / 8, items / 4, items / 2, items};
  std::vector<std::function<void()>> runs;
  for (const size_t n : sizes) runs.push_back(make_run(n));
  std::vector<double> fastest(sizes.size(), HUGE_VAL);
  for (int round = 0; round < absl::GetFlag(FLAGS_repetitions); ++round) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      fastest[i] = std::min(fastest[i], Seconds(runs[i]));
    }
  }
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < sizes.size(); ++i) {
    points.emplace_back(sizes[i], fastest[i]);
    absl::PrintF("  %9d items: %9.3f ms\n", sizes[i], 1e3 * fastest[i]);
  }
  return GrowthExponent(points);
}

std::function<void()> AggregateRun(const std::vector<double>& scores,
                                   size_t items, ScoreScale scale,
                                   const ParallelFor& parallel_for) {
  const ScoreLists lists = {
      std::span(scores).first(items * absl::GetFlag(FLAGS_sources)), items, {}};
  return [=] { Aggregate(lists, scale, parallel_for); };
}

void AddAggregateTargets(const std::vector<double>& scores,
                         std::vector<Target>* targets) {
  const size_t items = absl::GetFlag(FLAGS_items);
  const auto seconds = [&](ScoreScale scale, const ParallelFor& parallel_for) {
    return FastestSeconds(AggregateRun(scores, items, scale, parallel_for));
  };
  const std::string size = absl::StrFormat("%d items x %d sources", items,
                                           absl::GetFlag(FLAGS_sources));
  const ParallelFor all_threads =
      OnThreads(std::max(1u, std::thread::hardware_concurrency()));
  const double one = seconds(ScoreScale::kMinMax, SerialFor);
  absl::PrintF("%s: one thread %.3f s, all threads %.3f s; by rank %.3f s\n",
               size, one, seconds(ScoreScale::kMinMax, all_threads),
               seconds(ScoreScale::kRank, all_threads));
  targets->push_back({"Aggregate " + size + ", one thread, s", one, 0.5});
  targets->push_back({"Aggregate, growth exponent",
                      Exponent(items,
                               [&](size_t n) {
                                 return AggregateRun(
                                     scores, n, ScoreScale::kMinMax, SerialFor);
                               }),
                      1.1});
}

// Computes the divergence of the first scores from the order of the last.
std::function<void()> DivergenceRun(const std::vector<double>& scores,
                                    size_t n) {
  return [f = std::shared_ptr(CardinalityFunction::AllPairs(n)),
          x = std::span(scores).first(n),
          order = OrderOf(std::span(scores).last(n))] {
    CHECK(f->Divergence(x, order) > 0);
  };
}

void AddDivergenceTargets(const std::vector<double>& scores,
                          std::vector<Target>* targets) {
  targets->push_back(
      {absl::StrFormat("|S||V-S| divergence of %d items, ms", kDivergenceItems),
       1e3 * FastestSeconds(DivergenceRun(scores, kDivergenceItems)), 50});
  targets->push_back(
      {"Divergence, growth exponent",
       Exponent(kDivergenceItems,
                [&](size_t n) { return DivergenceRun(scores, n); }),
       1.1});
  // These sizes exceed the caches.
  const double beyond = Exponent(
      8 * kDivergenceItems, [&](size_t n) { return DivergenceRun(scores, n); });
  absl::PrintF("Divergence beyond the caches, growth exponent: %.3f\n", beyond);
}

absl::StatusOr<std::vector<Target>> Run() {
  const std::vector<double> scores = RandomScores(std::max<size_t>(
      absl::GetFlag(FLAGS_items) * absl::GetFlag(FLAGS_sources), 1'600'000));
  std::vector<Target> targets;
  AddAggregateTargets(scores, &targets);
  AddDivergenceTargets(scores, &targets);
  const std::string figures = absl::GetFlag(FLAGS_figures);
  if (!figures.empty()) RETURN_IF_ERROR(DrawAggregationFigures(figures));
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv, "Times score aggregation and draws the figures of its paper.",
      sortition::Run);
}
