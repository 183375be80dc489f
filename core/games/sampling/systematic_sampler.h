#pragma once
// Sets with given inclusion probabilities p by one random number u in (0, 1)
// [Madow49]: items are laid side by side, item i on [C_i, C_{i+1}) with C_i =
// p_0 + .. + p_{i-1}, and those on which u, u + 1, u + 2, ... fall are taken.
// The size is Σ p rounded down or up. Each set is drawn for u in one interval,
// whose length is its probability. At most n + 1 sets are possible.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

// A reusable workspace: no allocation when warm. Costs O(n).
class SystematicSampler {
 public:
  // InvalidArgument where there is no item or a probability is outside [0, 1].
  // A sum within 1e-9 of an integer is taken to be that integer.
  absl::Status Build(std::span<const double> inclusion_probabilities);

  // Draws the set of `number`, in ascending order.
  void Draw(double number, std::vector<int32_t>* set) const;

  // Returns log p(set); -infinity where it is impossible or not in ascending
  // order.
  double LogPropensity(std::span<const int32_t> set) const;

 private:
  // Multiples of 2^-52, the grid of the random numbers, so that intervals have
  // their exact share of them. C_0 .. C_n.
  std::vector<double> ends_;
};

}  // namespace sortition
