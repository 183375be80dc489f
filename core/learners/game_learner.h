#pragma once
// `mpg`: training of multivariate prediction games [WangXingAsifZiebart15].
//
// J (game_objective.h) is minimised by L-BFGS on its subgradient, as in the
// paper. Where kinks stop it before the proved gap is small, it goes on with
// the smoothed adversary, whose objective has none; then, and for measures that
// have no smoothed adversary at once, by cutting planes [TeoEtAl10] from all
// that has been seen.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/learners/game_objective.h"

namespace sortition {

struct GameResult {
  Eigen::VectorXd theta;
  double objective = 0;   // J(theta) is not above it.
  double dual_bound = 0;  // min J is not below it.
  uint32_t evaluations = 0;
  std::string termination;  // For people: "gap", or what stopped each stage.
  double gap() const { return objective - dual_bound; }
};

// Minimises J at `lambda` from `start` (empty: 0). Deterministic.
// InvalidArgument where lambda is not above 0 and finite, or the start has
// another size or is not finite, or a potential leaves the range of the solver;
// Internal where the simplex method of F_BETA fails.
absl::StatusOr<GameResult> TrainGame(GameObjective* objective, double lambda,
                                     const Eigen::VectorXd& start);

struct GamePathPoint {
  double lambda = 0;
  GameResult result;
  double validation = 0;  // Mean measure in expectation, higher is better.
};
using GamePointCallback = std::function<void(const GamePathPoint&)>;
inline constexpr size_t kNumDefaultLambdas = 13;  // C = 2^-6 .. 2^6.

struct GamePath {
  std::vector<GamePathPoint> points;  // By falling lambda.
  size_t chosen = 0;                  // Of the largest `validation`; the first.
};

// TrainGame() for each λ of options.lambda, or by default for 1 / (C N) with C
// = 2^-6 .. 2^6 and N training queries, each from the θ before it, and the best
// on `validation`. A θ is judged by the measure that its equilibrium strategies
// have in expectation: they are what is served, it needs no draws, and it is a
// smoother function of θ than the measure of the most probable action.
// `on_point` is called after each λ.
absl::StatusOr<GamePath> TrainGamePath(std::span<const GameQuery> training,
                                       std::span<const GameQuery> validation,
                                       const config::v1::GameOptions& options,
                                       const ParallelFor& parallel_for,
                                       const GamePointCallback& on_point = {});

}  // namespace sortition
