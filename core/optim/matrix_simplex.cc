#include "core/optim/matrix_simplex.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace sortition {
namespace {

// Smaller entries are not used as pivots: dividing by them would amplify the
// rounding errors of the tableau, whose entries are of order 1.
constexpr double kPivot = 1e-10;
// A reduced cost counts as 0 if its absolute value is below this.
constexpr double kReducedCost = 1e-11;
// A right-hand side counts as 0 if its absolute value is below this.
constexpr double kFeasible = 1e-11;
// If the payoffs of the strategies differ from the value by more than this,
// relative to the shifted value, the tableau is recomputed.
constexpr double kResidual = 1e-9;

}  // namespace

void MatrixSimplex::Clear(double lowest_payoff, double perturbation) {
  shift_ = 1 - lowest_payoff;
  perturbation_ = perturbation;
  random_ = 0;
  num_rows_ = num_columns_ = 0;
  num_pivots_ = 0;
  num_repairs_ = 0;
  row_strategy_.clear();
  column_strategy_.clear();
  row_bounds_.clear();
  column_profits_.clear();
  rhs_.clear();
  cost_.clear();
  row_label_.clear();
  column_label_.clear();
  place_of_row_.clear();
  place_of_column_.clear();
}

// Returns 1 plus the next number of Weyl's sequence, scaled to [0,
// perturbation_).
double MatrixSimplex::Perturbed() {
  random_ += 0x9E3779B97F4A7C15u;
  return 1 + perturbation_ * (static_cast<double>(random_ >> 11) * 0x1p-53);
}

// Makes room for a game of this size. Rows keep their length while there is
// room, so that adding a row or column moves nothing.
void MatrixSimplex::Reserve(int rows, int columns) {
  if (static_cast<size_t>(columns) > stride_) {
    const size_t stride = std::max<size_t>(2 * stride_, columns + 16);
    std::vector<double> payoffs(std::max(rows, 16) * stride);
    std::vector<double> tableau(payoffs.size());
    for (int i = 0; i < num_rows_; ++i) {
      std::copy_n(payoffs_.data() + index(i, 0), num_columns_,
                  payoffs.data() + i * stride);
      std::copy_n(tableau_.data() + index(i, 0), num_columns_,
                  tableau.data() + i * stride);
    }
    payoffs_.swap(payoffs);
    tableau_.swap(tableau);
    stride_ = stride;
  }
  if (rows * stride_ > payoffs_.size()) {
    const size_t size = std::max(2 * payoffs_.size(), rows * stride_);
    payoffs_.resize(size);
    tableau_.resize(size);
  }
}

void MatrixSimplex::SetRowLabel(int tableau_row, int label) {
  row_label_[tableau_row] = label;
  (label >= 0 ? place_of_column_[label] : place_of_row_[~label]) = tableau_row;
}

void MatrixSimplex::SetColumnLabel(int tableau_column, int label) {
  column_label_[tableau_column] = label;
  (label >= 0 ? place_of_column_[label] : place_of_row_[~label]) =
      ~tableau_column;
}

// The new slack is basic. Existing basic variables are expressed by nonbasic
// ones: a' z = a_N' z_N + a_B' (rhs - T nonbasic).
void MatrixSimplex::AddRow(std::span<const double> payoffs) {
  DCHECK(static_cast<int>(payoffs.size()) == num_columns_);
  Reserve(num_rows_ + 1, num_columns_);
  const int row = num_rows_++;
  double* stored = payoffs_.data() + index(row, 0);
  double* entries = tableau_row(row);
  double rhs = Perturbed();
  row_bounds_.push_back(rhs);
  std::fill_n(entries, num_columns_, 0.0);
  for (int j = 0; j < num_columns_; ++j) {
    stored[j] = payoffs[j] + shift_;
    if (place_of_column_[j] < 0) entries[~place_of_column_[j]] += stored[j];
  }
  for (int j = 0; j < num_columns_; ++j) {
    const int basic = place_of_column_[j];
    if (basic < 0) continue;
    const double factor = stored[j];
    const double* other = tableau_row(basic);
    for (int c = 0; c < num_columns_; ++c) entries[c] -= factor * other[c];
    rhs -= factor * rhs_[basic];
  }
  rhs_.push_back(rhs);
  row_label_.push_back(0);
  place_of_row_.push_back(0);
  SetRowLabel(row, ~row);
}

// The tableau column of the slack of row i is column i of the inverse basis.
// The new column is the sum of these columns, weighted with its payoffs.
void MatrixSimplex::AddColumn(std::span<const double> payoffs) {
  DCHECK(static_cast<int>(payoffs.size()) == num_rows_);
  Reserve(num_rows_, num_columns_ + 1);
  const int column = num_columns_++;
  double cost = Perturbed();
  column_profits_.push_back(cost);
  for (int i = 0; i < num_rows_; ++i) {
    payoffs_[index(i, column)] = payoffs[i] + shift_;
    tableau_[index(i, column)] = 0;
  }
  for (int i = 0; i < num_rows_; ++i) {
    const double factor = payoffs_[index(i, column)];
    const int place = place_of_row_[i];
    if (place >= 0) {
      tableau_[index(place, column)] += factor;
      continue;
    }
    cost += factor * cost_[~place];
    for (int r = 0; r < num_rows_; ++r) {
      double* entries = tableau_row(r);
      entries[column] += factor * entries[~place];
    }
  }
  cost_.push_back(cost);
  column_label_.push_back(0);
  place_of_column_.push_back(0);
  SetColumnLabel(column, column);
}

