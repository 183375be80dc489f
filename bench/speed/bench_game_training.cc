// Training of prediction games on LETOR files: the time of a gradient, and what
// is learned beside logistic regression per candidate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/games/game_learner.h"
#include "core/metrics/ranking_metrics.h"
#include "io/datasets/letor.h"

ABSL_FLAG(std::vector<std::string>, train, {}, "LETOR files to train on");
ABSL_FLAG(std::vector<std::string>, validate, {}, "LETOR files to choose by");
ABSL_FLAG(std::vector<std::string>, test, {}, "LETOR files to compare on");
ABSL_FLAG(int, repetitions, 20, "gradients that are timed");

namespace sortition {
namespace {

using config::v1::GameOptions;

// Times are given for that many items, 1700 queries of 41 (MQ2007).
constexpr double kReferenceItems = 1700 * 41;

struct Queries {
  std::deque<LabelledQueries> files;  // What the views point to.
  std::vector<LabelledItems> views;
  double num_items = 0;
};

absl::StatusOr<Queries> Read(const std::vector<std::string>& paths) {
  Queries queries;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(LabelledQueries file, ReadLetor(path));
    queries.files.push_back(std::move(file));
    for (const LabelledQuery& query : queries.files.back().queries) {
      ASSIGN_OR_RETURN(
          const Candidates items,
          Candidates::Dense(query.features, queries.files.back().num_features));
      queries.views.push_back({items, query.relevances});
      queries.num_items += static_cast<double>(query.relevances.size());
    }
  }
  if (queries.views.empty()) {
    return absl::InvalidArgumentError(
        "--train, --validate and --test must name a LETOR file each");
  }
  return queries;
}

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

struct RankingQuality {
  double ndcg = 0;
  double ndcg_at_10 = 0;
  double precision_at_5 = 0;
};

// Means over queries of the order by falling w·x, ties by index.
RankingQuality Judge(const Queries& queries, std::span<const double> weights) {
  RankingQuality sum;
  for (const LabelledItems& query : queries.views) {
    const std::vector<int> labels(query.relevances.begin(),
                                  query.relevances.end());
    std::vector<double> scores(labels.size());
    std::vector<size_t> order(labels.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (const size_t i : order) {
      scores[i] = query.items.Score(static_cast<uint32_t>(i), weights);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    std::vector<int> ranked;
    for (const size_t i : order) ranked.push_back(labels[i]);
    sum.ndcg += Ndcg(ranked, labels, 0);
    sum.ndcg_at_10 += Ndcg(ranked, labels, 10);
    sum.precision_at_5 += Precision(ranked, 1, 5);
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
  double limit_ms;  // Of a gradient for kReferenceItems.
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

// After training: gradients at points near the minimum, as training has them at
// its end. The median.
absl::StatusOr<Target> TimeGradient(const Game& game, const Queries& train) {
  ASSIGN_OR_RETURN(const auto objective,
                   GameObjective::Create(train.views, game.options, SerialFor));
  ASSIGN_OR_RETURN(const GameResult result,
                   TrainGame(objective.get(), 0.1, {}));
  Eigen::VectorXd gradient;
  std::vector<double> times;
  for (int k = 0; k < absl::GetFlag(FLAGS_repetitions); ++k) {
    const Eigen::VectorXd point = result.theta * (1 + 1e-4 * k);
    const double start = CpuSeconds();
    objective->Evaluate(point, &gradient);
    times.push_back(1e3 * (CpuSeconds() - start) * kReferenceItems /
                    train.num_items);
  }
  return Target{absl::StrCat(game.name, ": CPU ms of a gradient for ",
                             kReferenceItems, " items"),
                SpreadOf(times).median, game.limit_ms};
}

absl::Status CompareQuality(const Game& game, const Queries& train,
                            const Queries& validate, const Queries& test) {
  ASSIGN_OR_RETURN(
      const GamePath path,
      TrainGamePath(train.views, validate.views, game.options, SerialFor));
  const GamePathPoint& best = path.points[path.chosen];
  PrintQuality(game.name, absl::StrFormat("lambda %g", best.lambda),
               Judge(test, {best.result.theta.data(),
                            static_cast<size_t>(best.result.theta.size())}));
  return absl::OkStatus();
}

// l2 chosen by NDCG on the validation queries.
absl::Status JudgeLogistic(const Queries& train, const Queries& validate,
                           const Queries& test) {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (const LabelledItems& query : train.views) {
    const auto values = query.items.values();
    features.insert(features.end(), values.begin(), values.end());
    for (const uint32_t relevance : query.relevances) {
      labels.push_back(relevance > 0 ? 1 : 0);
    }
  }
  std::vector<double> best;
  double best_l2 = 0;
  double best_ndcg = -1;
  for (int power = -6; power <= 6; ++power) {
    config::v1::LogisticOptions options;
    options.set_l2(std::exp2(power));
    ASSIGN_OR_RETURN(
        const LogisticResult result,
        FitLogistic({features, labels, train.views[0].items.num_features()},
                    options));
    const double ndcg = Judge(validate, result.weights).ndcg;
    if (ndcg <= best_ndcg) continue;
    best_ndcg = ndcg;
    best_l2 = options.l2();
    best = result.weights;
  }
  PrintQuality("logistic regression", absl::StrFormat("l2 %g", best_l2),
               Judge(test, best));
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
    if (game.options.measure() == GameOptions::F_BETA) continue;  // No order.
    RETURN_IF_ERROR(CompareQuality(game, train, validate, test));
  }
  RETURN_IF_ERROR(JudgeLogistic(train, validate, test));
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Times the training of prediction games and compares what they learn.");
  absl::ParseCommandLine(argc, argv);
  return sortition::PrintTargets(sortition::Run());
}
