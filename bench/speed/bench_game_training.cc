// Measures the time of a gradient of prediction games on LETOR files, and what
// they learn.
//
// What they learn is compared with logistic regression on single candidates.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/clocks.h"
#include "bench/support/letor_folds.h"
#include "bench/support/ranked_labels.h"
#include "bench/support/ranking_methods.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/learners/games/game_learner.h"
#include "core/metrics/ranking_metrics.h"

ABSL_FLAG(std::vector<std::string>, train, {}, "LETOR files to train on");
ABSL_FLAG(std::vector<std::string>, validate, {},
          "LETOR files to choose the L2 weight by");
ABSL_FLAG(std::vector<std::string>, test, {},
          "LETOR files to compare rankings on");
ABSL_FLAG(int, repetitions, 20, "gradients to time");

namespace sortition {
namespace {

using config::v1::GameOptions;

// Times are scaled to this many items: 1700 queries of 41 (MQ2007).
constexpr double kReferenceItems = 1700 * 41;

struct Queries {
  LetorFiles files;  // What the views point to.
  std::vector<LabelledItems> views;
  double num_items = 0;
};

absl::StatusOr<Queries> Read(const std::vector<std::string>& paths) {
  Queries queries;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::vector<LabelledItems> views,
                     ReadLetorFile(path, &queries.files));
    for (const LabelledItems& query : views) {
      queries.views.push_back(query);
      queries.num_items += static_cast<double>(query.relevances.size());
    }
  }
  if (queries.views.empty()) {
    return absl::InvalidArgumentError(
        "--train, --validate and --test must each name a LETOR file");
  }
  return queries;
}

struct RankingQuality {
  double ndcg = 0;
  double ndcg_at_10 = 0;
  double precision_at_5 = 0;
};

// Returns means over queries ranked by falling w·x.
RankingQuality QualityOf(const Queries& queries,
                         std::span<const double> weights) {
  RankingQuality sum;
  for (const LabelledItems& query : queries.views) {
    const TiedRanking ranking = RankingByScore(query, weights);
    sum.ndcg += Ndcg(ranking, 0);
    sum.ndcg_at_10 += Ndcg(ranking, 10);
    sum.precision_at_5 += Precision(ranking, 1, 5);
  }
  const auto n = static_cast<double>(queries.views.size());
  return {sum.ndcg / n, sum.ndcg_at_10 / n, sum.precision_at_5 / n};
}

void PrintQuality(const std::string& name, const std::string& chosen,
                  const RankingQuality& quality) {
  absl::PrintF("%-24s %-14s NDCG %.4f  NDCG@10 %.4f  P@5 %.4f\n", name, chosen,
               quality.ndcg, quality.ndcg_at_10, quality.precision_at_5);
}

struct Game {
  std::string name;
  GameOptions options;
  double limit_ms;  // For a gradient over kReferenceItems.
};

std::vector<Game> Games() {
  std::vector<Game> games(5);
  games[0] = {"DCG", {}, 5};
  games[1] = {"DCG@10", {}, 5};
  games[1].options.set_k(10);
  games[2] = {"graded DCG", {}, 5};
  games[2].options.set_measure(GameOptions::GRADED_DCG);
  games[3] = {"precision at 5", {}, 5};
  games[3].options.set_measure(GameOptions::PRECISION);
  games[3].options.set_k(5);
  games[4] = {"F1", {}, 500};
  games[4].options.set_measure(GameOptions::F_BETA);
  games[4].options.mutable_lbfgs()->set_max_iterations(30);
  games[4].options.set_max_cuts(0);
  for (Game& game : games) game.options.set_max_relevance(2);
  return games;
}

// Returns the median time of gradients near the minimum, as at the end of
// training.
absl::StatusOr<Target> TimeGradient(const Game& game, const Queries& train) {
  ASSIGN_OR_RETURN(const auto objective,
                   GameObjective::Create(train.views, game.options, SerialFor));
  ASSIGN_OR_RETURN(const GameResult result,
                   TrainGame(objective.get(), 0.1, {}));
  Eigen::VectorXd gradient;
  std::vector<double> times;
  for (int k = 0; k < absl::GetFlag(FLAGS_repetitions); ++k) {
    const Eigen::VectorXd point = result.theta * (1 + 1e-4 * k);
    const double seconds =
        ThreadCpuSecondsOf([&] { objective->Evaluate(point, &gradient); });
    times.push_back(1e3 * seconds * kReferenceItems / train.num_items);
  }
  return Target{absl::StrCat(game.name, ": CPU ms of a gradient for ",
                             kReferenceItems, " items"),
                MedianOf(times), game.limit_ms};
}

absl::Status CompareQuality(const Game& game, const Queries& train,
                            const Queries& validate, const Queries& test) {
  ASSIGN_OR_RETURN(
      const GamePath path,
      TrainGamePath(train.views, validate.views, game.options, SerialFor));
  const GamePathPoint& best = path.points[path.chosen];
  PrintQuality(
      game.name, absl::StrFormat("lambda %g", best.lambda),
      QualityOf(test, {best.result.theta.data(),
                       static_cast<size_t>(best.result.theta.size())}));
  return absl::OkStatus();
}

// Trains logistic regression with the C that has the best NDCG on `validate`.
absl::Status CompareLogistic(const Queries& train, const Queries& validate,
                             const Queries& test) {
  ASSIGN_OR_RETURN(const std::vector<LinearRanker> rankers,
                   BaselineMethod("logistic regression").train(train.views));
  const LinearRanker& best =
      *std::ranges::max_element(rankers, {}, [&](const LinearRanker& ranker) {
        return QualityOf(validate, ranker.weights).ndcg;
      });
  PrintQuality("logistic regression", absl::StrFormat("l2 %g", 1 / best.c),
               QualityOf(test, best.weights));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Target>> Run() {
  ASSIGN_OR_RETURN(const Queries train, Read(absl::GetFlag(FLAGS_train)));
  ASSIGN_OR_RETURN(const Queries validate, Read(absl::GetFlag(FLAGS_validate)));
  ASSIGN_OR_RETURN(const Queries test, Read(absl::GetFlag(FLAGS_test)));
  absl::PrintF("%d queries, %g items, %d features to train on\n",
               train.views.size(), train.num_items,
               train.views[0].items.num_features());
  std::vector<Target> targets;
  for (const Game& game : Games()) {
    ASSIGN_OR_RETURN(Target target, TimeGradient(game, train));
    targets.push_back(std::move(target));
    if (game.options.measure() == GameOptions::F_BETA)
      continue;  // This plays a set, not a ranking.
    RETURN_IF_ERROR(CompareQuality(game, train, validate, test));
  }
  RETURN_IF_ERROR(CompareLogistic(train, validate, test));
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Times the training of prediction games and compares what they learn.",
      sortition::Run);
}