void MatrixSimplex::Pivot(int row, int column) {
  ++num_pivots_;
  double* pivot_row = tableau_row(row);
  const double inverse = 1 / pivot_row[column];
  for (int c = 0; c < num_columns_; ++c) pivot_row[c] *= inverse;
  pivot_row[column] = inverse;
  rhs_[row] *= inverse;
  for (int r = 0; r < num_rows_; ++r) {
    double* entries = tableau_row(r);
    const double factor = entries[column];
    if (r == row || factor == 0) continue;
    entries[column] = 0;
    for (int c = 0; c < num_columns_; ++c) entries[c] -= factor * pivot_row[c];
    rhs_[r] -= factor * rhs_[row];
  }
  const double factor = cost_[column];
  cost_[column] = 0;
  for (int c = 0; c < num_columns_; ++c) cost_[c] -= factor * pivot_row[c];
  const int entering = column_label_[column];
  SetColumnLabel(column, row_label_[row]);
  SetRowLabel(row, entering);
}

// Returns the tableau row whose variable is the first to reach 0 while the
// nonbasic `column` grows; ties go to the largest pivot. -1 if none does.
int MatrixSimplex::LeavingRow(int column) const {
  int best = -1;
  double best_ratio = std::numeric_limits<double>::infinity();
  for (int r = 0; r < num_rows_; ++r) {
    const double entry = tableau_[index(r, column)];
    if (entry <= kPivot) continue;
    const double ratio = std::max(rhs_[r], 0.0) / entry;
    if (ratio < best_ratio ||
        (ratio == best_ratio && entry > tableau_[index(best, column)])) {
      best = r;
      best_ratio = ratio;
    }
  }
  return best;
}

int MatrixSimplex::EnteringColumn(int row) const {
  int best = -1;
  double best_ratio = std::numeric_limits<double>::infinity();
  for (int c = 0; c < num_columns_; ++c) {
    const double entry = tableau_[index(row, c)];
    if (entry >= -kPivot) continue;
    const double ratio = std::min(cost_[c], 0.0) / entry;
    if (ratio < best_ratio ||
        (ratio == best_ratio && entry < tableau_[index(row, best)])) {
      best = c;
      best_ratio = ratio;
    }
  }
  return best;
}

bool MatrixSimplex::PrimalPivots() {
  const int64_t limit = num_pivots_ + 50 * (num_rows_ + num_columns_) + 1000;
  while (num_pivots_ < limit) {
    const auto entering = std::max_element(cost_.begin(), cost_.end());
    if (*entering <= kReducedCost) return true;
    const int column = static_cast<int>(entering - cost_.begin());
    const int row = LeavingRow(column);
    if (row < 0) return false;
    Pivot(row, column);
  }
  return false;
}

bool MatrixSimplex::DualPivots() {
  const int64_t limit = num_pivots_ + 50 * (num_rows_ + num_columns_) + 1000;
  while (num_pivots_ < limit) {
    const auto leaving = std::min_element(rhs_.begin(), rhs_.end());
    if (*leaving >= -kFeasible) return true;
    const int row = static_cast<int>(leaving - rhs_.begin());
    const int column = EnteringColumn(row);
    if (column < 0) return false;
    Pivot(row, column);
  }
  return false;
}

bool MatrixSimplex::RunPivots() {
  if (*std::min_element(rhs_.begin(), rhs_.end()) >= -kFeasible) {
    return PrimalPivots();
  }
  return *std::max_element(cost_.begin(), cost_.end()) <= kReducedCost &&
         DualPivots();
}

// Makes all slacks basic, so that the tableau is the matrix.
void MatrixSimplex::FillTableau() {
  for (int i = 0; i < num_rows_; ++i) {
    std::copy_n(payoffs_.data() + index(i, 0), num_columns_, tableau_row(i));
    SetRowLabel(i, ~i);
  }
  for (int j = 0; j < num_columns_; ++j) SetColumnLabel(j, j);
  rhs_ = row_bounds_;
  cost_ = column_profits_;
}

