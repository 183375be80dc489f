#include "bench/support/ranking_methods.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/support/ranked_labels.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/games/game_learner.h"
#include "core/learners/orders/list_net.h"
#include "core/learners/orders/rank_svm.h"
#include "core/learners/orders/relevance_regression.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using config::v1::ListNetOptions;
using config::v1::RankSvmOptions;

using Rankers = std::vector<LinearRanker>;

// The paper's C are 2^-6 .. 2^6 [WangXingAsifZiebart15, sec. 4]. Validation
// often chooses the least of them, so there are smaller ones.
constexpr int kLeastPower = -12;
constexpr int kMostPower = 6;
// Games of a few candidates: how many of each query.
constexpr size_t kSubsetsOfQuery = 10;
constexpr uint64_t kSubsetSeed = 1;

std::vector<double> Grid() {
  std::vector<double> grid;
  for (int power = kLeastPower; power <= kMostPower; ++power) {
    grid.push_back(std::exp2(power));
  }
  return grid;
}

double LambdaOf(double c, size_t num_queries) {
  return 1 / (c * static_cast<double>(num_queries));
}

std::vector<double> ToVector(const Eigen::VectorXd& vector) {
  return {vector.begin(), vector.end()};
}

uint32_t MaxRelevance(std::span<const LabelledItems> queries) {
  uint32_t most = 1;
  for (const LabelledItems& query : queries) {
    most = std::max(most, *std::ranges::max_element(query.relevances));
  }
  return most;
}

// Returns a query that measures accept, if there is one.
std::span<const LabelledItems> OneWithRelevance(
    std::span<const LabelledItems> queries) {
  const auto found =
      std::ranges::find_if(queries, [](const LabelledItems& query) {
        return *std::ranges::max_element(query.relevances) > 0;
      });
  const auto first = static_cast<size_t>(found - queries.begin());
  return queries.subspan(first < queries.size() ? first : 0, 1);
}

// Trains games of all candidates of a query (`size` 0), or of `size` of them.
absl::StatusOr<Rankers> TrainGames(std::span<const LabelledItems> train,
                                   GameOptions options, size_t size) {
  options.set_max_relevance(MaxRelevance(train));
  std::vector<double> cs = Grid();
  for (const double c : cs) options.add_lambda(LambdaOf(c, train.size()));
  std::optional<QuerySubsets> subsets;
  if (size > 0) subsets.emplace(train, size, kSubsetsOfQuery, kSubsetSeed);
  const auto games = subsets.has_value() ? subsets->views() : train;
  // The point that the path chooses is ignored: all points are judged alike.
  ASSIGN_OR_RETURN(
      const GamePath path,
      TrainGamePath(games, OneWithRelevance(games), options, SerialFor));
  Rankers rankers;
  for (size_t p = 0; p < cs.size(); ++p) {
    const GameResult& result = path.points[p].result;
    rankers.push_back(
        {.c = cs[p],
         .weights = ToVector(result.theta),
         .relative_gap = result.gap() / std::abs(result.objective)});
  }
  return rankers;
}

RankingMethod Game(const std::string& name, GameOptions::Measure measure,
                   uint32_t k, GameOptions::DiscountKind discounts,
                   size_t size = 0) {
  GameOptions options;
  options.set_measure(measure);
  options.set_k(k);
  options.set_discounts(discounts);
  return {"MPG " + name, true,
          [options, size](std::span<const LabelledItems> train) {
            return TrainGames(train, options, size);
          }};
}

// Makes a method that trains each C of the grid separately.
RankingMethod OverGrid(
    const std::string& name,
    const std::function<absl::StatusOr<LinearRanker>(
        std::span<const LabelledItems> queries, double lambda)>& train) {
  return {name, false,
          [train](std::span<const LabelledItems> queries)
              -> absl::StatusOr<Rankers> {
            Rankers rankers;
            for (const double c : Grid()) {
              ASSIGN_OR_RETURN(LinearRanker ranker,
                               train(queries, LambdaOf(c, queries.size())));
              ranker.c = c;
              rankers.push_back(std::move(ranker));
            }
            return rankers;
          }};
}

