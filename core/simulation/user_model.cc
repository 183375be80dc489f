#include "core/simulation/user_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"

namespace sortition {
namespace {

CounterRandom UserRandom(const std::string& seed,
                         absl::string_view decision_id) {
  return CounterRandom(
      StableHash(HashDomain::kSimulation, {"user", seed, decision_id}));
}

}  // namespace

UserModel::UserModel(const UserModelOptions& options)
    : options_(options), seed_text_(absl::StrCat(options.seed)) {}

double UserModel::SelectReward(std::span<const uint32_t> relevances,
                               int32_t document_index,
                               absl::string_view decision_id) const {
  if (document_index == kAbstain) return options_.abstain_reward;
  const bool flipped =
      UserRandom(seed_text_, decision_id).Uniform(0) < options_.noise;
  return IsRight(relevances[document_index]) != flipped ? 1 : 0;
}

double UserModel::Worth(std::span<const uint32_t> relevances,
                        std::span<const int32_t> subset,
                        Measure measure) const {
  double hits = 0;
  for (const int32_t i : subset) hits += IsRight(relevances[i]) ? 1 : 0;
  const auto size = static_cast<double>(subset.size());
  if (measure == Measure::kPrecision) return size > 0 ? hits / size : 0;
  double right = 0;
  for (const uint32_t relevance : relevances) right += IsRight(relevance);
  return size + right > 0 ? 2 * hits / (size + right) : 1;
}

double UserModel::SubsetReward(std::span<const uint32_t> relevances,
                               std::span<const int32_t> subset, Measure measure,
                               absl::string_view decision_id) const {
  const double worth = Worth(relevances, subset, measure);
  const bool flipped =
      UserRandom(seed_text_, decision_id).Uniform(0) < options_.noise;
  return flipped ? 1 - worth : worth;
}

double UserModel::ExpectedSubsetReward(std::span<const uint32_t> relevances,
                                       std::span<const int32_t> subset,
                                       Measure measure) const {
  const double worth = Worth(relevances, subset, measure);
  return (1 - options_.noise) * worth + options_.noise * (1 - worth);
}

double UserModel::ExpectedSelectReward(std::span<const uint32_t> relevances,
                                       int32_t document_index) const {
  if (document_index == kAbstain) return options_.abstain_reward;
  return IsRight(relevances[document_index]) ? 1 - options_.noise
                                             : options_.noise;
}

}  // namespace sortition
