#include "core/learners/trees/tree_learner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/learners/orders/order_learners.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/tied_ranking.h"
#include "core/scoring/tree_ensemble.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;

// Number of ranks of the NDCG; as in trainer/trees/tree_training.cc.
constexpr uint32_t kNdcgRanks = 10;

// Number of standard errors by which trees must beat the linear weights.
constexpr double kLeastErrors = 1;

struct GridPoint {
  TreeOptions::Objective objective;
  uint32_t depth;
  double rate;
  double subsample;
  size_t least_queries;  // Minimum number of training queries.
};

constexpr size_t kManyQueries = 200;
constexpr std::array kGrid = {
    GridPoint{TreeOptions::RANK_PAIRWISE, 2, 0.05, 1, 0},
    GridPoint{TreeOptions::RANK_PAIRWISE, 4, 0.05, 0.5, 0},
    GridPoint{TreeOptions::RANK_NDCG, 6, 0.1, 1, 0},
    GridPoint{TreeOptions::RANK_PAIRWISE, 6, 0.05, 0.5, kManyQueries},
};

void ScoreItems(const TreeEnsemble& trees, const Candidates& items,
                std::span<double> scores) {
  std::vector<uint32_t> all(items.num_candidates());
  std::iota(all.begin(), all.end(), 0u);
  TreeScratch scratch;
  trees.Scores(items, all, &scratch, scores);
}

// The linear weights, and their scores on training and validation queries.
struct LinearStart {
  std::vector<double> weights;
  std::string setting;
  std::vector<float> train;
  std::vector<float> validation;
};

