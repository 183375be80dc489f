#pragma once
// The learners that table 4 of the paper on prediction games compares
// [WangXingAsifZiebart15, sec. 4]: linear scores from labelled queries, each
// over a grid of regularisation weights.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"
#include "core/metrics/letor_metrics.h"

namespace sortition {

// One point of a method's grid.
struct LinearRanker {
  double c = 0;  // Weight of the sum of losses over queries beside ‖w‖² / 2.
  std::vector<double> weights;
  double relative_gap = 0;  // Proved; 0 if the method proves none.
};

struct RankingMethod {
  std::string name;
  bool is_game = false;
  // Trains all grid points.
  std::function<absl::StatusOr<std::vector<LinearRanker>>(
      std::span<const LabelledItems> train)>
      train;
};

// Returns prediction games, one for each measure by which rankings are judged.
std::vector<RankingMethod> GameMethods();
// Returns RankSVM by pairs and by queries, ListNet, linear and logistic
// regression.
std::vector<RankingMethod> BaselineMethods();
// Returns the baseline of this name. Requires that there is one.
RankingMethod BaselineMethod(const std::string& name);

// Returns the figures of each query ranked by falling score.
std::vector<LetorFigures> Judge(std::span<const LabelledItems> queries,
                                std::span<const double> weights);
// Returns the expected figures of each query over random orders.
std::vector<LetorFigures> JudgeRandomOrder(
    std::span<const LabelledItems> queries);

}  // namespace sortition
