#pragma once
// The assignment problem: n rows to n columns, one each, at least cost (seed
// 001, sec. 17.4.2), by shortest augmenting paths [JonkerVolgenant87].
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sortition {

// Reusable; no allocation when warm. O(n³), far less where the prices that it
// starts from are good.
class Assignment {
 public:
  // Writes the cost of a row in every column.
  using RowCosts = std::function<void(size_t row, std::span<double> costs)>;

  // Returns the least cost. Costs must be finite and the same whenever they are
  // asked for. `prices`: of columns to start from, any; empty: 0. `columns`:
  // by row, which it may have if that is its cheapest at these prices;
  // empty: none.
  double Solve(size_t n, const RowCosts& row_costs,
               std::span<const double> prices,
               std::span<const uint32_t> columns = {});

  // By row, of the last Solve().
  std::span<const uint32_t> columns() const { return column_; }
  // By column, dual prices v: with u_i = min_j c_ij - v_j, Σ u + Σ v is the
  // least cost, up to rounding, and proves it.
  std::span<const double> prices() const { return price_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void AssignCheapest(const RowCosts& row_costs,
                      std::span<const uint32_t> columns);
  void ReduceRows(const RowCosts& row_costs);
  void Augment(uint32_t row, const RowCosts& row_costs);

  size_t n_ = 0;
  std::vector<double> price_;
  std::vector<uint32_t> column_;  // By row.
  std::vector<uint32_t> row_;     // By column; kNone: free.
  std::vector<uint32_t> free_;    // Rows.
  std::vector<uint32_t> next_free_;
  std::vector<double> costs_;
  // Of the search for a path.
  std::vector<double> distance_;  // By column.
  std::vector<uint32_t> from_;    // By column, the row before it.
  std::vector<uint32_t> order_;   // Columns: done, at hand, others.
};

}  // namespace sortition
