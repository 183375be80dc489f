#pragma once
// `mpg`: training of multivariate prediction games [WangXingAsifZiebart15].
//
// J (game_objective.h) is minimised by L-BFGS on its subgradient, as in the
// paper. Where kinks stop it before the proved gap is small, it goes on with
// the smoothed adversary, whose objective has none; then, and for measures that
// have no smoothed adversary at once, by cutting planes [TeoEtAl10] from all
// that has been seen. It ends as soon as the gap is closed, whatever the stage.
//
// F-beta games are expensive, so they are solved no better than the current gap
// of J needs: recorded planes hold for any strategies. After a few iterations
// of L-BFGS they go over to cutting planes, with planes of each query
// (query_planes.h) if memory allows.
#include <functional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/learners/games/game_objective.h"
#include "core/optim/certified_descent.h"

namespace sortition {

using GameResult = DescentResult;

// Minimises J at `lambda` from `start` (empty: 0). Deterministic. `watcher` may
// be empty; it is told what is known after each step, and true stops.
// InvalidArgument where lambda is not above 0 and finite, or the start has
// another size or is not finite, or a potential leaves the range of the solver;
// Internal where the simplex method of F_BETA fails.
absl::StatusOr<GameResult> TrainGame(GameObjective* objective, double lambda,
                                     const Eigen::VectorXd& start,
                                     const DescentWatcher& watcher = nullptr);

struct GamePathPoint {
  double lambda = 0;
  GameResult result;
  double validation = 0;  // Mean measure in expectation, higher is better.
};
struct GamePath {
  std::vector<GamePathPoint> points;  // By falling lambda.
  size_t chosen = 0;  // The largest `validation`, ties to the first.
  // Training queries left out because they have no NDCG.
  size_t num_skipped = 0;
  bool stopped =
      false;  // By the caller: the last λ is unfinished, others missing.
};

// The progress of a path.
struct GameProgress {
  size_t point = 0;  // Of `num_points` λ, from 0.
  size_t num_points = 0;
  double lambda = 0;
  const GameResult& so_far;  // At this λ.
};
// Called after each step of the descent; stops the path by returning true.
using GameWatcher = std::function<bool(const GameProgress&)>;

// TrainGame() for each λ of options.lambda, or by default for 1 / (C N) with C
// = 2^-6 .. 2^6 and N training queries that have a game, each from the θ before
// it, and the best on `validation`. A θ is judged by the measure that its
// equilibrium strategies have in expectation: they are what is served, it needs
// no draws, and it is a smoother function of θ than the measure of the most
// probable action. `watcher` may be empty.
absl::StatusOr<GamePath> TrainGamePath(
    std::span<const LabelledItems> training,
    std::span<const LabelledItems> validation,
    const config::v1::GameOptions& options, const ParallelFor& parallel_for,
    const GameWatcher& watcher = nullptr);

}  // namespace sortition
