#pragma once
// Zero-sum games given as a matrix that grows: the simplex method on an
// exchange tableau that is kept from one solution to the next.
//   max Σ_j z_j  subject to  Σ_j a_ij z_j ≤ 1, z ≥ 0,   a = payoffs + shift > 0
// has the value 1 / (V + shift); z and its dual x, scaled to sum 1, are the
// strategies. A new column leaves the tableau primal feasible (primal pivots
// repair it), a new row dual feasible (dual pivots). Right-hand sides and costs
// are perturbed by up to `perturbation`, since games are degenerate.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Reusable: no allocation once it has held a game as large. Deterministic.
class MatrixSimplex {
 public:
  // Forgets all. Every payoff to come must be >= `lowest_payoff`, or at least
  // the value of every game solved. Values are off by at most `perturbation`.
  void Clear(double lowest_payoff, double perturbation);

  // Payoffs of the new row, which maximises, against the columns there are;
  // requires finite payoffs, one per column.
  void AddRow(std::span<const double> payoffs);
  // Payoffs of the rows there are against the new column, which minimises.
  void AddColumn(std::span<const double> payoffs);

  // False where rounding defeated even a fresh start: the strategies are then
  // not to be used. Requires one row and one column at least.
  bool Solve();

  int num_rows() const { return num_rows_; }
  int num_columns() const { return num_columns_; }
  double payoff(int row, int column) const {
    return payoffs_[index(row, column)] - shift_;
  }
  // Of the last Solve(): probabilities, sum 1.
  std::span<const double> row_strategy() const { return row_strategy_; }
  std::span<const double> column_strategy() const { return column_strategy_; }
  double value() const { return value_; }             // Up to the perturbation.
  int64_t num_pivots() const { return num_pivots_; }  // Since Clear().
  // Solutions, since Clear(), for which the tableau had to be computed anew.
  int num_repairs() const { return num_repairs_; }

  // Whether the action can be removed: the basis does not need it. Then its
  // probability is 0.
  bool RowIsIdle(int row) const { return place_of_row_[row] >= 0; }
  bool ColumnIsIdle(int column) const { return place_of_column_[column] < 0; }
  // Requires an idle one, and no addition since Solve(). The last row (column)
  // takes its index, in the strategies too.
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
  size_t stride_ = 0;  // Room for columns; num_rows_ · stride_ entries.
  std::vector<double> payoffs_;         // Shifted.
  std::vector<double> row_bounds_;      // The perturbed 1s of the rows,
  std::vector<double> column_profits_;  // and of the columns.

  // basic = rhs - tableau · nonbasic; objective = ... + cost · nonbasic. A
  // label j >= 0 is z_j, ~i the slack of game row i. A place r >= 0 is the
  // tableau row where the variable is basic, ~c the tableau column where it is
  // not.
  std::vector<double> tableau_;
  std::vector<double> rhs_;
  std::vector<double> cost_;
  std::vector<int> row_label_;
  std::vector<int> column_label_;
  std::vector<int> place_of_row_;     // Of the slack of a game row.
  std::vector<int> place_of_column_;  // Of z of a game column.

  std::vector<double> row_strategy_;
  std::vector<double> column_strategy_;
  std::vector<double> residual_;
  // Of Refactor(): whether z_j is still to be basic, slack i nonbasic.
  std::vector<char> wanted_columns_;
  std::vector<char> wanted_rows_;
  double value_ = 0;
  int64_t num_pivots_ = 0;
  int num_repairs_ = 0;
};

}  // namespace sortition
