#pragma once
// Sets whose size is drawn first, then the set among those of the size: how an
// equilibrium of an F-score game is played, whose predictor is known by
// P(size = s) and P(item i is in | size = s) [WangXingAsifZiebart15, sec. 3.3].
// Sets of a size by core/games/sampling/slot_sampler.h, with the in-slots
// giving 1.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/sampling/slot_sampler.h"

namespace sortition {

// Sets of one size. A view.
struct SizedSets {
  uint32_t size = 0;
  double probability = 0;
  // By item, given the size; they add up to it. Empty for size 0.
  std::span<const double> inclusion_probabilities;
};

// A reusable workspace: no allocation when warm.
class SizedSetSampler {
 public:
  // Of sets of `num_items` items. With probability `uniform_mixture` each item
  // is in with probability ½ instead, whatever the others: then every set is
  // possible. Inclusion probabilities are views, used until the next Build();
  // they need to add up to their size only as far as it matters: what rounding
  // has left of the sum, more where a size is hardly played, is shared out.
  // What is drawn and its probability do not depend on how well that is done.
  // InvalidArgument where there is no size, one is above num_items or named
  // twice, probabilities are outside [0, 1] or do not add up to 1 (within
  // 1e-9), inclusion probabilities are outside [0, 1] or, times the probability
  // of their size, add up to it no better than by 1e-9 of it, or block_mixing
  // (SlotTargets) or uniform_mixture is outside [0, 1].
  absl::Status Build(uint32_t num_items, std::span<const SizedSets> sizes,
                     double block_mixing, double uniform_mixture);

  // Random numbers that Draw() takes.
  uint32_t num_numbers() const { return 2 + num_items_; }

  // The set of `numbers`, in ascending order.
  void Draw(std::span<const double> numbers, std::vector<int32_t>* set);

  // log p(set); -infinity where it is impossible or not in ascending order.
  double LogPropensity(std::span<const int32_t> set);

 private:
  struct Size {
    uint32_t size;
    double end;  // Of its interval in [0, 1], a multiple of 2^-52.
    double probability;
    std::span<const double> inclusion_probabilities;
  };

  absl::Status AddSize(const SizedSets& sets);
  // Builds sets_ for a size above 0; false where that is impossible.
  bool Prepare(const Size& size);

  uint32_t num_items_ = 0;
  double block_mixing_ = 0;
  double uniform_mixture_ = 0;
  std::vector<Size> sizes_;
  SlotSampler sets_;
  uint32_t prepared_size_ = 0;  // Of sets_; 0: none.
  std::vector<double> targets_;
  std::vector<double> in_slots_;
  std::vector<int32_t> order_;
};

}  // namespace sortition
