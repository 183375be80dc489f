#include "core/aggregation/block_function.h"

#include <algorithm>
#include <utility>

namespace sortition {
namespace {

using Blocks = std::vector<std::shared_ptr<const SubmodularFunction>>;

std::vector<size_t> Begins(const Blocks& blocks) {
  std::vector<size_t> begins = {0};
  for (const auto& block : blocks) {
    begins.push_back(begins.back() + block->num_items());
  }
  return begins;
}

}  // namespace

BlockFunction::BlockFunction(Blocks blocks)
    : SubmodularFunction(Begins(blocks).back()),
      blocks_(std::move(blocks)),
      begins_(Begins(blocks_)),
      block_of_(num_items()) {
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    std::fill(block_of_.begin() + begins_[b],
              block_of_.begin() + begins_[b + 1], b);
  }
}

double BlockFunction::Value(std::span<const uint8_t> in_set) const {
  double value = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    value += blocks_[b]->Value(in_set.subspan(begins_[b], size(b)));
  }
  return value;
}

void BlockFunction::ExtremeSubgradient(std::span<const uint32_t> order,
                                       std::span<double> h) const {
  const Order split = SplitOrder(order);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b]->ExtremeSubgradient(
        std::span(split).subspan(begins_[b], size(b)),
        h.subspan(begins_[b], size(b)));
  }
}

Order BlockFunction::SplitOrder(std::span<const uint32_t> order) const {
  Order split(order.size());
  std::vector<uint32_t> ranks(blocks_.size());
  for (const uint32_t item : order) {
    const uint32_t block = block_of_[item];
    split[begins_[block] + ranks[block]++] =
        static_cast<uint32_t>(item - begins_[block]);
  }
  return split;
}

double BlockFunction::Divergence(std::span<const double> x,
                                 std::span<const uint32_t> order) const {
  const Order split = SplitOrder(order);
  double divergence = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    divergence +=
        blocks_[b]->Divergence(x.subspan(begins_[b], size(b)),
                               std::span(split).subspan(begins_[b], size(b)));
  }
  return divergence;
}

void BlockFunction::TiedSubgradient(std::span<const uint32_t> ties,
                                    std::span<double> h) const {
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const auto groups = ties.subspan(begins_[b], size(b));
    std::vector<uint32_t> distinct(groups.begin(), groups.end());
    std::sort(distinct.begin(), distinct.end());
    std::vector<uint32_t> numbered;
    for (const uint32_t group : groups) {
      numbered.push_back(static_cast<uint32_t>(
          std::lower_bound(distinct.begin(), distinct.end(), group) -
          distinct.begin()));
    }
    blocks_[b]->TiedSubgradient(numbered, h.subspan(begins_[b], size(b)));
  }
}

}  // namespace sortition
