#pragma once
// Small random subsets of a query's items that hold every relevance level of it
// [VolkovsLarochelleZemel11, sec. 6].
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
  std::vector<uint32_t> items_;  // By level; within one in any order.
  std::vector<size_t> begins_;   // Of levels in items_, and the end.
  // [l][k], k <= size: sets of k items of the levels l and after it, one of
  // each at least. Row by row.
  std::vector<double> num_sets_;
};

}  // namespace sortition
