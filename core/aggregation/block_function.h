#pragma once
// A sum of functions of cardinality over blocks of items: what a source's
// scores in many queries are compared by, each query with its own candidates.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aggregation/submodular_function.h"

namespace sortition {

// f(S) = Σ_b g_b(|S ∩ V_b|), V_b consecutive items: submodular as a sum of
// such. Items of two blocks are never compared: d(x‖σ) is the sum of the
// blocks' divergences from what σ has of each (linearity in f, sec. 2.4).
class BlockFunction : public SubmodularFunction {
 public:
  // The blocks' functions, in the order of the items; not null. Equal ones may
  // be the same object.
  explicit BlockFunction(
      std::vector<std::shared_ptr<const CardinalityFunction>> blocks);

  size_t num_blocks() const { return blocks_.size(); }
  // First item of the block; of num_blocks(): the number of items.
  size_t begin(size_t block) const { return begins_[block]; }

  double Value(std::span<const uint8_t> in_set) const override;
  // O(n).
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // O(n log n).
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;

  // The blocks' orders, one after the other, items counted from the block's
  // first.
  Order SplitOrder(std::span<const uint32_t> order) const;

 private:
  const std::vector<std::shared_ptr<const CardinalityFunction>> blocks_;
  const std::vector<size_t> begins_;
  std::vector<uint32_t> block_of_;  // By item.
};

}  // namespace sortition
