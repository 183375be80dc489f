#pragma once
// Draws sets with given inclusion probabilities p from one random number u in
// (0, 1) [Madow49]. Items lie side by side, item i on [C_i, C_{i+1}) with C_i =
// p_0 + .. + p_{i-1}, and those that contain one of u, u + 1, u + 2, ... are
// taken. The size is Σ p rounded down or up. Each set is drawn for u in one
// interval, whose length is its probability. At most n + 1 sets are possible.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

// A workspace. Reusable: allocates nothing once warm. Costs O(n).
class SystematicSampler {
 public:
  // InvalidArgument if there is no item, or a probability is outside [0, 1]. A
  // sum within 1e-9 of an integer counts as that integer.
  absl::Status Build(std::span<const double> inclusion_probabilities);

  // Draws the set for `number`, in ascending order.
  void Draw(double number, std::vector<int32_t>* set) const;

  // Returns log p(set); -infinity if it is impossible or not in ascending
  // order.
  double LogPropensity(std::span<const int32_t> set) const;

 private:
  // C_0 .. C_n, as multiples of 2^-52, the grid of the random numbers, so that
  // each interval has exactly its share of them.
  std::vector<double> ends_;
};

}  // namespace sortition
