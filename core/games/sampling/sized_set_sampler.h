#pragma once
// Draws the size of a set first, and then a set of that size. This is how the
// predictor of an F-score game plays an equilibrium that gives P(size = s) and
// P(item i is in | size = s) [WangXingAsifZiebart15, sec. 3.3]. Sets of a size
// are drawn by core/games/sampling/slot_sampler.h, with a discount of 1 for the
// slots that are in.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/sampling/slot_sampler.h"

namespace sortition {

// The sets of one size. A view.
struct SizedSets {
  uint32_t size = 0;
  double probability = 0;
  // By item, given the size; they add up to the size. Empty for size 0.
  std::span<const double> inclusion_probabilities;
};

// A workspace. Reusable: allocates nothing once warm.
class SizedSetSampler {
 public:
  // Prepares to draw subsets of `num_items` items. With probability
  // `uniform_mixture` each item is instead in with probability ½, independently
  // of the others, so that every set is possible. Inclusion probabilities are
  // views that are used until the next Build(). The error of their sum, which
  // may be larger the less probable a size is, is shared among the items. Even
  // so, sets are drawn with exactly the probability that is returned.
  // InvalidArgument if there is no size, a size is above num_items or occurs
  // twice, probabilities are outside [0, 1] or do not add up to 1 within 1e-9,
  // inclusion probabilities are outside [0, 1], the error of their sum times
  // the probability of the size is above 1e-9 of the size, or block_mixing
  // (SlotTargets) or uniform_mixture is outside [0, 1].
  absl::Status Build(uint32_t num_items, std::span<const SizedSets> sizes,
                     double block_mixing, double uniform_mixture);

  // The number of random numbers that Draw() takes.
  uint32_t num_numbers() const { return 2 + num_items_; }

  // Draws the set for `numbers`, in ascending order.
  void Draw(std::span<const double> numbers, std::vector<int32_t>* set);

  // Returns log p(set); -infinity if it is impossible or not in ascending
  // order.
  double LogPropensity(std::span<const int32_t> set);

 private:
  struct Size {
    uint32_t size;
    double end;  // End of its interval in [0, 1], a multiple of 2^-52.
    double probability;
    std::span<const double> inclusion_probabilities;
  };

  absl::Status AddSize(const SizedSets& sets);
  // Builds sets_ for a size above 0. Returns false if that is impossible.
  bool Prepare(const Size& size);

  uint32_t num_items_ = 0;
  double block_mixing_ = 0;
  double uniform_mixture_ = 0;
  std::vector<Size> sizes_;
  SlotSampler sets_;
  uint32_t prepared_size_ = 0;  // The size that sets_ draws; 0: none.
  std::vector<double> targets_;
  std::vector<double> in_slots_;
  std::vector<int32_t> order_;
};

}  // namespace sortition
