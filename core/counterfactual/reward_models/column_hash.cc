#include "core/counterfactual/reward_models/column_hash.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"

namespace sortition {

ColumnHash::ColumnHash(uint32_t num_features)
    : num_columns_(num_features <= kMaxDirectColumns ? num_features
                                                     : kHashedColumns) {
  if (num_features <= kMaxDirectColumns) return;
  targets_.reserve(num_features);
  for (uint32_t j = 0; j < num_features; ++j) {
    const Hash128 hash =
        StableHash(HashDomain::kTraining, {"reward column", absl::StrCat(j)});
    targets_.push_back({static_cast<uint32_t>(hash.low % kHashedColumns),
                        hash.high % 2 == 0 ? 1.0F : -1.0F});
  }
}

std::span<const float> ColumnHash::Apply(std::span<const float> features,
                                         std::span<float> hashed) const {
  if (is_identity()) return features;
  std::fill(hashed.begin(), hashed.end(), 0.0F);
  for (size_t j = 0; j < features.size(); ++j) {
    hashed[targets_[j].column] += targets_[j].sign * features[j];
  }
  return hashed;
}

std::vector<double> ColumnHash::Expand(
    std::span<const double> coefficients) const {
  if (is_identity()) return {coefficients.begin(), coefficients.end()};
  std::vector<double> expanded;
  expanded.reserve(targets_.size());
  for (const Target& target : targets_) {
    expanded.push_back(target.sign * coefficients[target.column]);
  }
  return expanded;
}

}  // namespace sortition
