#pragma once
// Orders of items by their scores.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// item by rank, best first.
using Order = std::vector<uint32_t>;

// Sorts; keeps its large buffers for the next time. O(n) from some thousand
// items on, part after part by radix, in the cache.
class Sorter {
 public:
  // σ_x: by falling score, ties by item. Requires scores without NaN.
  void Sort(std::span<const double> scores, Order* order);
  // The scores, falling.
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

Order OrderOf(std::span<const double> scores);

// σ_x with ties as `order` has them: 0 .. n - 1 of x along `order`, which must
// be valid.
Order OrderAlong(std::span<const double> scores,
                 std::span<const uint32_t> order);

// rank by item.
std::vector<uint32_t> RanksOf(std::span<const uint32_t> order);

// InvalidArgument unless `order` has each of 0 .. num_items - 1 once.
absl::Status ValidateOrder(std::span<const uint32_t> order, size_t num_items);

// A top-m list made an order: the items that it does not name follow by index.
// InvalidArgument where it names one twice, or none of 0 .. num_items - 1.
absl::StatusOr<Order> CompleteOrder(std::span<const uint32_t> top,
                                    size_t num_items);

}  // namespace sortition
