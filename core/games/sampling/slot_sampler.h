#pragma once
// Draws rankings, top-k lists and k-sets with given expected discounts, and
// computes their exact probabilities.
//
// Slot r gives the discount D_r, where D_0 >= D_1 >= ... A lottery over orders
// can have the expected discounts d if and only if D majorises d [Rado52].
// Items start in the order of d, item i in slot i. A coin (giver, taker, p)
// swaps the slots of two items with probability p, which is a T-transform of
// their expectations [MarshallOlkin79, ch. 2.B]. Every coin brings one of its
// two items to its final d, so at most n - 1 coins are needed, and p <= ½. The
// place of that item in the outcome tells whether the coin swapped. So an
// outcome comes from only one sequence of coins, and its probability is the
// product of theirs. A coin between two slots that the outcome does not show
// counts as 1.
//
// A block is a range of places where the sums of d and D agree at both ends.
// Within it d is split as λ mean(D) + (1-λ) d': with probability λ the block is
// ordered uniformly, otherwise by the coins of d'. This keeps d and makes every
// order of the block possible.
//
// Probabilities of coins are multiples of 2^-52, the grid of the random numbers
// (core/base/random.h), so that outcomes are drawn with exactly the probability
// that is logged.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

// Whether an outcome shows which item is in each of the first k slots, or only
// which items are in these slots.
enum class SlotView { kList, kSet };

// A lottery over n >= 1 items and as many slots. Views.
struct SlotTargets {
  // D by slot, >= 0, non-increasing; then 0.
  std::span<const double> discounts;
  std::span<const double> expected_discounts;  // d by item.
  std::span<const int32_t> order;              // Items by non-increasing d.
  // Places in `order` where blocks begin; the first is 0. Empty: blocks end
  // wherever the sums of d and D agree.
  std::span<const uint32_t> block_begins;
  SlotView view = SlotView::kList;
  uint32_t num_shown = 0;  // k, in [1, n].
  // λ as a share, in [0, 1], of the largest λ that d allows.
  double block_mixing = 0;
};

// A workspace. Reusable: allocates nothing once warm. Costs O(n).
class SlotSampler {
 public:
  // InvalidArgument if there is no item, sizes differ, a value is not finite, D
  // increases or is below 0, `order` is not an order of the items, d increases
  // in a block, blocks are not ascending, D does not majorise d (within 1e-9
  // D_0 and rounding), or k or block_mixing is out of range. Keeps no reference
  // to `targets`.
  absl::Status Build(const SlotTargets& targets);

  // The number of random numbers in (0, 1) that Draw() takes.
  uint32_t num_numbers() const { return num_used_; }

  // Draws the outcome for `numbers`: k items by slot, or, for a set, in
  // ascending order.
  void Draw(std::span<const double> numbers, std::span<int32_t> outcome);

  // Returns log p(outcome); -infinity if it is impossible or malformed. For
  // lists also writes the log-probability of the item in each slot given those
  // above: k values, which add up to it except for rounding.
  double LogPropensity(std::span<const int32_t> outcome,
                       std::vector<double>* conditionals);

  // Writes P(item i in slot r), n × k by rows. Costs O(n k).
  void PositionMarginals(std::span<double> probabilities);
  // Writes the column of slot 0 only.
  void FirstProbabilities(std::span<double> probabilities);

 private:
  // Giver and taker are places in the order, not items.
  struct Coin {
    uint32_t giver;
    uint32_t taker;
    double swap;  // p, the probability of a swap.
    bool giver_is_final;
  };
  struct Block {
    uint32_t begin;
    uint32_t end;
    uint32_t first_coin;
    uint32_t end_coin;
    double uniform;  // λ
  };

  absl::Status Validate(const SlotTargets& targets);
  void FindBlocks(std::span<const uint32_t> begins);
  absl::Status CheckBlock(const Block& block) const;
  void MixBlock(double block_mixing, Block* block);
  void MakeCoins(Block* block);
  void PermuteUniformly(const Block& block, std::span<const double> numbers);
  void TossCoins(const Block& block, std::span<const double> numbers);

  uint32_t ObserveOutcome(std::span<const int32_t> outcome);
  double BlockLogPropensity(const Block& block, uint32_t end_shown,
                            std::span<double> conditionals);
  void CoinLogPropensities(const Block& block, uint32_t end_shown,
                           std::span<double> logs);
  uint32_t Replay(const Block& block, uint32_t end_shown,
                  std::span<double> logs);
  void BlockMarginals(const Block& block, uint32_t end_slot, uint32_t stride,
                      std::span<double> probabilities);

  SlotView view_ = SlotView::kList;
  uint32_t num_shown_ = 0;
  uint32_t num_used_ = 0;  // Places in blocks that show a slot.
  double negligible_ = 0;  // Smaller differences of discounts are rounding.
  std::vector<uint32_t> order_;    // Item by place.
  std::vector<uint32_t> places_;   // Place by item.
  std::vector<double> discounts_;  // D by slot.
  std::vector<double> targets_;    // d, in blocks with coins d', by place.
  std::vector<Block> blocks_;
  std::vector<Coin> coins_;
  std::vector<double> current_;     // Expected discounts so far, by place.
  std::vector<uint32_t> givers_;    // A stack of places.
  std::vector<uint32_t> slots_;     // Slot by place, or place by slot.
  std::vector<uint32_t> observed_;  // Label by place.
  std::vector<double> products_;
  std::vector<double> conditionals_;
  std::vector<double> rows_;
};

}  // namespace sortition
