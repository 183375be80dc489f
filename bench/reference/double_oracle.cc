#include "bench/reference/double_oracle.h"

#include <algorithm>
#include <cmath>

#include "bench/reference/matrix_game.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// The game restricted to the actions found so far.
class SubGame {
 public:
  explicit SubGame(const OracleGame& game)
      : game_(game),
        rows_{game.first_row},
        columns_{game.first_column},
        payoffs_(PayoffMatrix(game, rows_, columns_)) {}

  absl::StatusOr<MatrixGameSolution> Solve() const {
    return SolveMatrixGame(payoffs_);
  }

  MixedStrategy Rows(const Eigen::VectorXd& probabilities) const {
    return {rows_, probabilities};
  }
  MixedStrategy Columns(const Eigen::VectorXd& probabilities) const {
    return {columns_, probabilities};
  }

  // Adds a row. Returns false if it is already there.
  bool AddRow(const GameAction& row) {
    if (std::find(rows_.begin(), rows_.end(), row) != rows_.end()) return false;
    rows_.push_back(row);
    payoffs_.conservativeResize(payoffs_.rows() + 1, Eigen::NoChange);
    payoffs_.bottomRows(1) = PayoffMatrix(game_, {row}, columns_);
    return true;
  }
  bool AddColumn(const GameAction& column) {
    if (std::find(columns_.begin(), columns_.end(), column) != columns_.end()) {
      return false;
    }
    columns_.push_back(column);
    payoffs_.conservativeResize(Eigen::NoChange, payoffs_.cols() + 1);
    payoffs_.rightCols(1) = PayoffMatrix(game_, rows_, {column});
    return true;
  }

 private:
  const OracleGame& game_;
  std::vector<GameAction> rows_, columns_;
  Eigen::MatrixXd payoffs_;
};

double AgainstColumn(const OracleGame& game, const MixedStrategy& rows,
                     const GameAction& column) {
  return PayoffMatrix(game, rows.actions, {column})
      .col(0)
      .dot(rows.probabilities);
}

double AgainstRow(const OracleGame& game, const MixedStrategy& columns,
                  const GameAction& row) {
  return PayoffMatrix(game, {row}, columns.actions)
      .row(0)
      .dot(columns.probabilities);
}

}  // namespace

Eigen::MatrixXd PayoffMatrix(const OracleGame& game,
                             const std::vector<GameAction>& rows,
                             const std::vector<GameAction>& columns) {
  return Eigen::MatrixXd::NullaryExpr(static_cast<Eigen::Index>(rows.size()),
                                      static_cast<Eigen::Index>(columns.size()),
                                      [&](Eigen::Index i, Eigen::Index j) {
                                        return game.payoff(rows[i], columns[j]);
                                      });
}

absl::StatusOr<DoubleOracleSolution> SolveByDoubleOracle(
    const OracleGame& game, const DoubleOracleOptions& options) {
  SubGame sub_game(game);
  DoubleOracleSolution best;
  best.lower = -HUGE_VAL;
  best.upper = HUGE_VAL;
  while (best.iterations < options.max_iterations) {
    ++best.iterations;
    // Lines 5 to 9: the predictor's strategy, the adversary's answer.
    ASSIGN_OR_RETURN(const MatrixGameSolution first, sub_game.Solve());
    const MixedStrategy rows = sub_game.Rows(first.row_strategy);
    const GameAction column = game.best_column(rows);
    const double lower = AgainstColumn(game, rows, column);
    if (lower > best.lower) {
      best.lower = lower;
      best.rows = rows;
    }
    const bool column_added = sub_game.AddColumn(column);
    // Lines 10 to 15: the same with the roles exchanged.
    ASSIGN_OR_RETURN(const MatrixGameSolution second, sub_game.Solve());
    const MixedStrategy columns = sub_game.Columns(second.column_strategy);
    const GameAction row = game.best_row(columns);
    const double upper = AgainstRow(game, columns, row);
    if (upper < best.upper) {
      best.upper = upper;
      best.columns = columns;
    }
    const bool row_added = sub_game.AddRow(row);
    best.converged = best.upper - best.lower <= options.tolerance;
    if (best.converged || (!column_added && !row_added)) break;
  }
  return best;
}

}  // namespace sortition
