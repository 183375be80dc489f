#pragma once
// Solves zero-sum games given by a matrix that grows, with the simplex method
// on an exchange tableau that is kept from one solution to the next. The linear
// program
//   max Σ_j z_j  subject to  Σ_j a_ij z_j ≤ 1, z ≥ 0,   a = payoffs + shift > 0
// has the value 1 / (V + shift), where V is the value of the game; z and its
// dual x, scaled to sum 1, are the strategies. After a new column the tableau
// is still primal feasible, and primal pivots restore optimality; after a new
// row it is dual feasible, and dual pivots do. Right-hand sides and costs are
// perturbed by up to `perturbation`, since games are degenerate.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Reusable: allocates nothing once it has held a game as large. Deterministic.
class MatrixSimplex {
 public:
  // Removes all rows and columns. Every payoff to be added, or at least the
  // value of every game to be solved, must be >= `lowest_payoff`. Values have
  // an error of at most `perturbation`.
  void Clear(double lowest_payoff, double perturbation);

  // Adds a row, an action of the maximising player, with its payoffs against
  // the existing columns. Requires one finite payoff for each column.
  void AddRow(std::span<const double> payoffs);
  // Adds a column, an action of the minimising player, with the payoffs of the
  // existing rows against it.
  void AddColumn(std::span<const double> payoffs);

  // Solves the game. Returns false if it failed because of rounding even after
  // a fresh start; then the strategies must not be used. Requires at least one
  // row and one column.
  bool Solve();

  int num_rows() const { return num_rows_; }
  int num_columns() const { return num_columns_; }
  double payoff(int row, int column) const {
    return payoffs_[index(row, column)] - shift_;
  }
  // The result of the last Solve(). Strategies are probabilities with sum 1.
  std::span<const double> row_strategy() const { return row_strategy_; }
  std::span<const double> column_strategy() const { return column_strategy_; }
  double value() const { return value_; }  // Exact up to the perturbation.
  int64_t num_pivots() const { return num_pivots_; }  // Since Clear().
  // The number of solutions since Clear() for which the tableau had to be
  // recomputed.
  int num_repairs() const { return num_repairs_; }

  // True if the action can be removed because the basis does not need it. Its
  // probability is then 0.
  bool RowIsIdle(int row) const { return place_of_row_[row] >= 0; }
  bool ColumnIsIdle(int column) const { return place_of_column_[column] < 0; }
  // Remove an idle row (column). Require that nothing was added since Solve().
  // The last row (column) moves to the free index, also in the strategies.
  void RemoveRow(int row);
  void RemoveColumn(int column);

 private:
  size_t index(int row, int column) const {
    return static_cast<size_t>(row) * stride_ + column;
  }
  double* tableau_row(int row) { return tableau_.data() + index(row, 0); }
  bool StrategiesAreCurrent() const {
    return static_cast<int>(row_strategy_.size()) == num_rows_ &&
           static_cast<int>(column_strategy_.size()) == num_columns_;
  }
  void Reserve(int rows, int columns);
  double Perturbed();
  void FillTableau();
  void Pivot(int row, int column);
  bool PrimalPivots();
  bool DualPivots();
  bool RunPivots();
  int LeavingRow(int column) const;
  int EnteringColumn(int row) const;
  bool Refactor();
  bool ReadStrategies();
  void SetRowLabel(int tableau_row, int label);
  void SetColumnLabel(int tableau_column, int label);

  double shift_ = 0;
  double perturbation_ = 0;
  uint64_t random_ = 0;
  int num_rows_ = 0;
  int num_columns_ = 0;
  size_t stride_ = 0;                   // Row length of payoffs_ and tableau_.
  std::vector<double> payoffs_;         // With shift_ added.
  std::vector<double> row_bounds_;      // The perturbed 1s of the rows.
  std::vector<double> column_profits_;  // The perturbed 1s of the columns.

  // basic = rhs - tableau · nonbasic; objective = ... + cost · nonbasic. A
  // label j >= 0 means z_j; a label ~i means the slack of game row i. A place r
  // >= 0 is the tableau row of a basic variable; a place ~c is the tableau
  // column of a nonbasic one.
  std::vector<double> tableau_;
  std::vector<double> rhs_;
  std::vector<double> cost_;
  std::vector<int> row_label_;
  std::vector<int> column_label_;
  std::vector<int> place_of_row_;     // Place of the slack of a game row.
  std::vector<int> place_of_column_;  // Place of the z of a game column.

  std::vector<double> row_strategy_;
  std::vector<double> column_strategy_;
  std::vector<double> residual_;
  // For Refactor(): whether z_j must still become basic and slack i nonbasic.
  std::vector<char> wanted_columns_;
  std::vector<char> wanted_rows_;
  double value_ = 0;
  int64_t num_pivots_ = 0;
  int num_repairs_ = 0;
};

}  // namespace sortition
