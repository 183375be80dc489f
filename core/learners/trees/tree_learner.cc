#include "core/learners/trees/tree_learner.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/scoring/tree_ensemble.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;

void ScoreItems(const TreeEnsemble& trees, const Candidates& items,
                std::span<double> scores) {
  std::vector<uint32_t> all(items.num_candidates());
  std::iota(all.begin(), all.end(), 0u);
  TreeScratch scratch;
  trees.Scores(items, all, &scratch, scores);
}

absl::StatusOr<PointFit> FitTrees(const TreeOptions& options,
                                  const LabelledTask& task,
                                  const std::function<void()>& on_step) {
  if (!task.train_trees) {
    return absl::UnimplementedError("this program cannot train trees");
  }
  ASSIGN_OR_RETURN(TrainedTrees trained,
                   task.train_trees(task.training, task.validation, options));
  on_step();
  // Rows of training have zeros, where rows of callers may be sparse.
  trained.ensemble.set_absent_feature(model::v1::TreeEnsemble::ZERO);
  ASSIGN_OR_RETURN(TreeEnsemble made, TreeEnsemble::Create(trained.ensemble));
  const auto trees = std::make_shared<const TreeEnsemble>(std::move(made));
  PointFit fit{
      .weights =
          std::vector<double>(task.training[0].items.num_features() + 1, 0.0),
      .passes = trained.rounds,
      .termination = absl::StrCat("best of ", trained.rounds, " rounds kept, ",
                                  trained.ensemble.trees_size(), " trees")};
  fit.weights.back() = 1;
  fit.trees = std::move(trained.ensemble);
  fit.score = [trees](const Candidates& items, std::span<double> scores) {
    ScoreItems(*trees, items, scores);
  };
  return fit;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeTreeLearner(
    const TreeOptions& options, const LabelledShape& shape) {
  TunedLearnerSpec spec;
  spec.options = std::make_shared<TreeOptions>(options);
  ASSIGN_OR_RETURN(spec.measure, OrderMeasure(shape));
  spec.actions = {ActionKind::kRank, ActionKind::kSelect};
  spec.points = [options](const LabelledTask&) {
    return PointsAt({0}, [options](const LabelledTask& task, double,
                                   const std::function<void()>& on_step) {
      return FitTrees(options, task, on_step);
    });
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
