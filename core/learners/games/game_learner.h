#pragma once
// `mpg`: training of multivariate prediction games [WangXingAsifZiebart15].
//
// L-BFGS minimises J (game_objective.h) with its subgradient, as in the paper.
// If kinks stop it before the proved gap is small, it continues with the
// smoothed adversary, whose objective has no kinks. After that, and directly
// for measures without a smoothed adversary, cutting planes [TeoEtAl10]
// continue from everything seen so far. Training ends at any stage as soon as
// the gap is closed.
//
// F-beta games are expensive, so they are solved only as exactly as the current
// gap of J needs: recorded planes hold for any strategies. After a few
// iterations of L-BFGS, F_BETA changes to cutting planes, with planes of each
// query (query_planes.h) if memory allows.
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
// be empty; it gets what is known after each step, and stops training by
// returning true. InvalidArgument if lambda is not above 0 and finite, if the
// start has the wrong size or is not finite, or if a potential leaves the range
// of the solver; Internal if the simplex method of F_BETA fails.
absl::StatusOr<GameResult> TrainGame(GameObjective* objective, double lambda,
                                     const Eigen::VectorXd& start,
                                     const DescentWatcher& watcher = nullptr);

struct GamePathPoint {
  double lambda = 0;
  GameResult result;
  double validation = 0;  // Mean expected measure, higher is better.
};
struct GamePath {
  std::vector<GamePathPoint> points;  // By falling lambda.
  // The point of the largest `validation`; ties go to the first.
  size_t chosen = 0;
  // Training queries that were left out because they have no NDCG.
  size_t num_skipped = 0;
  // The watcher stopped: the last λ is unfinished, others are missing.
  bool stopped = false;
};

// The progress along a path.
struct GameProgress {
  size_t point = 0;  // Of `num_points` λ, from 0.
  size_t num_points = 0;
  double lambda = 0;
  const GameResult& so_far;  // The result so far at this λ.
};
// Called after each step of the descent; stops the path by returning true.
using GameWatcher = std::function<bool(const GameProgress&)>;

// Calls TrainGame() for each λ of options.lambda, each from the θ before it,
// and chooses the best on `validation`. The default λ are 1 / (C N) for C =
// 2^-12 .. 2^6 and N training queries that have a game. The paper begins at
// 2^-6, which validation often chooses. A θ is judged by the expected measure
// of its equilibrium strategies: these are what is served, the expectation
// needs no draws, and it is a smoother function of θ than the measure of the
// most probable action. `watcher` may be empty.
absl::StatusOr<GamePath> TrainGamePath(
    std::span<const LabelledItems> training,
    std::span<const LabelledItems> validation,
    const config::v1::GameOptions& options, const ParallelFor& parallel_for,
    const GameWatcher& watcher = nullptr);

// Returns the number of λ of the path.
size_t GamePathSize(const config::v1::GameOptions& options);

}  // namespace sortition
