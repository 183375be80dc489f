#include "bench/papers/games/ranking_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/clocks.h"
#include "bench/support/parallel_runs.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using Queries = std::vector<LabelledItems>;

struct Split {
  Queries train;
  Queries validation;
};

// Returns the fold's own split and, if `all`, three that validate on a third of
// its training queries each and train on the others and on its validation
// queries.
std::vector<Split> SplitsOf(const LetorFold& fold, bool all) {
  std::vector<Split> splits = {{fold.train, fold.validation}};
  if (!all) return splits;
  constexpr size_t kThirds = 3;
  for (size_t third = 0; third < kThirds; ++third) {
    Split split{fold.validation, {}};
    const size_t begin = fold.train.size() * third / kThirds;
    const size_t end = fold.train.size() * (third + 1) / kThirds;
    for (size_t q = 0; q < fold.train.size(); ++q) {
      (q >= begin && q < end ? split.validation : split.train)
          .push_back(fold.train[q]);
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

double MeanNdcg(std::span<const LetorFigures> figures) {
  return MeanOf(figures).mean_ndcg;
}

void AddUnit(const std::vector<double>& weights, std::vector<double>* sum) {
  const double norm = std::sqrt(
      std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0));
  sum->resize(weights.size());
  if (norm == 0) return;
  for (size_t j = 0; j < weights.size(); ++j) (*sum)[j] += weights[j] / norm;
}

// A point of the grid.
struct GridPoint {
  double c = 0;
  double validation = 0;
  std::vector<double> weights;
};

FoldChoice Choose(const std::vector<GridPoint>& grid, const Queries& test) {
  const auto best = std::ranges::max_element(
      grid, {}, [](const GridPoint& point) { return point.validation; });
  return {.setting = absl::StrFormat("C 2^%g", std::log2(best->c)),
          .validation = best->validation,
          .at_end = best == grid.begin() || best == grid.end() - 1,
          .test = Judge(test, best->weights)};
}

// `averaged` may be null.
absl::Status RunFold(const RankingMethod& method, const LetorFold& fold,
                     FoldChoice* single, FoldChoice* averaged) {
  std::vector<GridPoint> grid;
  const std::vector<Split> splits = SplitsOf(fold, averaged != nullptr);
  double largest_gap = 0, seconds = 0;
  for (const Split& split : splits) {
    const double start = ThreadCpuSeconds();
    ASSIGN_OR_RETURN(const std::vector<LinearRanker> rankers,
                     method.train(split.train));
    seconds += ThreadCpuSeconds() - start;
    std::vector<GridPoint> own;
    for (const LinearRanker& ranker : rankers) {
      own.push_back({ranker.c,
                     MeanNdcg(Judge(split.validation, ranker.weights)),
                     ranker.weights});
      largest_gap = std::max(largest_gap, ranker.relative_gap);
    }
    grid.resize(own.size());
    for (size_t g = 0; g < own.size(); ++g) {
      grid[g].c = own[g].c;
      grid[g].validation +=
          own[g].validation / static_cast<double>(splits.size());
      AddUnit(own[g].weights, &grid[g].weights);
    }
    if (&split != &splits.front()) continue;
    *single = Choose(own, fold.test);
    single->seconds = seconds;
    single->largest_gap = largest_gap;
  }
  if (averaged == nullptr) return absl::OkStatus();
  *averaged = Choose(grid, fold.test);
  averaged->seconds = seconds;
  averaged->largest_gap = largest_gap;
  return absl::OkStatus();
}

// Puts the game that is best on each fold's validation queries first.
void AddChosenGame(std::vector<MethodChoice>* choices) {
  MethodChoice chosen{"MPG, chosen", true, {}};
  for (size_t f = 0; f < kNumFolds; ++f) {
    double seconds = 0;
    for (const MethodChoice& method : *choices) {
      if (!method.is_game) continue;
      const FoldChoice& fold = method.folds[f];
      seconds += fold.seconds;
      if (fold.validation > chosen.folds[f].validation) {
        chosen.folds[f] = fold;
        chosen.folds[f].setting = absl::StrCat(method.name, ", ", fold.setting);
      }
    }
    chosen.folds[f].seconds = seconds;
  }
  choices->insert(choices->begin(), std::move(chosen));
}

std::vector<double> QueryNdcgs(const MethodChoice& method) {
  std::vector<double> ndcgs;
  for (const FoldChoice& fold : method.folds) {
    for (const LetorFigures& query : fold.test) {
      ndcgs.push_back(query.mean_ndcg);
    }
  }
  return ndcgs;
}

}  // namespace

absl::StatusOr<RankingChoices> ChooseRankings(
    const LetorFolds& data, const std::vector<RankingMethod>& methods,
    bool averaged, int num_threads) {
  RankingChoices choices;
  for (const RankingMethod& method : methods) {
    choices.single.push_back({method.name, method.is_game, {}});
  }
  if (averaged) choices.averaged = choices.single;
  const auto run = [&](size_t i) -> absl::Status {
    const size_t m = i / kNumFolds;
    const size_t f = i % kNumFolds;
    RETURN_IF_ERROR(
        RunFold(methods[m], data.folds[f], &choices.single[m].folds[f],
                averaged ? &choices.averaged[m].folds[f] : nullptr));
    std::fprintf(stderr, ".");
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(methods.size() * kNumFolds, num_threads, run));
  std::fprintf(stderr, "\n");
  AddChosenGame(&choices.single);
  if (averaged) AddChosenGame(&choices.averaged);
  return choices;
}

LetorFigures MeanOfFolds(const MethodChoice& method) {
  std::vector<LetorFigures> folds;
  for (const FoldChoice& fold : method.folds)
    folds.push_back(MeanOf(fold.test));
  return MeanOf(folds);
}

PairedTest TestQueries(const MethodChoice& a, const MethodChoice& b) {
  return TestPairs(QueryNdcgs(a), QueryNdcgs(b));
}

}  // namespace sortition
