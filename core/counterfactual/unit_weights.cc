#include "core/counterfactual/unit_weights.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"

namespace sortition {

std::vector<double> UnitWeights(std::span<const uint64_t> units,
                                std::span<const double> weights) {
  CHECK(units.size() == weights.size());
  absl::flat_hash_map<uint64_t, double> sizes;
  for (size_t i = 0; i < units.size(); ++i) sizes[units[i]] += weights[i];
  const double most =
      std::max(1.0, std::sqrt(static_cast<double>(sizes.size())) / 2);
  std::vector<double> shares(weights.begin(), weights.end());
  for (size_t i = 0; i < units.size(); ++i) {
    shares[i] *= std::min(1.0, most / sizes.at(units[i]));
  }
  return shares;
}

}  // namespace sortition
