#pragma once
// The double oracle method for games too large to write down
// [WangXingAsifZiebart15, sec. 3.3, algorithm 1; McMahanGordonBlum03]. It
// solves a matrix game over the actions found so far. This game grows by each
// player's best response to the other's strategy, until neither gains by it.
#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace sortition {

// An action in a game of n items: the label of each item (0/1 for a set), or
// the item at each rank.
using GameAction = std::vector<int>;

struct MixedStrategy {
  std::vector<GameAction> actions;
  Eigen::VectorXd probabilities;  // ≥ 0, sums to 1; as many as actions.
};

// A zero-sum game; rows maximise the payoff.
struct OracleGame {
  std::function<double(const GameAction& row, const GameAction& column)> payoff;
  // Return an action of largest (smallest) expected payoff against the
  // strategy.
  std::function<GameAction(const MixedStrategy& columns)> best_row;
  std::function<GameAction(const MixedStrategy& rows)> best_column;
  GameAction first_row, first_column;
};

struct DoubleOracleOptions {
  double tolerance = 1e-6;    // Stop at upper - lower ≤ tolerance.
  int max_iterations = 1000;  // Each solves two linear programs.
};

struct DoubleOracleSolution {
  MixedStrategy rows, columns;  // They guarantee lower and upper.
  // lower ≤ value of the game ≤ upper, proved by best responses.
  double lower = 0;
  double upper = 0;
  int iterations = 0;
  bool converged = false;
};

// Errors as SolveMatrixGame().
absl::StatusOr<DoubleOracleSolution> SolveByDoubleOracle(
    const OracleGame& game, const DoubleOracleOptions& options);

// Returns the payoff of every pair, to solve a small game as a whole.
Eigen::MatrixXd PayoffMatrix(const OracleGame& game,
                             const std::vector<GameAction>& rows,
                             const std::vector<GameAction>& columns);

}  // namespace sortition
