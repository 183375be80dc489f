#pragma once
// Draws small random subsets of a query's items that contain every relevance
// level of the query [VolkovsLarochelleZemel11, sec. 6].
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace sortition {

// Returns the number of different relevances.
size_t CountLevels(std::span<const uint32_t> relevances);

// Draws uniformly from the sets of `size` items of one query that have at least
// one item of each level. First draws the number of items of each level, in
// proportion to the number of sets with these numbers, then the items.
class LevelSubsets {
 public:
  // Draws all items if there are no more than `size`. Requires an item and size
  // >= CountLevels(relevances).
  LevelSubsets(std::span<const uint32_t> relevances, size_t size);

  size_t size() const { return size_; }
  bool all() const { return size_ == items_.size(); }

  // Requires items.size() == size().
  void Draw(RandomSequence* random, std::span<uint32_t> items);

 private:
  size_t size_;
  // Sorted by level, and within a level in any order.
  std::vector<uint32_t> items_;
  // Where each level begins in items_; last: the end.
  std::vector<size_t> begins_;
  // [l][k], k <= size: the number of sets of k items from level l and the
  // levels after it, with at least one item of each. Row by row.
  std::vector<double> num_sets_;
};

}  // namespace sortition
