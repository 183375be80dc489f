// Tables 3, 4 and 5 and figures 1 to 3 of the POEM paper for one data set.
//
// Multi-label classification from bandit feedback [SwaminathanJoachims15, sec.
// 6], with the paper's figures beside ours.
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/papers/poem/label_experiment.h"
#include "bench/papers/poem/learning_methods.h"
#include "bench/papers/poem/poem_results.h"
#include "bench/support/chart.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, train, "", "multi-label SVMlight file to learn from");
ABSL_FLAG(std::string, test, "", "multi-label SVMlight file to measure on");
ABSL_FLAG(std::string, name, "",
          "scene, yeast, tmc or lyrl: the data set whose published figures are "
          "printed beside ours; empty: from the file name of --train");
ABSL_FLAG(int, runs, 10, "runs, each with its own logging policy and log");
ABSL_FLAG(double, fraction, 0.05, "share of the contexts that h0 is fitted to");
ABSL_FLAG(double, logging_l2, 0.09, "L2 weight of h0's fit");
ABSL_FLAG(double, temperature, 1, "alpha of h0, a factor of its scores");
ABSL_FLAG(int, replays, 4, "passes over the contexts");
ABSL_FLAG(bool, standardise, false, "train with PoemOptions.standardise");
ABSL_FLAG(bool, scale_losses, false,
          "train with PoemOptions.scale_losses, which the paper does not have");
ABSL_FLAG(bool, logging_only, false, "measure h0 alone, to choose its options");
ABSL_FLAG(std::string, figures, "",
          "write figures 1 to 3 as SVG to this directory");
ABSL_FLAG(
    bool, full, false,
    "draw figures with 10 runs and up to 256 replays; takes hours for some "
    "data");
ABSL_FLAG(int, threads, 2, "runs executed at once");

namespace sortition {
namespace {

using config::v1::PoemOptions;

std::string DataName() {
  if (!absl::GetFlag(FLAGS_name).empty()) return absl::GetFlag(FLAGS_name);
  const std::string file =
      std::filesystem::path(absl::GetFlag(FLAGS_train)).filename();
  return file.substr(0, file.find_first_of("_."));
}

LogOptions LogOptionsFromFlags() {
  return {.fraction = absl::GetFlag(FLAGS_fraction),
          .l2 = absl::GetFlag(FLAGS_logging_l2),
          .inverse_temperature = absl::GetFlag(FLAGS_temperature),
          .replays = static_cast<uint32_t>(absl::GetFlag(FLAGS_replays))};
}

// Runs all `methods`, several runs at once; the result does not depend on how
// many.
absl::StatusOr<Results> RunAll(const LabelData& data, const LogOptions& options,
                               const std::vector<Method>& methods, int runs) {
  struct Run {
    HammingLosses logging;
    std::vector<Learnt> learnt;
  };
  std::vector<Run> done(runs);
  const auto execute = [&](size_t r) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<LabelLog> log,
                     LabelLog::Draw(data, options, static_cast<int>(r)));
    done[r].logging = log->logging();
    for (const Method& method : methods) {
      ASSIGN_OR_RETURN(const Learnt learnt, Learn(method, log.get()));
      done[r].learnt.push_back(learnt);
    }
    std::fprintf(stderr, ".");
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      RunInParallel(done.size(), absl::GetFlag(FLAGS_threads), execute));
  std::fprintf(stderr, "\n");

  Results results;
  results.methods.resize(methods.size());
  for (const Run& run : done) {
    results.logging.expected.push_back(run.logging.expected);
    results.logging.map.push_back(run.logging.map);
    for (size_t m = 0; m < methods.size(); ++m) {
      for (size_t k = 0; k < kNumCriteria; ++k) {
        Losses& losses = results.methods[m].by_criterion[k];
        losses.expected.push_back(run.learnt[m].losses[k].expected);
        losses.map.push_back(run.learnt[m].losses[k].map);
      }
      results.methods[m].seconds.push_back(run.learnt[m].seconds_per_fit);
    }
  }
  return results;
}

void SetUnits(std::vector<Method>* methods) {
  for (Method& method : *methods) {
    method.options.set_standardise(absl::GetFlag(FLAGS_standardise));
    method.options.set_scale_losses(absl::GetFlag(FLAGS_scale_losses));
  }
}

