#include "bench/papers/letor/letor_table.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/papers/letor/letor_methods.h"
#include "bench/support/chart.h"
#include "bench/support/clocks.h"
#include "bench/support/letor_folds.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr double kPercent = 100;
// On MQ2008, from table 1 of the paper, which has it from LETOR's site.
constexpr TopNdcg kAdaRank = {38.26, 42.11, 44.20, 46.53, 48.21};

// The result of a method on one fold, at the grid point that is best on the
// validation queries.
struct FoldResult {
  std::string setting;
  double validation = 0;  // Criterion().
  TopNdcg test = {};
  std::vector<double> queries = {};  // Mean of NDCG@1 .. 5 of each test query.
};

struct MethodResult {
  std::string name;
  bool is_crf = false;
  TopNdcg published = {};
  std::array<FoldResult, kNumFolds> folds;
};

absl::StatusOr<FoldResult> RunFold(const LetorMethod& method,
                                   const LetorFold& fold, NdcgKind kind) {
  ASSIGN_OR_RETURN(const std::vector<LetorRanker> rankers,
                   method.train(fold, kind));
  FoldResult best{.setting = "", .validation = -1};
  for (const LetorRanker& ranker : rankers) {
    const double validation = Criterion(fold.validation, ranker.weights, kind);
    if (validation <= best.validation) continue;
    const std::vector<TopNdcg> test =
        JudgeQueries(fold.test, ranker.weights, kind);
    best = {ranker.setting, validation, MeanOverQueries(test), {}};
    for (const TopNdcg& query : test) best.queries.push_back(MeanOver(query));
  }
  return best;
}

absl::StatusOr<std::vector<MethodResult>> RunAll(const LetorFolds& data,
                                                 NdcgKind kind,
                                                 int num_threads) {
  std::vector<LetorMethod> methods = CrfMethods();
  for (LetorMethod& method : LetorBaselines()) {
    methods.push_back(std::move(method));
  }
  std::vector<MethodResult> results;
  for (const LetorMethod& method : methods) {
    results.push_back({method.name, method.is_crf, method.published, {}});
  }
  const auto run = [&](size_t i) -> absl::Status {
    const size_t m = i / kNumFolds;
    const size_t f = i % kNumFolds;
    ASSIGN_OR_RETURN(results[m].folds[f],
                     RunFold(methods[m], data.folds[f], kind));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(methods.size() * kNumFolds, num_threads, run));
  MethodResult random{.name = "random order", .folds = {}};
  for (size_t f = 0; f < kNumFolds; ++f) {
    random.folds[f] = {"", {}, JudgeRandomTop(data.folds[f].test, kind), {}};
  }
  results.push_back(std::move(random));
  return results;
}

// Returns the mean of the folds' means, as LETOR computes it, in percent.
TopNdcg MeanOfFolds(const MethodResult& method) {
  TopNdcg mean = {};
  for (const FoldResult& fold : method.folds) {
    for (size_t k = 0; k < kTopRanks; ++k) {
      mean[k] += kPercent * fold.test[k] / kNumFolds;
    }
  }
  return mean;
}

// Compares the mean of NDCG@1 .. 5, in percent, query by query.
PairedTest TestQueries(const MethodResult& a, const MethodResult& b) {
  std::vector<double> of_a, of_b;
  for (size_t f = 0; f < kNumFolds; ++f) {
    for (const double x : a.folds[f].queries) of_a.push_back(kPercent * x);
    for (const double x : b.folds[f].queries) of_b.push_back(kPercent * x);
  }
  return TestPairs(of_a, of_b);
}

const MethodResult& Find(const std::vector<MethodResult>& results,
                         const std::string& name) {
  for (const MethodResult& method : results) {
    if (method.name == name) return method;
  }
  return results.front();
}

void PrintTable(const std::vector<MethodResult>& results,
                const std::string& title, bool published) {
  const MethodResult& kl = Find(results, "KL");
  absl::PrintF("\n%s\n%-18s", title, "test, mean of folds");
  for (size_t k = 1; k <= kTopRanks; ++k) absl::PrintF("    @%d", k);
  absl::PrintF("    mean   - KL  s.e.%s\n",
               published ? "   published @1-5" : "");
  for (const MethodResult& method : results) {
    absl::PrintF("%-18s ", method.name);
    const TopNdcg test = MeanOfFolds(method);
    for (const double ndcg : test) absl::PrintF(" %5.2f", ndcg);
    absl::PrintF("   %5.2f", MeanOver(test));
    if (&method == &kl || method.folds[0].queries.empty()) {
      absl::PrintF("  %5s  %4s", "", "");
    } else {
      const PairedTest paired = TestQueries(method, kl);
      absl::PrintF("  %+5.2f  %4.2f", paired.difference, paired.standard_error);
    }
    if (published && method.published[0] > 0) {
      absl::PrintF("  ");
      for (const double ndcg : method.published) absl::PrintF(" %5.2f", ndcg);
    }
    absl::PrintF("\n");
  }
  if (!published) return;
  absl::PrintF("%-18s %63s", "AdaRank-NDCG",
               "LETOR's own figures, not run here:");
  for (const double ndcg : kAdaRank) absl::PrintF(" %5.2f", ndcg);
  absl::PrintF("\n");
}

