#include "server/shadows/shadow_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/policies/distributions/sized_subset.h"

namespace sortition {
namespace {

size_t NumEligible(const PolicyQuery& query) {
  if (query.eligible.empty()) return query.num_candidates();
  return static_cast<size_t>(
      std::count(query.eligible.begin(), query.eligible.end(), true));
}

}  // namespace

bool LooksOn(const ServingSet::Shadow& shadow, absl::string_view decision_id) {
  if (shadow.every <= 1) return true;
  const ServedModel& model = *shadow.model;
  const Hash128 hash = StableHash(
      HashDomain::kShadow,
      {model.name, model.draw_salt, decision_id, absl::StrCat(model.version)});
  return UnitInterval(hash) * shadow.every < 1;
}

const LinearPolicy* JudgeOf(const ServedModel& model, ActionKind kind,
                            const PolicyQuery& query) {
  const auto& policy = model.PolicyFor(kind);
  if (!policy.has_value()) return nullptr;
  if (query.columns == nullptr && !policy->uniform() &&
      policy->num_features() != query.candidates.num_features()) {
    return nullptr;
  }
  if (kind != ActionKind::kSubset || !policy->takes_size()) return &*policy;
  const size_t eligible = NumEligible(query);
  const size_t size = std::min<size_t>(
      query.top_k > 0 ? query.top_k : policy->subset_size(), eligible);
  const bool is_small = size == 0 || SizedSubset::IsWithinLimit(eligible, size);
  return is_small ? &*policy : nullptr;
}

}  // namespace sortition