RankingMethod RankSvm(const std::string& name,
                      RankSvmOptions::Weighting weighting) {
  RankSvmOptions options;
  options.set_weighting(weighting);
  return OverGrid(
      name,
      [options](std::span<const LabelledItems> queries,
                double lambda) -> absl::StatusOr<LinearRanker> {
        ASSIGN_OR_RETURN(RankSvmResult result,
                         TrainRankSvm(queries, lambda, options));
        return LinearRanker{
            .weights = std::move(result.weights),
            .relative_gap = result.descent.gap() / result.descent.objective};
      });
}

RankingMethod ListNet(const std::string& name, ListNetOptions::Target target) {
  ListNetOptions options;
  options.set_target(target);
  return OverGrid(name,
                  [options](std::span<const LabelledItems> queries,
                            double lambda) -> absl::StatusOr<LinearRanker> {
                    ASSIGN_OR_RETURN(ListNetResult result,
                                     TrainListNet(queries, lambda, options));
                    return LinearRanker{.weights = std::move(result.weights)};
                  });
}

absl::StatusOr<Rankers> FitRegressions(std::span<const LabelledItems> queries) {
  Rankers rankers;
  for (const double c : Grid()) {
    ASSIGN_OR_RETURN(const RegressionResult result,
                     FitRelevance(queries, 1 / c));
    rankers.push_back({.c = c, .weights = result.weights});
  }
  return rankers;
}

absl::StatusOr<Rankers> FitLogistics(std::span<const LabelledItems> queries) {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (const LabelledItems& query : queries) {
    const auto values = query.items.values();
    features.insert(features.end(), values.begin(), values.end());
    for (const uint32_t relevance : query.relevances) {
      labels.push_back(relevance > 0 ? 1 : 0);
    }
  }
  Rankers rankers;
  for (const double c : Grid()) {
    config::v1::LogisticOptions options;
    options.set_l2(1 / c);
    ASSIGN_OR_RETURN(
        const LogisticResult result,
        FitLogistic({features, labels, queries[0].items.num_features()},
                    options));
    rankers.push_back({.c = c, .weights = result.weights});
  }
  return rankers;
}

}  // namespace

std::vector<RankingMethod> GameMethods() {
  constexpr auto kStandard = GameOptions::STANDARD;
  constexpr auto kLetor = GameOptions::LETOR;
  return {
      Game("DCG", GameOptions::DCG, 0, kStandard),
      Game("graded DCG", GameOptions::GRADED_DCG, 0, kStandard),
      Game("NDCG'", GameOptions::NDCG, 0, kLetor),
      Game("mean NDCG'", GameOptions::MEAN_NDCG, 0, kLetor),
      Game("P@10", GameOptions::PRECISION, 10, kStandard),
      Game("mean NDCG' of 2", GameOptions::MEAN_NDCG, 0, kLetor, 2),
      Game("mean NDCG' of 8", GameOptions::MEAN_NDCG, 0, kLetor, 8),
  };
}

std::vector<RankingMethod> BaselineMethods() {
  return {
      RankSvm("RankSVM, pairs", RankSvmOptions::PAIRS),
      RankSvm("RankSVM, queries", RankSvmOptions::QUERIES),
      ListNet("ListNet", ListNetOptions::RELEVANCE),
      ListNet("ListNet, gains", ListNetOptions::GAIN),
      {"linear regression", false, FitRegressions},
      {"logistic regression", false, FitLogistics},
  };
}

RankingMethod BaselineMethod(const std::string& name) {
  std::vector<RankingMethod> methods = BaselineMethods();
  const auto found =
      std::ranges::find(methods, name, [](const auto& m) { return m.name; });
  CHECK(found != methods.end());
  return std::move(*found);
}

std::vector<LetorFigures> Judge(std::span<const LabelledItems> queries,
                                std::span<const double> weights) {
  std::vector<LetorFigures> figures;
  for (const LabelledItems& query : queries) {
    figures.push_back(LetorFiguresOf(RankingByScore(query, weights)));
  }
  return figures;
}

std::vector<LetorFigures> JudgeRandomOrder(
    std::span<const LabelledItems> queries) {
  const std::vector<double> zeros(queries[0].items.num_features(), 0.0);
  return Judge(queries, zeros);
}

}  // namespace sortition