void PrintFolds(const std::vector<MethodResult>& results) {
  absl::PrintF("\nMean of @1-5 by fold, and what validation chose\n");
  for (const MethodResult& method : results) {
    absl::PrintF("%-18s", method.name);
    for (const FoldResult& fold : method.folds) {
      absl::PrintF(" %5.2f (%s)", kPercent * MeanOver(fold.test), fold.setting);
    }
    absl::PrintF("\n");
  }
}

// Makes the targets: KL is at most one standard error of the paired difference
// below every method of another kind; it is at most half a point below the
// paper's figures, by the paper's loss and by that of gains; and baselines
// differ from theirs by at most a point.
std::vector<Target> Compare(const std::vector<MethodResult>& results,
                            const LetorTableOptions& options) {
  constexpr double kEqual = 0.5;
  constexpr double kNear = 1;
  const MethodResult& kl = Find(results, "KL");
  std::vector<Target> targets;
  for (const MethodResult& method : results) {
    if (absl::StartsWith(method.name, "KL") ||
        method.folds[0].queries.empty()) {
      continue;
    }
    const PairedTest paired = TestQueries(kl, method);
    targets.push_back({absl::StrCat(options.name, ", KL above ", method.name,
                                    ", mean of @1-5, limit one standard error "
                                    "below"),
                       paired.difference, -paired.standard_error, true});
  }
  if (!options.published) return targets;
  for (const char* name : {"KL", "KL, gains"}) {
    const TopNdcg ndcg = MeanOfFolds(Find(results, name));
    for (size_t k = 0; k < kTopRanks; ++k) {
      targets.push_back({absl::StrFormat("%s NDCG@%d, within 0.5 of %.2f", name,
                                         k + 1, kl.published[k]),
                         ndcg[k], kl.published[k] - kEqual, true});
    }
  }
  for (const char* name : {"regression", "RankSVM, pairs"}) {
    const MethodResult& method = Find(results, name);
    for (size_t k = 0; k < kTopRanks; ++k) {
      targets.push_back({absl::StrFormat("%s NDCG@%d: distance from %.2f", name,
                                         k + 1, method.published[k]),
                         std::abs(MeanOfFolds(method)[k] - method.published[k]),
                         kNear});
    }
  }
  return targets;
}

absl::Status DrawFigure2(const std::vector<MethodResult>& results,
                         const LetorTableOptions& options) {
  Chart chart{.title = absl::StrCat(options.name, ", five objectives"),
              .x_label = "k",
              .y_label = "NDCG@k in percent, test queries of five folds",
              .x = {},
              .logarithmic_x = false,
              .series = {}};
  for (size_t k = 1; k <= kTopRanks; ++k) {
    chart.x.push_back(static_cast<double>(k));
  }
  for (const MethodResult& method : results) {
    if (!method.is_crf) continue;
    const TopNdcg mean = MeanOfFolds(method);
    chart.series.push_back({method.name, {mean.begin(), mean.end()}});
  }
  return DrawChart(chart, options.figure);
}

}  // namespace

absl::StatusOr<std::vector<Target>> RunLetorTable(
    const LetorTableOptions& options) {
  ASSIGN_OR_RETURN(const LetorFolds data, ReadLetorFolds(options.letor));
  const double start = WallSeconds();
  ASSIGN_OR_RETURN(const std::vector<MethodResult> letor,
                   RunAll(data, NdcgKind::kLetor, options.threads));
  PrintTable(letor, absl::StrCat(options.name, ", NDCG of LETOR 4.0's tool"),
             options.published);
  PrintFolds(letor);
  ASSIGN_OR_RETURN(const std::vector<MethodResult> linear,
                   RunAll(data, NdcgKind::kLinear, options.threads));
  PrintTable(linear, absl::StrCat(options.name, ", NDCG of eq. 12"),
             options.published);
  absl::PrintF("\n%.1f s on %d threads\n", WallSeconds() - start,
               options.threads);
  if (!options.figure.empty()) RETURN_IF_ERROR(DrawFigure2(letor, options));
  return Compare(letor, options);
}

}  // namespace sortition
