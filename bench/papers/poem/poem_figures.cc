#include "bench/papers/poem/poem_figures.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/chart.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// One figure: methods beside h0, for several values of one option of the log.
struct Sweep {
  std::string file;
  std::string title;
  std::string x_label;
  std::vector<double> x;
  void (*apply)(double x, Repetition* repetition);
};

std::vector<Sweep> Sweeps(bool all_replays) {
  std::vector<double> replays = {1, 2, 4, 8, 16};
  if (all_replays) replays.insert(replays.end(), {32, 64, 128, 256});
  return {
      {"figure1.svg", "More tuples", "replay count", replays,
       [](double x, Repetition* repetition) {
         repetition->replays = static_cast<uint32_t>(x);
       }},
      {"figure2.svg",
       "A better logging policy",
       "share of the data that h0 is fitted to",
       {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1},
       [](double x, Repetition* repetition) { repetition->fraction = x; }},
      {"figure3.svg",
       "A less stochastic logging policy",
       "alpha",
       {0.5, 1, 2, 4, 8, 16, 32},
       [](double x, Repetition* repetition) {
         repetition->inverse_temperature = x;
       }},
  };
}

// A method is at most a standard error worse than h0 in the same runs.
Target NotWorseThanH0(const std::string& point, const MethodLosses& method,
                      const std::vector<double>& h0) {
  Moments differences;
  for (size_t r = 0; r < h0.size(); ++r) {
    differences.Add(method.losses.expected[r] - h0[r]);
  }
  return {absl::StrCat(point, ": ", method.name,
                       " above h0, limit one standard error"),
          differences.mean(),
          std::sqrt(differences.variance() /
                    static_cast<double>(differences.count()))};
}

absl::Status Draw(const Sweep& sweep, const std::string& name,
                  const LabelData& data, const Repetition& given,
                  const std::string& dir, std::vector<Target>* targets) {
  const std::vector<Method> methods = {
      Poem(Protocol::kBest, PoemOptions::STOCHASTIC), PoemNearParent(),
      NormPoem()};
  Chart chart{.title = absl::StrCat(name, ": ", sweep.title),
              .x_label = sweep.x_label,
              .y_label = "expected Hamming loss, test set",
              .x = sweep.x,
              .series = {{"h0", {}}, {"h0 MAP", {}}}};
  for (const Method& method : methods) {
    chart.series.push_back({method.name, {}});
  }
  for (const double x : sweep.x) {
    Repetition repetition = given;
    sweep.apply(x, &repetition);
    ASSIGN_OR_RETURN(const Results results,
                     RunAll(data, repetition, methods, false));
    const auto& logging = results.logging[static_cast<size_t>(Protocol::kBest)];
    std::vector<std::vector<double>> values = {logging.expected, logging.map};
    std::string line = absl::StrFormat("%s %g", sweep.x_label, x);
    for (const MethodLosses& method : results.methods) {
      values.push_back(method.losses.expected);
      targets->push_back(NotWorseThanH0(line, method, logging.expected));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      chart.series[i].y.push_back(Mean(values[i]));
      absl::StrAppendFormat(&line, "%s %s %s", i > 0 ? "," : ":",
                            chart.series[i].name, MeanAndError(values[i]));
    }
    std::puts(line.c_str());
    std::fflush(stdout);
  }
  return DrawChart(chart, absl::StrCat(dir, "/", sweep.file));
}

}  // namespace

absl::StatusOr<std::vector<Target>> DrawFigures(const std::string& name,
                                                const LabelData& data,
                                                const Repetition& repetition,
                                                bool all_replays,
                                                const std::string& dir) {
  std::vector<Target> targets;
  for (const Sweep& sweep : Sweeps(all_replays)) {
    RETURN_IF_ERROR(Draw(sweep, name, data, repetition, dir, &targets));
  }
  return targets;
}

}  // namespace sortition
