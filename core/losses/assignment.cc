#include "core/losses/assignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {

// Assigns the suggested columns to those free rows for which they are the
// cheapest up to rounding.
void Assignment::AssignCheapest(const RowCosts& row_costs,
                                std::span<const uint32_t> columns) {
  constexpr double kRounding = 1e-14;
  double most = 0;
  for (const double price : price_) most = std::max(most, std::abs(price));
  std::erase_if(free_, [&](uint32_t row) {
    row_costs(row, costs_);
    double least = HUGE_VAL;
    for (size_t j = 0; j < n_; ++j) {
      least = std::min(least, costs_[j] - price_[j]);
    }
    const uint32_t column = columns[row];
    const double scale = std::max(std::abs(costs_[column]), most);
    if (costs_[column] - price_[column] > least + kRounding * scale) {
      return false;
    }
    column_[row] = column;
    row_[column] = row;
    return true;
  });
}

// Gives each free row its cheapest column, changes the price of that column
// until the second cheapest is as good, and frees the row that had the column.
// Makes two passes over the free rows; `patience` ends a pass in which rows
// whose costs differ only by rounding keep displacing each other.
void Assignment::ReduceRows(const RowCosts& row_costs) {
  for (int pass = 0; pass < 2 && !free_.empty(); ++pass) {
    next_free_.clear();
    size_t patience = 4 * n_;
    for (size_t k = 0; k < free_.size(); ++k) {
      uint32_t row = free_[k];
      while (row != kNone) {
        row_costs(row, costs_);
        size_t best = 0;
        size_t second = 0;
        double least = HUGE_VAL;
        double next = HUGE_VAL;
        for (size_t j = 0; j < n_; ++j) {
          const double cost = costs_[j] - price_[j];
          if (cost >= next) continue;
          if (cost >= least) {
            next = cost;
            second = j;
          } else {
            next = least;
            second = best;
            least = cost;
            best = j;
          }
        }
        const bool cheaper = least < next && n_ > 1;
        if (!cheaper && row_[best] != kNone && n_ > 1) best = second;
        if (cheaper) price_[best] -= next - least;
        const uint32_t freed = row_[best];
        row_[best] = row;
        column_[row] = static_cast<uint32_t>(best);
        row = kNone;
        if (freed == kNone) break;
        if (cheaper && patience > 0) {
          --patience;
          row = freed;
        } else {
          next_free_.push_back(freed);
        }
      }
    }
    free_.swap(next_free_);
  }
}

// Runs Dijkstra's search from a free row over columns, with costs minus prices
// as distances, and assigns along the path that it finds.
void Assignment::Augment(uint32_t row, const RowCosts& row_costs) {
  row_costs(row, costs_);
  for (size_t j = 0; j < n_; ++j) distance_[j] = costs_[j] - price_[j];
  std::fill(from_.begin(), from_.end(), row);
  std::iota(order_.begin(), order_.end(), 0);
  // order_[0 .. done): the rows of these columns have been visited.
  size_t done = 0;
  size_t at_hand = 0;  // order_[done .. at_hand): columns at distance `least`.
  double least = 0;
  uint32_t end = kNone;
  while (end == kNone) {
    if (done == at_hand) {
      least = HUGE_VAL;
      for (size_t k = done; k < n_; ++k) {
        least = std::min(least, distance_[order_[k]]);
      }
      for (size_t k = done; k < n_; ++k) {
        const uint32_t column = order_[k];
        if (distance_[column] > least) continue;
        if (row_[column] == kNone) end = column;
        std::swap(order_[k], order_[at_hand++]);
      }
      if (end != kNone) break;
    }
    const uint32_t column = order_[done++];
    const uint32_t owner = row_[column];
    row_costs(owner, costs_);
    const double base = costs_[column] - price_[column] - least;
    for (size_t k = at_hand; k < n_; ++k) {
      const uint32_t other = order_[k];
      const double through = costs_[other] - price_[other] - base;
      if (through >= distance_[other]) continue;
      distance_[other] = through;
      from_[other] = owner;
      if (through > least) continue;
      if (row_[other] == kNone) {
        end = other;
        break;
      }
      std::swap(order_[k], order_[at_hand++]);
    }
  }
  for (size_t k = 0; k < done; ++k) {
    price_[order_[k]] += distance_[order_[k]] - least;
  }
  for (uint32_t column = end; column != kNone;) {
    const uint32_t owner = from_[column];
    row_[column] = owner;
    std::swap(column_[owner], column);
    if (owner == row) break;
  }
}

double Assignment::Solve(size_t n, const RowCosts& row_costs,
                         std::span<const double> prices,
                         std::span<const uint32_t> columns) {
  n_ = n;
  if (prices.empty()) {
    price_.assign(n, 0);
  } else {
    price_.assign(prices.begin(), prices.end());
  }
  column_.assign(n, kNone);
  row_.assign(n, kNone);
  costs_.resize(n);
  distance_.resize(n);
  from_.resize(n);
  order_.resize(n);
  free_.resize(n);
  std::iota(free_.begin(), free_.end(), 0);
  if (!columns.empty()) AssignCheapest(row_costs, columns);
  ReduceRows(row_costs);
  for (const uint32_t row : free_) Augment(row, row_costs);
  double cost = 0;
  for (size_t i = 0; i < n; ++i) {
    row_costs(i, costs_);
    cost += costs_[column_[i]];
  }
  return cost;
}

}  // namespace sortition
