#include "bench/papers/games/games_table4.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/papers/games/ranking_choice.h"
#include "bench/support/chart.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

MethodChoice RandomOrder(const LetorFolds& data) {
  MethodChoice random{"random order", false, {}};
  for (size_t f = 0; f < kNumFolds; ++f) {
    random.folds[f].setting = "expected";
    random.folds[f].test = JudgeRandomOrder(data.folds[f].test);
  }
  return random;
}

// Mean NDCG on MQ2007 in table 4. Those of the baselines are LETOR's own.
std::string PaperFigure(const std::string& method) {
  const std::map<std::string, std::string> figures = {
      {"MPG, chosen", "0.5220"},
      {"RankSVM, pairs", "0.4966"},
      {"ListNet", "0.4988"}};
  const auto found = figures.find(method);
  return found == figures.end() ? "" : found->second;
}

// `game`: the method that all are compared with.
void PrintTable(const std::vector<MethodChoice>& results) {
  const MethodChoice& game = results.front();
  absl::PrintF("%-20s", "test, mean of folds");
  for (const int k : {1, 2, 3, 5, 10}) absl::PrintF(" N@%-4d", k);
  absl::PrintF(" %6s %6s %6s %8s %6s %5s %6s  %s\n", "mean", "MAP", "valid",
               "- chosen", "s.e.", "p", "MQ2007",
               "C at an end; CPU s a fold; largest gap");
  for (const MethodChoice& method : results) {
    const LetorFigures mean = MeanOfFolds(method);
    double validation = 0, seconds = 0, gap = 0;
    int at_end = 0;
    for (const FoldChoice& fold : method.folds) {
      validation += fold.validation / kNumFolds;
      seconds += fold.seconds / kNumFolds;
      gap = std::max(gap, fold.largest_gap);
      at_end += fold.at_end ? 1 : 0;
    }
    absl::PrintF("%-20s", method.name);
    for (const size_t k : {1, 2, 3, 5, 10}) {
      absl::PrintF(" %.4f", mean.ndcg[k - 1]);
    }
    absl::PrintF(" %.4f %.4f %.4f", mean.mean_ndcg, mean.average_precision,
                 validation);
    if (&method == &game) {
      absl::PrintF(" %8s %6s %5s", "", "", "");
    } else {
      const PairedTest test = TestQueries(method, game);
      absl::PrintF("  %+.4f %.4f %.3f", test.difference, test.standard_error,
                   test.p);
    }
    absl::PrintF(" %6s  %d; %.1f", PaperFigure(method.name), at_end, seconds);
    if (gap > 0) absl::PrintF("; %.0e", gap);
    absl::PrintF("\n");
  }
  // Boosting is no part of this project. The paper cites LETOR for it.
  absl::PrintF(
      "Cited by the paper, MQ2007: AdaRank-NDCG 0.4914, AdaRank-MAP 0.4891, "
      "RankBoost 0.5003\n");
}

void PrintFolds(const std::vector<MethodChoice>& results) {
  absl::PrintF("\nMean NDCG by fold, and what validation chose\n");
  for (const MethodChoice& method : results) {
    absl::PrintF("%-20s", method.name);
    for (const FoldChoice& fold : method.folds) {
      absl::PrintF(" %.4f (%s)", MeanOf(fold.test).mean_ndcg, fold.setting);
    }
    absl::PrintF("\n");
  }
}

std::vector<Target> Compare(const std::vector<MethodChoice>& results,
                            const std::string& title) {
  std::vector<Target> targets;
  for (const MethodChoice& method : results) {
    if (method.is_game) continue;
    const PairedTest test = TestQueries(results.front(), method);
    targets.push_back(
        {absl::StrCat(title, ": games above ", method.name,
                      " by mean NDCG, limit one standard error below"),
         test.difference, -test.standard_error, true});
  }
  return targets;
}

absl::Status DrawFigure1(const std::vector<MethodChoice>& results,
                         const std::string& path) {
  Chart chart{.title = "NDCG@K as K increases",
              .x_label = "K",
              .y_label = "NDCG@K, test queries of five folds",
              .x = {},
              .logarithmic_x = false,
              .series = {}};
  for (int k = 1; k <= kLetorRanks; ++k) chart.x.push_back(k);
  for (const MethodChoice& method : results) {
    if (method.is_game && &method != &results.front()) continue;
    const LetorFigures mean = MeanOfFolds(method);
    chart.series.push_back({method.name, {mean.ndcg.begin(), mean.ndcg.end()}});
  }
  return DrawChart(chart, path);
}

}  // namespace

absl::StatusOr<std::vector<Target>> RunTable4(const Table4Options& options) {
  ASSIGN_OR_RETURN(const LetorFolds data,
                   ReadLetorFolds(options.letor, options.relevance_cut));
  std::vector<RankingMethod> methods = GameMethods();
  for (RankingMethod& method : BaselineMethods()) {
    methods.push_back(std::move(method));
  }
  ASSIGN_OR_RETURN(
      RankingChoices choices,
      ChooseRankings(data, methods, options.averaged, options.threads));
  const std::string labels =
      options.relevance_cut == 0
          ? "labels as they are"
          : absl::StrCat("labels cut at ", options.relevance_cut);
  std::vector<Target> targets;
  for (auto* results : {&choices.single, &choices.averaged}) {
    if (results->empty()) continue;
    const std::string title =
        absl::StrCat(labels, results == &choices.single
                                 ? ", one validation part"
                                 : ", averaged over four validation parts");
    results->push_back(RandomOrder(data));
    absl::PrintF("\nTable 4, %s (MQ2007: the paper's figures)\n", title);
    PrintTable(*results);
    PrintFolds(*results);
    std::fflush(stdout);
    AppendTargets(Compare(*results, title), &targets);
  }
  if (!options.figure.empty()) {
    RETURN_IF_ERROR(DrawFigure1(choices.single, options.figure));
  }
  return targets;
}

}  // namespace sortition
