#pragma once
// The assignment problem: assigns n rows to n columns one to one with the least
// total cost (seed 001, sec. 17.4.2), by shortest augmenting paths
// [JonkerVolgenant87].
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sortition {

// Reusable: allocates nothing once it has solved a problem as large. O(n³), but
// much faster if it starts from good prices.
class Assignment {
 public:
  // Writes the costs of a row, one for each column.
  using RowCosts = std::function<void(size_t row, std::span<double> costs)>;

  // Returns the least total cost. Costs must be finite, and the same each time
  // they are asked for. `prices` has a price for each column to start from,
  // which may be any number; empty: all 0. `columns` suggests a column for each
  // row, which the row gets if it is its cheapest at these prices; empty: none.
  double Solve(size_t n, const RowCosts& row_costs,
               std::span<const double> prices,
               std::span<const uint32_t> columns = {});

  // The column of each row after the last Solve().
  std::span<const uint32_t> columns() const { return column_; }
  // The dual price v of each column. With u_i = min_j c_ij - v_j, Σ u + Σ v
  // equals the least cost up to rounding, which proves that the solution is
  // optimal.
  std::span<const double> prices() const { return price_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void AssignCheapest(const RowCosts& row_costs,
                      std::span<const uint32_t> columns);
  void ReduceRows(const RowCosts& row_costs);
  void Augment(uint32_t row, const RowCosts& row_costs);

  size_t n_ = 0;
  std::vector<double> price_;
  std::vector<uint32_t> column_;  // The column of each row.
  std::vector<uint32_t> row_;     // The row of each column; kNone: free.
  std::vector<uint32_t> free_;    // Rows without a column.
  std::vector<uint32_t> next_free_;
  std::vector<double> costs_;
  // The state of the search for a path.
  std::vector<double> distance_;  // Length of the path to a column.
  std::vector<uint32_t> from_;    // The row before each column on its path.
  std::vector<uint32_t> order_;   // Columns: done, at hand, the others.
};

}  // namespace sortition
