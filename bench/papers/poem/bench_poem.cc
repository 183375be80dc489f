// Tables 3, 4 and 5 and figures 1 to 3 of the POEM paper for one data set.
//
// Multi-label classification from bandit feedback [SwaminathanJoachims15, sec.
// 6]: the paper's figures beside ours by its text, by the protocol of its
// authors' program, and at best.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/papers/poem/poem_figures.h"
#include "bench/papers/poem/poem_results.h"
#include "bench/papers/poem/poem_runs.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, train, "", "multi-label SVMlight file to learn from");
ABSL_FLAG(std::string, test, "", "multi-label SVMlight file to measure on");
ABSL_FLAG(std::string, name, "",
          "scene, yeast, tmc or lyrl: the data set whose published figures are "
          "printed beside ours; empty: from the file name of --train");
ABSL_FLAG(std::vector<std::string>, parts,
          std::vector<std::string>({"paper", "variants", "steps", "newer"}),
          "paper: the methods of the paper; variants: POEM(S) with the update "
          "of sec. 5.3, and short descents; steps: IPS(S) and POEM(S) with "
          "equal grids of step sizes; newer: objectives since 2015");
ABSL_FLAG(std::vector<std::string>, protocols,
          std::vector<std::string>({"text", "authors", "best"}),
          "text: as the paper describes it; authors: as the program of its "
          "authors does it; best: ours, from the logs of authors");
ABSL_FLAG(std::vector<std::string>, rows, {},
          "the methods of these parts to measure, by name; empty: all");
ABSL_FLAG(int, runs, 10, "runs, each with its own logging policy and log");
ABSL_FLAG(double, fraction, 0.05, "share of the contexts that h0 is fitted to");
ABSL_FLAG(double, temperature, 1, "alpha of h0, a factor of its scores");
ABSL_FLAG(int, replays, 4, "passes over the contexts");
ABSL_FLAG(std::string, figures, "",
          "draw figures 1 to 3 as SVG in this directory instead of the tables");
ABSL_FLAG(bool, full, false,
          "draw figure 1 up to 256 replays; takes hours for some data");
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

Repetition RepetitionFromFlags() {
  return {.runs = absl::GetFlag(FLAGS_runs),
          .threads = absl::GetFlag(FLAGS_threads),
          .fraction = absl::GetFlag(FLAGS_fraction),
          .inverse_temperature = absl::GetFlag(FLAGS_temperature),
          .replays = static_cast<uint32_t>(absl::GetFlag(FLAGS_replays))};
}

absl::Status AddPart(const std::string& part, std::vector<Method>* methods) {
  if (part == "paper") {
    for (const auto protocol :
         {Protocol::kText, Protocol::kAuthors, Protocol::kBest}) {
      for (const auto optimiser :
           {PoemOptions::BATCH, PoemOptions::STOCHASTIC}) {
        methods->push_back(Ips(protocol, optimiser));
        methods->push_back(Poem(protocol, optimiser));
      }
    }
    methods->push_back(PoemNearParent());
  } else if (part == "variants") {
    methods->push_back(PoemOfSection53());
    for (Method& method : ShortDescents()) {
      methods->push_back(std::move(method));
    }
  } else if (part == "steps") {
    for (const auto protocol : {Protocol::kAuthors, Protocol::kBest}) {
      methods->push_back(WithSteps(Ips(protocol, PoemOptions::STOCHASTIC)));
      methods->push_back(WithSteps(Poem(protocol, PoemOptions::STOCHASTIC)));
    }
    methods->push_back(WithSteps(PoemOfSection53()));
  } else if (part == "newer") {
    for (Method& method : NewerMethods()) methods->push_back(std::move(method));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "parts has '", part, "', must be paper, variants, steps or newer"));
  }
  return absl::OkStatus();
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsWanted(const std::string& row) {
  const auto rows = absl::GetFlag(FLAGS_rows);
  return rows.empty() || Has(rows, row);
}

// Leaves the methods that the flags name.
void Select(std::vector<Method>* methods) {
  const auto protocols = absl::GetFlag(FLAGS_protocols);
  std::erase_if(*methods, [&](const Method& method) {
    return !Has(protocols, ProtocolName(method.protocol)) ||
           !IsWanted(method.name);
  });
}

absl::StatusOr<std::vector<Target>> Run() {
  if (absl::GetFlag(FLAGS_train).empty() || absl::GetFlag(FLAGS_test).empty()) {
    return absl::InvalidArgumentError(
        "train and test must be given: multi-label SVMlight files");
  }
  if (absl::GetFlag(FLAGS_runs) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "runs is ", absl::GetFlag(FLAGS_runs), ", must be at least 2"));
  }
  ASSIGN_OR_RETURN(
      const LabelData data,
      ReadLabelData(absl::GetFlag(FLAGS_train), absl::GetFlag(FLAGS_test)));
  const Repetition repetition = RepetitionFromFlags();
  if (const std::string figures = absl::GetFlag(FLAGS_figures);
      !figures.empty()) {
    return DrawFigures(DataName(), data, repetition, absl::GetFlag(FLAGS_full),
                       figures);
  }
  std::vector<Method> methods;
  bool with_skyline = false;
  for (const std::string& part : absl::GetFlag(FLAGS_parts)) {
    RETURN_IF_ERROR(AddPart(part, &methods));
    with_skyline |= part == "paper" && IsWanted("CRF");
  }
  Select(&methods);
  ASSIGN_OR_RETURN(const Results results,
                   RunAll(data, repetition, methods, with_skyline));
  std::fputs(FormatTable(DataName(), results).c_str(), stdout);
  std::fputs(FormatPairedTests(results).c_str(), stdout);
  return ReplicationTargets(DataName(), results);
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Learns sets of labels from bandit feedback, as the POEM paper does.",
      sortition::Run);
}