absl::StatusOr<std::vector<Target>> Tables(const LabelData& data) {
  std::vector<Method> methods = {
      Ips(PoemOptions::BATCH), Poem(PoemOptions::BATCH),
      Ips(PoemOptions::STOCHASTIC), Poem(PoemOptions::STOCHASTIC)};
  for (Method& method : NewerMethods()) methods.push_back(std::move(method));
  SetUnits(&methods);
  ASSIGN_OR_RETURN(
      const Results results,
      RunAll(data, LogOptionsFromFlags(), methods, absl::GetFlag(FLAGS_runs)));
  std::fputs(FormatTable(DataName(), methods, results).c_str(), stdout);
  if (absl::GetFlag(FLAGS_runs) < 2) return std::vector<Target>();
  std::fputs(FormatPairedTests(results).c_str(), stdout);
  return ReplicationTargets(DataName(), results);
}

// One figure: POEM(S) and Norm-POEM beside h0, for several values of one option
// of the log.
struct Sweep {
  std::string file;
  std::string title;
  std::string x_label;
  std::vector<double> x;
  void (*apply)(double x, LogOptions* options);
};

std::vector<Sweep> Sweeps() {
  const bool full = absl::GetFlag(FLAGS_full);
  std::vector<double> replays = {1, 2, 4, 8, 16};
  if (full) replays.insert(replays.end(), {32, 64, 128, 256});
  return {
      {"figure1.svg", "More tuples", "replay count", replays,
       [](double x, LogOptions* options) {
         options->replays = static_cast<uint32_t>(x);
       }},
      {"figure2.svg",
       "A better logging policy",
       "share of the data that h0 is fitted to",
       {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1},
       // The paper's penalty is added to the sum over the examples, ours to
       // their mean.
       [](double x, LogOptions* options) {
         options->l2 *= options->fraction / x;
         options->fraction = x;
       }},
      {"figure3.svg",
       "A less stochastic logging policy",
       "alpha",
       {0.5, 1, 2, 4, 8, 16, 32},
       [](double x, LogOptions* options) { options->inverse_temperature = x; }},
  };
}

absl::Status Draw(const Sweep& sweep, const LabelData& data,
                  const std::string& dir) {
  std::vector<Method> methods = {Poem(PoemOptions::STOCHASTIC),
                                 PoemFromBothStarts(), NewerMethods()[0]};
  SetUnits(&methods);
  Chart chart{.title = absl::StrCat(DataName(), ": ", sweep.title),
              .x_label = sweep.x_label,
              .y_label = "expected Hamming loss, test set",
              .x = sweep.x,
              .series = {{"h0", {}}, {"h0 MAP", {}}}};
  for (const Method& method : methods) {
    chart.series.push_back({method.name, {}});
  }
  for (const double x : sweep.x) {
    LogOptions options = LogOptionsFromFlags();
    sweep.apply(x, &options);
    ASSIGN_OR_RETURN(
        const Results results,
        RunAll(data, options, methods, absl::GetFlag(FLAGS_full) ? 10 : 4));
    std::vector<double> means = {Mean(results.logging.expected),
                                 Mean(results.logging.map)};
    for (const MethodLosses& losses : results.methods) {
      means.push_back(Mean(losses.by_criterion[kBounded].expected));
    }
    std::string line = absl::StrFormat("%s %g", sweep.x_label, x);
    for (size_t i = 0; i < means.size(); ++i) {
      chart.series[i].y.push_back(means[i]);
      absl::StrAppendFormat(&line, "%s %s %.3f", i > 0 ? "," : ":",
                            chart.series[i].name, means[i]);
    }
    std::puts(line.c_str());
  }
  return DrawChart(chart, absl::StrCat(dir, "/", sweep.file));
}

absl::Status Figures(const LabelData& data, const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("figures is ", dir, ": ", error.message()));
  }
  for (const Sweep& sweep : Sweeps()) {
    RETURN_IF_ERROR(Draw(sweep, data, dir));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Target>> Run() {
  if (absl::GetFlag(FLAGS_train).empty() || absl::GetFlag(FLAGS_test).empty()) {
    return absl::InvalidArgumentError(
        "train and test must be given: multi-label SVMlight files");
  }
  ASSIGN_OR_RETURN(
      const LabelData data,
      ReadLabelData(absl::GetFlag(FLAGS_train), absl::GetFlag(FLAGS_test)));
  if (absl::GetFlag(FLAGS_logging_only)) {
    ASSIGN_OR_RETURN(
        const Results results,
        RunAll(data, LogOptionsFromFlags(), {}, absl::GetFlag(FLAGS_runs)));
    std::fputs(FormatTable(DataName(), {}, results).c_str(), stdout);
    return std::vector<Target>();
  }
  ASSIGN_OR_RETURN(std::vector<Target> targets, Tables(data));
  if (const std::string figures = absl::GetFlag(FLAGS_figures);
      !figures.empty()) {
    RETURN_IF_ERROR(Figures(data, figures));
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Learns sets of labels from bandit feedback, as the POEM paper does.",
      sortition::Run);
}
