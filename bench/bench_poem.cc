// Multi-label classification from bandit feedback [SwaminathanJoachims15, sec.
// 6]: tables 3, 4 and 5 and figures 1 to 3 for one data set, beside the paper's
// figures.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/chart.h"
#include "bench/label_experiment.h"
#include "bench/learning_methods.h"
#include "bench/paired_test.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, train, "", "multi-label SVMlight file to learn from");
ABSL_FLAG(std::string, test, "", "multi-label SVMlight file to measure on");
ABSL_FLAG(std::string, name, "",
          "scene, yeast, tmc or lyrl: prints the paper's figures beside; "
          "empty: what the name of --train begins with");
ABSL_FLAG(int, runs, 10, "runs, each with its own logging policy and log");
ABSL_FLAG(double, fraction, 0.05, "share of the contexts that h0 is fitted to");
ABSL_FLAG(double, logging_l2, 0.09, "L2 weight of h0's fit");
ABSL_FLAG(double, temperature, 1, "alpha of h0: multiplies its scores");
ABSL_FLAG(int, replays, 4, "passes over the contexts");
ABSL_FLAG(bool, logging_only, false, "measure h0 alone: to choose its options");
ABSL_FLAG(std::string, figures, "",
          "write figures 1 to 3 as SVG to this directory");
ABSL_FLAG(bool, full, false,
          "figures with 10 runs and up to 256 replays; hours for some data");
ABSL_FLAG(int, threads, 2, "runs at once");

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Tables 3 (expected loss), 4 (seconds) and 5 (MAP) of the paper.
struct Published {
  std::map<std::string, double> expected;
  std::map<std::string, double> seconds;
  std::map<std::string, double> map;
};

const Published* PublishedFor(const std::string& name) {
  static const auto& all = *new std::map<std::string, Published>{
      {"scene",
       {{{"h0", 1.543},
         {"IPS(B)", 1.193},
         {"POEM(B)", 1.168},
         {"IPS(S)", 1.519},
         {"POEM(S)", 1.143}},
        {{"IPS(B)", 2.58},
         {"POEM(B)", 75.20},
         {"IPS(S)", 1.65},
         {"POEM(S)", 4.71}},
        {{"POEM(S)", 1.143}}}},
      {"yeast",
       {{{"h0", 5.547},
         {"IPS(B)", 4.635},
         {"POEM(B)", 4.480},
         {"IPS(S)", 4.614},
         {"POEM(S)", 4.517}},
        {{"IPS(B)", 47.61},
         {"POEM(B)", 94.16},
         {"IPS(S)", 2.86},
         {"POEM(S)", 5.02}},
        {{"POEM(S)", 4.065}}}},
      {"tmc",
       {{{"h0", 3.445},
         {"IPS(B)", 2.808},
         {"POEM(B)", 2.197},
         {"IPS(S)", 3.023},
         {"POEM(S)", 2.522}},
        {{"IPS(B)", 136.34},
         {"POEM(B)", 949.95},
         {"IPS(S)", 49.12},
         {"POEM(S)", 276.13}},
        {{"POEM(S)", 2.299}}}},
      {"lyrl",
       {{{"h0", 1.463},
         {"IPS(B)", 0.921},
         {"POEM(B)", 0.918},
         {"IPS(S)", 1.118},
         {"POEM(S)", 0.996}},
        {{"IPS(B)", 21.01},
         {"POEM(B)", 561.12},
         {"IPS(S)", 13.66},
         {"POEM(S)", 120.09}},
        {{"POEM(S)", 0.880}}}},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

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

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// By run.
struct Losses {
  std::vector<double> expected;
  std::vector<double> map;
};

struct MethodLosses {
  std::array<Losses, kNumCriteria> by_criterion;
  std::vector<double> seconds;
};

struct Results {
  Losses logging;
  std::vector<MethodLosses> methods;
};

// All runs of `methods`, several at once; the result does not depend on how
// many.
absl::StatusOr<Results> RunAll(const LabelData& data, const LogOptions& options,
                               const std::vector<Method>& methods, int runs) {
  struct Run {
    absl::Status status;
    HammingLosses logging;
    std::vector<Learnt> learnt;
  };
  std::vector<Run> done(runs);
  const auto execute = [&](int r) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<LabelLog> log,
                     LabelLog::Draw(data, options, r));
    done[r].logging = log->logging();
    for (const Method& method : methods) {
      ASSIGN_OR_RETURN(const Learnt learnt, Learn(method, log.get()));
      done[r].learnt.push_back(learnt);
    }
    return absl::OkStatus();
  };
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < absl::GetFlag(FLAGS_threads); ++t) {
    threads.emplace_back([&] {
      for (int r = next++; r < runs; r = next++) {
        done[r].status = execute(r);
        std::fprintf(stderr, ".");
      }
    });
  }
  threads.clear();  // Joins.
  std::fprintf(stderr, "\n");

  Results results;
  results.methods.resize(methods.size());
  for (const Run& run : done) {
    RETURN_IF_ERROR(run.status);
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

std::string Cell(const std::map<std::string, double>& values,
                 const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "-" : absl::StrFormat("%.3f", found->second);
}

void PrintTable(const std::vector<Method>& methods, const Results& results) {
  static const Published& none = *new Published;
  const Published* published = PublishedFor(DataName());
  if (published == nullptr) published = &none;
  std::string text = absl::StrFormat(
      "%s, %d runs; expected and MAP Hamming loss on the test set, by what "
      "validates\n%-10s | %8s %8s | %8s %8s | %8s %8s | %8s %8s\n%-10s | %17s "
      "| %17s | %17s | %17s\n",
      DataName(), results.logging.expected.size(), "", "expected", "MAP",
      "expected", "MAP", "expected", "MAP", "seconds", "paper", "",
      "self-normalised", "eq. 1", "paper", "a fit");
  absl::StrAppendFormat(&text, "%-10s | %8.3f %8.3f | %8s %8s | %8s %8s |\n",
                        "h0", Mean(results.logging.expected),
                        Mean(results.logging.map), "", "",
                        Cell(published->expected, "h0"), "-");
  for (size_t m = 0; m < methods.size(); ++m) {
    const std::string& name = methods[m].name;
    const MethodLosses& losses = results.methods[m];
    const Losses& chosen = losses.by_criterion[kSelfNormalised];
    const Losses& unbiased = losses.by_criterion[kUnbiased];
    absl::StrAppendFormat(
        &text, "%-10s | %8.3f %8.3f | %8.3f %8.3f | %8s %8s | %8.3f %8s\n",
        name, Mean(chosen.expected), Mean(chosen.map), Mean(unbiased.expected),
        Mean(unbiased.map), Cell(published->expected, name),
        Cell(published->map, name), Mean(losses.seconds),
        Cell(published->seconds, name));
  }
  std::fputs(text.c_str(), stdout);
}

void PrintTests(const Results& results) {
  constexpr const char* kNames[] = {"eq. 1", "self-normalised"};
  for (const size_t k : {size_t{kSelfNormalised}, size_t{kUnbiased}}) {
    for (const size_t ips : {size_t{0}, size_t{2}}) {
      const PairedTest test =
          TestPairs(results.methods[ips].by_criterion[k].expected,
                    results.methods[ips + 1].by_criterion[k].expected);
      std::fputs(
          absl::StrFormat("IPS - POEM (%s), %s: t %.2f, one-tailed p "
                          "%.2g\n",
                          ips == 0 ? "B" : "S", kNames[k], test.t, test.p)
              .c_str(),
          stdout);
    }
  }
}

absl::Status Tables(const LabelData& data) {
  std::vector<Method> methods = {
      Ips(PoemOptions::BATCH), Poem(PoemOptions::BATCH),
      Ips(PoemOptions::STOCHASTIC), Poem(PoemOptions::STOCHASTIC)};
  for (Method& method : NewerMethods()) methods.push_back(std::move(method));
  ASSIGN_OR_RETURN(
      const Results results,
      RunAll(data, LogOptionsFromFlags(), methods, absl::GetFlag(FLAGS_runs)));
  PrintTable(methods, results);
  if (absl::GetFlag(FLAGS_runs) > 1) PrintTests(results);
  return absl::OkStatus();
}

// One figure: POEM(S) and Norm-POEM beside h0 as one option of the log changes.
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
       [](double x, LogOptions* options) { options->fraction = x; }},
      {"figure3.svg",
       "A less stochastic logging policy",
       "alpha",
       {0.5, 1, 2, 4, 8, 16, 32},
       [](double x, LogOptions* options) { options->inverse_temperature = x; }},
  };
}