std::vector<float> ScoresOf(std::span<const LabelledItems> queries,
                            std::span<const double> weights) {
  std::vector<float> all;
  std::vector<double> scores;
  for (const LabelledItems& query : queries) {
    scores.resize(query.relevances.size());
    ScoreAll(query.items, weights, scores);
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

absl::StatusOr<LinearStart> TrainStart(const LabelledTask& task,
                                       const LabelledShape& shape) {
  ASSIGN_OR_RETURN(const auto list_net, MakeListNetLearner({}, shape));
  ASSIGN_OR_RETURN(LabelledResult linear,
                   list_net->Train({.training = task.training,
                                    .validation = task.validation,
                                    .parallel_for = task.parallel_for}));
  LinearStart start;
  start.setting = absl::StrCat("linear: listnet, lambda ",
                               linear.points[linear.chosen].lambda);
  start.train = ScoresOf(task.training, linear.weights);
  start.validation = ScoresOf(task.validation, linear.weights);
  start.weights = std::move(linear.weights);
  return start;
}

PointFit LinearFit(const LinearStart& start, size_t num_validation) {
  return {.weights = start.weights,
          .passes = 0,
          .termination = "no trees",
          .note = absl::StrCat(
              "No trees were better than the linear weights (listnet) on the ",
              num_validation,
              " validation queries: the model has the linear weights alone")};
}

std::string SettingOf(const TreeOptions& options) {
  return absl::StrCat(TreeOptions::Objective_Name(options.objective()),
                      ", depth ", options.max_depth(), ", rate ",
                      options.learning_rate(), ", subsample ",
                      options.subsample());
}

absl::StatusOr<double> NdcgOf(const LabelledItems& query, const PointFit& fit) {
  std::vector<double> scores(query.relevances.size());
  if (fit.score) {
    fit.score(query.items, scores);
  } else {
    ScoreAll(query.items, fit.weights, scores);
  }
  return Ndcg(TiedRanking(scores, query.relevances), kNdcgRanks);
}

// Returns whether a fit is better than the linear weights on the validation
// queries: by at least kLeastErrors standard errors of the mean difference,
// which one query does not have.
bool IsBetterThanLinear(const PointFit& fit, const PointFit& linear,
                        std::span<const LabelledItems> validation) {
  double sum = 0;
  double squares = 0;
  for (const LabelledItems& query : validation) {
    const double gain = *NdcgOf(query, fit) - *NdcgOf(query, linear);
    sum += gain;
    squares += gain * gain;
  }
  const auto n = static_cast<double>(validation.size());
  if (n < 2) return false;
  // n times the standard error of the mean.
  const double error =
      std::sqrt(std::max(0.0, (squares - sum * sum / n) * n / (n - 1)));
  return sum > kLeastErrors * error;
}

absl::StatusOr<PointFit> FitTrees(const TreeOptions& options,
                                  const LabelledTask& task,
                                  const LinearStart& start,
                                  const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(TrainedTrees trained,
                   task.train_trees(task.training, task.validation, options,
                                    {start.train, start.validation}));
  on_step();
  if (trained.ensemble.trees_size() == 0) {
    PointFit fit = LinearFit(start, task.validation.size());
    fit.passes = trained.rounds;
    return fit;
  }
  // Rows of training have zeros, where rows of callers may be sparse.
  trained.ensemble.set_absent_feature(model::v1::TreeEnsemble::ZERO);
  ASSIGN_OR_RETURN(TreeEnsemble made, TreeEnsemble::Create(trained.ensemble));
  const auto trees = std::make_shared<const TreeEnsemble>(std::move(made));
  PointFit fit{
      .weights = start.weights,
      .passes = trained.rounds,
      .termination = absl::StrCat("best of ", trained.rounds, " rounds kept, ",
                                  trained.ensemble.trees_size(), " trees")};
  fit.score = [trees, weights = start.weights](const Candidates& items,
                                               std::span<double> scores) {
    ScoreItems(*trees, items, scores);
    for (uint32_t i = 0; i < items.num_candidates(); ++i) {
      scores[i] += items.Score(i, weights);
    }
  };
  fit.weights.push_back(1);
  fit.trees = std::move(trained.ensemble);
  if (options.from_linear()) {
    PointFit linear = LinearFit(start, task.validation.size());
    if (!IsBetterThanLinear(fit, linear, task.validation)) {
      linear.passes = trained.rounds;
      linear.termination =
          absl::StrCat(fit.termination, ", not better than linear");
      return linear;
    }
  }
  return fit;
}

absl::StatusOr<std::vector<TuningPoint>> Points(const TreeOptions& options,
                                                const LabelledShape& shape,
                                                const LabelledTask& task) {
  if (!task.train_trees) {
    return absl::UnimplementedError("this program cannot train trees");
  }
  const auto start = std::make_shared<LinearStart>();
  std::vector<TuningPoint> points;
  if (options.from_linear()) {
    ASSIGN_OR_RETURN(*start, TrainStart(task, shape));
    points.push_back({.setting = start->setting,
                      .fit = [start](const LabelledTask& of,
                                     const std::function<void()>& on_step)
                          -> absl::StatusOr<PointFit> {
                        on_step();
                        return LinearFit(*start, of.validation.size());
                      }});
  } else {
    start->weights.assign(task.training[0].items.num_features(), 0.0);
  }
  for (const TreeOptions& of :
       internal::TreeGrid(options, task.training.size())) {
    points.push_back({.setting = SettingOf(of),
                      .fit = [of, start](const LabelledTask& fitted,
                                         const std::function<void()>& on_step) {
                        return FitTrees(of, fitted, *start, on_step);
                      }});
  }
  return points;
}

}  // namespace

namespace internal {

std::vector<TreeOptions> TreeGrid(const TreeOptions& options,
                                  size_t num_queries) {
  std::vector<TreeOptions> grid;
  for (const GridPoint& point : kGrid) {
    if (num_queries < point.least_queries) continue;
    TreeOptions of = options;
    if (!options.has_objective()) of.set_objective(point.objective);
    if (!options.has_max_depth()) of.set_max_depth(point.depth);
    if (!options.has_learning_rate()) of.set_learning_rate(point.rate);
    if (!options.has_subsample()) of.set_subsample(point.subsample);
    const bool is_known =
        std::any_of(grid.begin(), grid.end(), [&](const TreeOptions& other) {
          return SettingOf(other) == SettingOf(of);
        });
    if (!is_known) grid.push_back(std::move(of));
  }
  return grid;
}

size_t TreeGridSize(const TreeOptions& options) {
  return TreeGrid(options, kManyQueries).size();
}

}  // namespace internal

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeTreeLearner(
    const TreeOptions& options, const LabelledShape& shape) {
  TunedLearnerSpec spec;
  spec.options = std::make_shared<TreeOptions>(options);
  ASSIGN_OR_RETURN(spec.measure, OrderMeasure(shape));
  spec.actions = {ActionKind::kRank, ActionKind::kSelect};
  spec.scales_features = false;
  spec.num_points =
      internal::TreeGridSize(options) + (options.from_linear() ? 1 : 0);
  spec.points = [options, shape](const LabelledTask& task) {
    return Points(options, shape, task);
  };
  spec.validate = &NdcgOf;
  spec.validation_name = absl::StrCat("NDCG@", kNdcgRanks, ", deterministic");
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
