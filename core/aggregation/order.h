#pragma once
// Sorts items by their scores.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// The item at each rank, best first.
using Order = std::vector<uint32_t>;

// Sorts items and keeps its large buffers for the next call. O(n) for more than
// a few thousand items: they are split into parts that fit the cache, and each
// part is sorted by radix.
class Sorter {
 public:
  // Writes σ_x: items by decreasing score, ties by item. Requires scores
  // without NaN.
  void Sort(std::span<const double> scores, Order* order);
  // Writes the scores in decreasing order.
  void SortValues(std::span<const double> scores, std::vector<double>* values);

 private:
  struct Entry {
    double score;
    uint32_t item;
  };

  std::vector<Entry> entries_;
  std::vector<Entry> entry_buffer_;
  std::vector<double> value_buffer_;
};

// Returns σ_x: items by decreasing score, ties by item.
Order OrderOf(std::span<const double> scores);

// Returns the items by decreasing score, with ties in the sequence that they
// have in `order`, which must be a valid order of all items.
Order OrderAlong(std::span<const double> scores,
                 std::span<const uint32_t> order);

// Returns the rank of each item.
std::vector<uint32_t> RanksOf(std::span<const uint32_t> order);

// InvalidArgument unless `order` has each of 0 .. num_items - 1 exactly once.
absl::Status ValidateOrder(std::span<const uint32_t> order, size_t num_items);

// Completes a top-m list to an order: the items that it does not contain follow
// by index. InvalidArgument if it contains an item twice, or one outside 0 ..
// num_items - 1.
absl::StatusOr<Order> CompleteOrder(std::span<const uint32_t> top,
                                    size_t num_items);

}  // namespace sortition