// Recomputes the tableau of the same basis from the payoffs, with the largest
// pivots.
bool MatrixSimplex::Refactor() {
  wanted_columns_.resize(num_columns_);
  wanted_rows_.resize(num_rows_);
  int num_wanted = 0;
  for (int j = 0; j < num_columns_; ++j) {
    wanted_columns_[j] = place_of_column_[j] >= 0 ? 1 : 0;
    num_wanted += wanted_columns_[j];
  }
  for (int i = 0; i < num_rows_; ++i)
    wanted_rows_[i] = place_of_row_[i] < 0 ? 1 : 0;
  FillTableau();
  for (int k = 0; k < num_wanted; ++k) {
    int row = -1;
    int column = -1;
    double largest = kPivot;
    for (int r = 0; r < num_rows_; ++r) {
      if (wanted_rows_[r] == 0) continue;
      for (int c = 0; c < num_columns_; ++c) {
        const double size = std::abs(tableau_[index(r, c)]);
        if (wanted_columns_[c] != 0 && size > largest) {
          largest = size;
          row = r;
          column = c;
        }
      }
    }
    if (row < 0) return false;
    Pivot(row, column);
    wanted_rows_[row] = 0;
    wanted_columns_[column] = 0;
  }
  return true;
}

// Reads strategies and value from the tableau. Returns false if the payoffs of
// the strategies contradict the value because the tableau has drifted.
bool MatrixSimplex::ReadStrategies() {
  row_strategy_.assign(num_rows_, 0);
  column_strategy_.assign(num_columns_, 0);
  double row_sum = 0;
  double column_sum = 0;
  for (int i = 0; i < num_rows_; ++i) {
    if (place_of_row_[i] >= 0) continue;
    row_strategy_[i] = std::max(-cost_[~place_of_row_[i]], 0.0);
    row_sum += row_strategy_[i];
  }
  for (int j = 0; j < num_columns_; ++j) {
    if (place_of_column_[j] < 0) continue;
    column_strategy_[j] = std::max(rhs_[place_of_column_[j]], 0.0);
    column_sum += column_strategy_[j];
  }
  if (!(row_sum > 0) || !(column_sum > 0)) return false;
  for (double& x : row_strategy_) x /= row_sum;
  for (double& z : column_strategy_) z /= column_sum;
  // hi is the payoff of the best row, lo that of the best column.
  residual_.assign(num_columns_, 0);
  double hi = 0;
  for (int i = 0; i < num_rows_; ++i) {
    const double* payoffs = payoffs_.data() + index(i, 0);
    double sum = 0;
    for (int j = 0; j < num_columns_; ++j) {
      sum += payoffs[j] * column_strategy_[j];
    }
    hi = std::max(hi, sum);
    if (row_strategy_[i] == 0) continue;
    for (int j = 0; j < num_columns_; ++j) {
      residual_[j] += payoffs[j] * row_strategy_[i];
    }
  }
  const double lo = *std::min_element(residual_.begin(), residual_.end());
  value_ = (lo + hi) / 2 - shift_;
  return hi - lo <= (kResidual + 4 * perturbation_) * hi;
}

bool MatrixSimplex::Solve() {
  CHECK(num_rows_ > 0 && num_columns_ > 0);
  if (RunPivots() && ReadStrategies()) return true;
  ++num_repairs_;
  if (Refactor() && RunPivots() && ReadStrategies()) return true;
  FillTableau();
  return RunPivots() && ReadStrategies();
}

void MatrixSimplex::RemoveRow(int row) {
  CHECK(RowIsIdle(row) && StrategiesAreCurrent());
  const int last = --num_rows_;
  row_strategy_[row] = row_strategy_[last];
  row_strategy_.pop_back();
  const int place = place_of_row_[row];
  // The last tableau row moves to the place where the slack was basic.
  if (place != last) {
    std::copy_n(tableau_row(last), num_columns_, tableau_row(place));
    rhs_[place] = rhs_[last];
    SetRowLabel(place, row_label_[last]);
  }
  if (row != last) {
    std::copy_n(payoffs_.data() + index(last, 0), num_columns_,
                payoffs_.data() + index(row, 0));
    row_bounds_[row] = row_bounds_[last];
    const int moved = place_of_row_[last];
    place_of_row_[row] = moved;
    (moved >= 0 ? row_label_[moved] : column_label_[~moved]) = ~row;
  }
  rhs_.pop_back();
  row_bounds_.pop_back();
  row_label_.pop_back();
  place_of_row_.pop_back();
}

void MatrixSimplex::RemoveColumn(int column) {
  CHECK(ColumnIsIdle(column) && StrategiesAreCurrent());
  const int last = --num_columns_;
  column_strategy_[column] = column_strategy_[last];
  column_strategy_.pop_back();
  const int place = ~place_of_column_[column];
  for (int i = 0; i < num_rows_; ++i) {
    tableau_[index(i, place)] = tableau_[index(i, last)];
    payoffs_[index(i, column)] = payoffs_[index(i, last)];
  }
  if (place != last) {
    cost_[place] = cost_[last];
    SetColumnLabel(place, column_label_[last]);
  }
  if (column != last) {
    column_profits_[column] = column_profits_[last];
    const int moved = place_of_column_[last];
    place_of_column_[column] = moved;
    (moved >= 0 ? row_label_[moved] : column_label_[~moved]) = column;
  }
  cost_.pop_back();
  column_profits_.pop_back();
  column_label_.pop_back();
  place_of_column_.pop_back();
}

}  // namespace sortition
