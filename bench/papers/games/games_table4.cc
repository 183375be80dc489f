#include "bench/papers/games/games_table4.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/chart.h"
#include "bench/support/clocks.h"
#include "bench/support/letor_folds.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/ranking_methods.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr int kRandomDraws = 100;

// The result of a method on one fold, at the grid point that is best on the
// validation queries.
struct FoldResult {
  std::string setting;
  double validation = 0;  // Mean NDCG.
  double seconds = 0;     // CPU time for the whole grid.
  double largest_gap = 0;
  std::vector<LetorFigures> test;  // One entry per query.
};

struct MethodResult {
  std::string name;
  bool is_game = false;
  std::vector<FoldResult> folds;
};

double MeanNdcg(const std::vector<LetorFigures>& figures) {
  return MeanOf(figures).mean_ndcg;
}

absl::StatusOr<FoldResult> RunFold(const RankingMethod& method,
                                   const LetorFold& fold) {
  FoldResult result;
  const double start = ThreadCpuSeconds();
  ASSIGN_OR_RETURN(const std::vector<LinearRanker> rankers,
                   method.train(fold.train));
  result.seconds = ThreadCpuSeconds() - start;
  const LinearRanker* best = nullptr;
  for (const LinearRanker& ranker : rankers) {
    result.largest_gap = std::max(result.largest_gap, ranker.relative_gap);
    const double validation = MeanNdcg(Judge(fold.validation, ranker.weights));
    if (best != nullptr && validation <= result.validation) continue;
    best = &ranker;
    result.validation = validation;
  }
  result.setting = absl::StrFormat("C %g", best->c);
  result.test = Judge(fold.test, best->weights);
  return result;
}

// Runs every method on every fold, several at once.
absl::StatusOr<std::vector<MethodResult>> RunAll(const LetorFolds& data,
                                                 int num_threads) {
  std::vector<RankingMethod> methods = GameMethods();
  for (RankingMethod& method : BaselineMethods()) {
    methods.push_back(std::move(method));
  }
  std::vector<MethodResult> results;
  for (const RankingMethod& method : methods) {
    results.push_back(
        {method.name, method.is_game, std::vector<FoldResult>(kNumFolds)});
  }
  const auto run = [&](size_t i) -> absl::Status {
    const size_t m = i / kNumFolds;
    const size_t f = i % kNumFolds;
    ASSIGN_OR_RETURN(results[m].folds[f], RunFold(methods[m], data.folds[f]));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(methods.size() * kNumFolds, num_threads, run));
  return results;
}

// Returns, for each fold, the game that is best on its validation queries.
MethodResult ChosenGame(const std::vector<MethodResult>& results) {
  MethodResult chosen{"MPG, chosen", true, std::vector<FoldResult>(kNumFolds)};
  for (size_t f = 0; f < kNumFolds; ++f) {
    double seconds = 0;
    for (const MethodResult& method : results) {
      if (!method.is_game) continue;
      const FoldResult& fold = method.folds[f];
      seconds += fold.seconds;
      if (fold.validation > chosen.folds[f].validation) {
        chosen.folds[f] = fold;
        chosen.folds[f].setting = absl::StrCat(method.name, ", ", fold.setting);
      }
    }
    chosen.folds[f].seconds = seconds;
  }
  return chosen;
}

MethodResult RandomOrder(const LetorFolds& data) {
  MethodResult random{"random order", false, {}};
  for (size_t f = 0; f < kNumFolds; ++f) {
    random.folds.push_back(
        {.setting = absl::StrCat(kRandomDraws, " draws"),
         .test = JudgeRandomOrder(data.folds[f].test, kRandomDraws, f)});
  }
  return random;
}

// Returns the mean of the folds' means, as LETOR computes it.
LetorFigures MeanOfFolds(const MethodResult& method) {
  std::vector<LetorFigures> folds;
  for (const FoldResult& fold : method.folds)
    folds.push_back(MeanOf(fold.test));
  return MeanOf(folds);
}

std::vector<double> FoldNdcgs(const MethodResult& method) {
  std::vector<double> ndcgs;
  for (const FoldResult& fold : method.folds) {
    ndcgs.push_back(MeanNdcg(fold.test));
  }
  return ndcgs;
}

std::vector<double> QueryNdcgs(const MethodResult& method) {
  std::vector<double> ndcgs;
  for (const FoldResult& fold : method.folds) {
    for (const LetorFigures& query : fold.test) {
      ndcgs.push_back(query.mean_ndcg);
    }
  }
  return ndcgs;
}

