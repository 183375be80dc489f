// What objectives learn from clicks that a weak policy logged, and whether the
// safe one is never worse than that policy.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/clicks/click_objectives.h"
#include "bench/clicks/learning_log.h"
#include "bench/clicks/page_model.h"
#include "bench/clicks/page_world.h"
#include "bench/clicks/parts.h"
#include "bench/clicks/pictures.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/ranked_labels.h"
#include "bench/support/ranking_methods.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/metrics/ranking_metrics.h"

namespace sortition {
namespace {

constexpr char kLearningUser[] = "ultra_pbm";
constexpr double kWeakShare = 0.01;
constexpr uint64_t kLearningSeed = 31;
constexpr uint64_t kLearningModelSeed = 32;
constexpr uint32_t kFewSessions = 1000;
// What the safe policy may earn less than the one that logged: it fails with
// probability 0.05 by design, and then by little.
constexpr double kSafeNoise = 0.01;

std::vector<double> NdcgOf(std::span<const LabelledItems> queries,
                           std::span<const double> weights) {
  std::vector<double> figures;
  for (const LabelledItems& query : queries) {
    figures.push_back(Ndcg(RankingByScore(query, weights), kPageRanks));
  }
  return figures;
}

double MeanNdcg(std::span<const LabelledItems> queries,
                std::span<const double> weights) {
  return Mean(NdcgOf(queries, weights));
}

std::span<const double> SpanOf(const Eigen::VectorXd& weights) {
  return {weights.data(), static_cast<size_t>(weights.size())};
}

// The linear scores from labels that are best on the validation queries.
absl::StatusOr<std::vector<double>> TrainSkyline(const LetorFold& fold) {
  std::vector<double> best;
  double best_ndcg = -1;
  for (const char* name : {"ListNet", "linear regression"}) {
    ASSIGN_OR_RETURN(std::vector<LinearRanker> rankers,
                     BaselineMethod(name).train(fold.train));
    for (LinearRanker& ranker : rankers) {
      const double ndcg = MeanNdcg(fold.validation, ranker.weights);
      if (ndcg <= best_ndcg) continue;
      best_ndcg = ndcg;
      best = std::move(ranker.weights);
    }
  }
  return best;
}

// The policy that logs clicks of a fold, and in which units weights are
// learned.
struct LearningFold {
  PagePolicy log;
  PageStore store;
  ParameterFrame frame;
};

absl::StatusOr<LearningFold> MakeLearningFold(
    std::span<const LabelledItems> pages) {
  ASSIGN_OR_RETURN(std::vector<double> weights,
                   TrainRanker(pages, kWeakShare, 1));
  PagePolicy log(pages, Times(kLoggingSharpness, std::move(weights)));
  const auto d = static_cast<Eigen::Index>(log.weights().size());
  ColumnSums sums{.squares = Eigen::VectorXd::Zero(d),
                  .counts = Eigen::VectorXd::Zero(d),
                  .rows = 0};
  for (const LabelledItems& page : pages) {
    const std::span<const float> values = page.items.values();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      const auto j = static_cast<Eigen::Index>(i) % d;
      sums.squares[j] += static_cast<double>(values[i]) * values[i];
      sums.counts[j] += 1;
    }
    sums.rows += static_cast<double>(page.relevances.size());
  }
  ParameterFrame frame;
  frame.origin = Eigen::Map<const Eigen::VectorXd>(log.weights().data(), d);
  frame.scales = ScalesOf(sums);
  return LearningFold{std::move(log), PageStore(pages), std::move(frame)};
}

// NDCG@10 of test queries.
struct FoldLearning {
  std::vector<double> logging;
  std::vector<double> skyline;
  // By size of the log and objective.
  std::vector<std::vector<std::vector<double>>> learned;
};

absl::StatusOr<FoldLearning> LearnOnFold(const LetorFold& fold,
                                         const ClickUser& user,
                                         std::span<const uint32_t> sizes) {
  ASSIGN_OR_RETURN(const LearningFold learning, MakeLearningFold(fold.train));
  ASSIGN_OR_RETURN(const std::vector<double> skyline, TrainSkyline(fold));
  ASSIGN_OR_RETURN(const PageModel model,
                   FitPageModel(learning.log, user, kLearningModelSeed));
  FoldLearning result;
  result.logging = NdcgOf(fold.test, learning.log.weights());
  result.skyline = NdcgOf(fold.test, skyline);
  for (const uint32_t size : sizes) {
    const LearningLog log = DrawLearningLog(learning.log, user, learning.store,
                                            size, kLearningSeed, true);
    const ObjectiveTask task = {.log = &log,
                                .discounts = PageDiscounts(user),
                                .frame = learning.frame,
                                .model = &model};
    auto& learned = result.learned.emplace_back();
    for (const ClickObjective objective : AllClickObjectives()) {
      ASSIGN_OR_RETURN(const Eigen::VectorXd weights,
                       LearnFromClicks(objective, task));
      learned.push_back(NdcgOf(fold.test, SpanOf(weights)));
      absl::FPrintF(stderr, "learned: %s, %d sessions\n",
                    ClickObjectiveName(objective), size);
    }
  }
  return result;
}

// Means over the queries of all folds.
struct LearningTable {
  double logging = 0;
  double skyline = 0;
  std::vector<std::vector<double>> learned;  // By size and objective.
};

LearningTable TableOf(const std::vector<FoldLearning>& folds) {
  const auto mean = [&](const auto& figures_of) {
    std::vector<double> all;
    for (const FoldLearning& fold : folds) {
      const std::vector<double>& figures = figures_of(fold);
      all.insert(all.end(), figures.begin(), figures.end());
    }
    return Mean(all);
  };
  LearningTable table;
  table.logging =
      mean([](const FoldLearning& f) -> const auto& { return f.logging; });
  table.skyline =
      mean([](const FoldLearning& f) -> const auto& { return f.skyline; });
  for (size_t size = 0; size < folds[0].learned.size(); ++size) {
    auto& row = table.learned.emplace_back();
    for (size_t o = 0; o < folds[0].learned[size].size(); ++o) {
      row.push_back(mean([&](const FoldLearning& f) -> const auto& {
        return f.learned[size][o];
      }));
    }
  }
  return table;
}

absl::Status PictureLearning(const LearningTable& table,
                             const std::vector<uint32_t>& sizes,
                             const std::string& dir) {
  BandChart chart{.title = "Learned from clicks of position-based users",
                  .x_name = "sessions",
                  .y_name = "NDCG@10 of test queries"};
  for (const uint32_t size : sizes) {
    chart.x_ticks.push_back({std::log10(size), absl::StrCat(size)});
  }
  for (size_t o = 0; o < AllClickObjectives().size(); ++o) {
    BandChart::Series series{.name =
                                 ClickObjectiveName(AllClickObjectives()[o])};
    for (size_t size = 0; size < sizes.size(); ++size) {
      const double ndcg = table.learned[size][o];
      series.spots.push_back({std::log10(sizes[size]), ndcg, ndcg, ndcg});
    }
    chart.series.push_back(std::move(series));
  }
  chart.levels = {{table.logging, "policy that logged"},
                  {table.skyline, "from labels"}};
  return WritePicture(chart, dir, "clicks_learning");
}

absl::StatusOr<std::vector<Target>> MeasureObjectives(
    const LetorFolds& folds, const ClickUser& user,
    const ClicksBenchOptions& options) {
  const std::vector<uint32_t> sizes(
      options.sessions.begin(),
      options.sessions.begin() +
          static_cast<ptrdiff_t>(std::min<size_t>(options.sessions.size(), 3)));
  std::vector<FoldLearning> results(static_cast<size_t>(options.folds));
  RETURN_IF_ERROR(RunInParallel(
      results.size(), options.threads, [&](size_t f) -> absl::Status {
        ASSIGN_OR_RETURN(results[f], LearnOnFold(folds.folds[f], user, sizes));
        return absl::OkStatus();
      }));
  const LearningTable table = TableOf(results);
  absl::PrintF(
      "\nNDCG@10 of the test queries of %d folds, learned from clicks of %s "
      "that a weak policy logged (%.4f; from labels %.4f), and the share of "
      "the "
      "gap\n\n| objective |",
      options.folds, kLearningUser, table.logging, table.skyline);
  for (const uint32_t size : sizes) absl::PrintF(" %d |", size);
  absl::PrintF(" share |\n|---|---|");
  for (size_t i = 0; i < sizes.size(); ++i) absl::PrintF("---|");
  absl::PrintF("\n");
  double best = -HUGE_VAL;
  for (size_t o = 0; o < AllClickObjectives().size(); ++o) {
    absl::PrintF("| %s |", ClickObjectiveName(AllClickObjectives()[o]));
    for (const auto& row : table.learned) absl::PrintF(" %.4f |", row[o]);
    const double share = (table.learned.back()[o] - table.logging) /
                         (table.skyline - table.logging);
    absl::PrintF(" %.2f |\n", share);
    best = std::max(best, share);
  }
  std::fflush(stdout);
  RETURN_IF_ERROR(PictureLearning(table, sizes, options.pictures));
  return std::vector<Target>{
      {absl::StrCat("best share of the gap from the policy that logged to "
                    "labels, learned from ",
                    sizes.back(), " sessions"),
       best, 0.8, true}};
}

absl::StatusOr<std::vector<Target>> MeasureSafety(
    const LetorFold& fold, const ClickUser& user,
    const ClicksBenchOptions& options) {
  ASSIGN_OR_RETURN(const LearningFold learning, MakeLearningFold(fold.train));
  // What a policy earns is exact for these users.
  const auto clicks_of = [&](std::vector<double> weights) {
    return TruthOf(PagePolicy(fold.train, std::move(weights)), user, 2, 0)
        .clicks;
  };
  const double logged = clicks_of(learning.log.weights());
  const auto runs = static_cast<size_t>(options.safe_runs);
  std::vector<double> safe(runs);
  std::vector<double> unsafe(runs);
  RETURN_IF_ERROR(
      RunInParallel(runs, options.threads, [&](size_t run) -> absl::Status {
        constexpr uint64_t kFirstSeed = 1000;
        const LearningLog log =
            DrawLearningLog(learning.log, user, learning.store, kFewSessions,
                            kFirstSeed + run, false);
        const ObjectiveTask task = {.log = &log,
                                    .discounts = PageDiscounts(user),
                                    .frame = learning.frame};
        for (const auto& [objective, ratios] :
             {std::pair{ClickObjective::kSafeExposure, &safe},
              std::pair{ClickObjective::kExposure, &unsafe}}) {
          ASSIGN_OR_RETURN(const Eigen::VectorXd weights,
                           LearnFromClicks(objective, task));
          (*ratios)[run] = clicks_of({weights.begin(), weights.end()}) / logged;
        }
        return absl::OkStatus();
      }));
  absl::PrintF(
      "\nExpected clicks over those of the policy that logged, learned from %d "
      "sessions, %d logs\n\n| objective | least | quarter | median | three "
      "quarters | most | below 1 |\n|---|---|---|---|---|---|---|\n",
      kFewSessions, options.safe_runs);
  for (const auto& [name, ratios] :
       {std::pair{"safe exposure", safe}, std::pair{"exposure", unsafe}}) {
    std::vector<double> sorted = ratios;
    std::ranges::sort(sorted);
    const auto at = [&](size_t quarter) {
      return sorted[(runs - 1) * quarter / 4];
    };
    absl::PrintF(
        "| %s | %.4f | %.4f | %.4f | %.4f | %.4f | %d |\n", name, at(0), at(1),
        at(2), at(3), at(4),
        std::ranges::count_if(sorted, [](double ratio) { return ratio < 1; }));
  }
  std::fflush(stdout);
  return std::vector<Target>{
      {absl::StrCat(
           "safe objective, least clicks over the policy that logged, ",
           options.safe_runs, " logs of ", kFewSessions, " sessions"),
       *std::ranges::min_element(safe), 1 - kSafeNoise, true}};
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureLearning(
    const LetorFolds& folds, const ClicksBenchOptions& options) {
  ASSIGN_OR_RETURN(const ClickUser user, MakePageUser(kLearningUser));
  ASSIGN_OR_RETURN(std::vector<Target> targets,
                   MeasureObjectives(folds, user, options));
  ASSIGN_OR_RETURN(std::vector<Target> more,
                   MeasureSafety(folds.folds[0], user, options));
  AppendTargets(std::move(more), &targets);
  return targets;
}

}  // namespace sortition
