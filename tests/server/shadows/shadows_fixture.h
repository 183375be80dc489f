#pragma once
// Versions that serve and look on, made without a store.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/models/serving_set.h"
#include "tests/server/server_fixture.h"

namespace sortition {

inline std::shared_ptr<const ServedModel> ServedVersion(
    uint64_t version, const model::v1::Model& model) {
  auto served = std::make_shared<ServedModel>();
  served->name = model.name();
  served->version = version;
  served->policy = model.policy();
  served->num_features = model.num_features();
  served->draw_salt = kDrawSalt;
  auto policy = LinearPolicy::Create(
      model.policy(), {model.weights().begin(), model.weights().end()});
  EXPECT_TRUE(policy.ok()) << policy.status();
  switch (policy->action_kind()) {
    case ActionKind::kSelect:
      served->select = *policy;
      break;
    case ActionKind::kRank:
      served->rank = *policy;
      break;
    case ActionKind::kSubset:
      served->label = *policy;
      break;
  }
  return served;
}

// Returns the set in which the first version serves and `shadows` look on.
inline std::shared_ptr<const ServingSet> SetWithShadows(
    const ServingSet::Model& primary,
    const std::vector<ServingSet::Shadow>& shadows) {
  auto set = std::make_shared<ServingSet>();
  set->name = primary->name;
  set->primary = primary;
  set->loaded.emplace(primary->version, primary);
  set->shadows = shadows;
  return set;
}

}  // namespace sortition