void PrintTable(const std::vector<MethodResult>& results) {
  absl::PrintF("\n%-20s", "test, mean of folds");
  for (int k = 1; k <= kLetorRanks; ++k) absl::PrintF(" N@%-4d", k);
  absl::PrintF(" %6s %6s %6s  %s\n", "mean", "MAP", "valid",
               "CPU s a fold; largest gap");
  for (const MethodResult& method : results) {
    const LetorFigures mean = MeanOfFolds(method);
    double validation = 0, seconds = 0, gap = 0;
    for (const FoldResult& fold : method.folds) {
      validation += fold.validation / kNumFolds;
      seconds += fold.seconds / kNumFolds;
      gap = std::max(gap, fold.largest_gap);
    }
    absl::PrintF("%-20s", method.name);
    for (const double ndcg : mean.ndcg) absl::PrintF(" %.4f", ndcg);
    absl::PrintF(" %.4f %.4f %.4f  %.2f", mean.mean_ndcg,
                 mean.average_precision, validation, seconds);
    if (gap > 0) absl::PrintF("; %.0e", gap);
    absl::PrintF("\n");
  }
}

void PrintFolds(const std::vector<MethodResult>& results) {
  absl::PrintF("\nMean NDCG by fold, and what validation chose\n");
  for (const MethodResult& method : results) {
    absl::PrintF("%-20s", method.name);
    for (const FoldResult& fold : method.folds) {
      absl::PrintF(" %.4f (%s)", MeanNdcg(fold.test), fold.setting);
    }
    absl::PrintF("\n");
  }
}

// Prints the paper's figures. They are for another data set: compare only the
// order of the methods.
void PrintPaper() {
  absl::PrintF(
      "\nThe paper on MQ2007, mean NDCG: MPG 0.5220, RankBoost 0.5003, ListNet "
      "0.4988, RankSVM 0.4966, AdaRank-NDCG 0.4914, AdaRank-MAP 0.4891\n");
}

std::vector<Target> Compare(const MethodResult& game,
                            const std::vector<MethodResult>& results) {
  absl::PrintF("\n%s against\n", game.name);
  const double ours = MeanOfFolds(game).mean_ndcg;
  std::vector<Target> targets;
  for (const MethodResult& method : results) {
    if (method.is_game) continue;
    const double theirs = MeanOfFolds(method).mean_ndcg;
    const PairedTest queries = TestPairs(QueryNdcgs(game), QueryNdcgs(method));
    const PairedTest folds = TestPairs(FoldNdcgs(game), FoldNdcgs(method));
    absl::PrintF(
        "%-20s %+.4f  over queries t %5.2f (p %.3f), over folds t %5.2f "
        "(p %.3f)\n",
        method.name, ours - theirs, queries.t, queries.p, folds.t, folds.p);
    targets.push_back(
        {absl::StrCat("mean NDCG of ", method.name, ", at most the games'"),
         theirs, ours});
  }
  return targets;
}

absl::Status DrawFigure1(const std::vector<MethodResult>& results,
                         const std::string& path) {
  Chart chart{.title = "NDCG@K as K increases",
              .x_label = "K",
              .y_label = "NDCG@K, test queries of five folds",
              .x = {},
              .logarithmic_x = false,
              .series = {}};
  for (int k = 1; k <= kLetorRanks; ++k) chart.x.push_back(k);
  for (const MethodResult& method : results) {
    const LetorFigures mean = MeanOfFolds(method);
    chart.series.push_back({method.name, {mean.ndcg.begin(), mean.ndcg.end()}});
  }
  return DrawChart(chart, path);
}

}  // namespace

absl::StatusOr<std::vector<Target>> RunTable4(const Table4Options& options) {
  ASSIGN_OR_RETURN(const LetorFolds data, ReadLetorFolds(options.letor));
  ASSIGN_OR_RETURN(std::vector<MethodResult> results,
                   RunAll(data, options.threads));
  MethodResult game = ChosenGame(results);
  results.insert(results.begin(), game);
  results.push_back(RandomOrder(data));
  PrintTable(results);
  PrintPaper();
  PrintFolds(results);
  std::vector<Target> targets = Compare(game, results);
  if (!options.figure.empty()) {
    std::erase_if(results, [&](const MethodResult& method) {
      return method.is_game && method.name != game.name;
    });
    RETURN_IF_ERROR(DrawFigure1(results, options.figure));
  }
  return targets;
}

}  // namespace sortition
