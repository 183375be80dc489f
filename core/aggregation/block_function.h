#pragma once
// A sum of functions over blocks of items. It compares the scores of sources
// over many queries, where each query has its own candidates.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aggregation/submodular_function.h"

namespace sortition {

// f(S) = Σ_b f_b(S ∩ V_b), where each block V_b is a range of consecutive
// items. f is submodular as a sum of submodular functions. Items of different
// blocks are never compared: d(x‖σ) is the sum over the blocks of the
// divergence from σ restricted to the block (linearity in f, sec. 2.4).
class BlockFunction : public SubmodularFunction {
 public:
  // `blocks` has the function of each block, in the order of the items, none of
  // them null. Blocks with equal functions may share one object.
  explicit BlockFunction(
      std::vector<std::shared_ptr<const SubmodularFunction>> blocks);

  size_t num_blocks() const { return blocks_.size(); }
  const SubmodularFunction& block(size_t block) const {
    return *blocks_[block];
  }
  // Returns the first item of the block; for block = num_blocks(), the number
  // of items.
  size_t begin(size_t block) const { return begins_[block]; }

  double Value(std::span<const uint8_t> in_set) const override;
  // O(n).
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // O(n log n) where blocks are functions of cardinality.
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;
  // Groups of different blocks are not compared.
  void TiedSubgradient(std::span<const uint32_t> ties,
                       std::span<double> h) const override;

  // Returns the orders of the blocks, one after the other, with items counted
  // from the first item of their block.
  Order SplitOrder(std::span<const uint32_t> order) const;

 private:
  size_t size(size_t block) const {
    return begins_[block + 1] - begins_[block];
  }

  const std::vector<std::shared_ptr<const SubmodularFunction>> blocks_;
  const std::vector<size_t> begins_;
  std::vector<uint32_t> block_of_;  // The block of each item.
};

}  // namespace sortition