absl::Status Draw(const Sweep& sweep, const LabelData& data,
                  const std::string& dir) {
  std::vector<Method> methods = {Poem(PoemOptions::STOCHASTIC)};
  methods.push_back(NewerMethods()[0]);
  Chart chart{.title = absl::StrCat(DataName(), ": ", sweep.title),
              .x_label = sweep.x_label,
              .y_label = "expected Hamming loss, test set",
              .x = sweep.x,
              .series = {{"h0", {}},
                         {"h0 MAP", {}},
                         {methods[0].name, {}},
                         {methods[1].name, {}}}};
  for (const double x : sweep.x) {
    LogOptions options = LogOptionsFromFlags();
    sweep.apply(x, &options);
    ASSIGN_OR_RETURN(
        const Results results,
        RunAll(data, options, methods, absl::GetFlag(FLAGS_full) ? 10 : 4));
    const std::vector<double> means = {
        Mean(results.logging.expected), Mean(results.logging.map),
        Mean(results.methods[0].by_criterion[kSelfNormalised].expected),
        Mean(results.methods[1].by_criterion[kSelfNormalised].expected)};
    for (size_t i = 0; i < means.size(); ++i) {
      chart.series[i].y.push_back(means[i]);
    }
    std::fputs(
        absl::StrFormat("%s %8g: h0 %.3f, its MAP %.3f, %s %.3f, %s %.3f\n",
                        sweep.x_label, x, means[0], means[1], methods[0].name,
                        means[2], methods[1].name, means[3])
            .c_str(),
        stdout);
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

absl::Status Run() {
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
    PrintTable({}, results);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Tables(data));
  const std::string figures = absl::GetFlag(FLAGS_figures);
  return figures.empty() ? absl::OkStatus() : Figures(data, figures);
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Learns sets of labels from bandit feedback, as the paper of POEM does.");
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = sortition::Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
