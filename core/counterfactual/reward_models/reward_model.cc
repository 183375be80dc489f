#include "core/counterfactual/reward_models/reward_model.h"

#include <algorithm>
#include <cmath>

#include "core/base/hash.h"

namespace sortition {
namespace {

Hash128 HashOfUnit(uint64_t unit_hash) {
  return StableHash(
      HashDomain::kTraining,
      {"reward model",
       absl::string_view(reinterpret_cast<const char*>(&unit_hash),
                         sizeof(unit_hash))});
}

}  // namespace

uint32_t FoldOf(uint64_t unit_hash, uint32_t num_folds) {
  return static_cast<uint32_t>(UnitInterval(HashOfUnit(unit_hash)) * num_folds);
}

double SetAsideNumber(uint64_t unit_hash) {
  // FoldOf() takes the other half of the bits.
  return static_cast<double>(HashOfUnit(unit_hash).low >> 11) * 0x1p-53;
}

double MoreRobustWeight(double log_propensity, double log_probability) {
  constexpr double kMostLogWeight = 200;
  const double other_actions = -std::expm1(std::fmin(log_propensity, 0));
  if (other_actions == 0) return 0;
  return std::exp(
      std::fmin(log_probability + std::log(other_actions) - 2 * log_propensity,
                kMostLogWeight));
}

}  // namespace sortition
