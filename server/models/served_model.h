#pragma once
// A model as it serves: immutable, shared by the requests that run on it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/policies/linear_policy.h"
#include "io/models/model_store.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct ServedModel {
  std::string name;
  uint64_t version = 0;       // 0: uniform, nothing is loaded.
  model::v1::Policy policy;   // As logged; kind unset: uniform.
  std::string policy_name;    // "softmax_selection", "plackett_luce",
                              // "game_ranking",
                              // "boltzmann_ranking", "game_subset",
                              // "independent_subset", "uniform".
  uint32_t num_features = 0;  // 0: any.
  std::string checksum;
  int64_t loaded_time_us = 0;
  // What decides, by kind of action; unset: not an action of this model.
  std::optional<LinearPolicy> select;
  std::optional<LinearPolicy> rank;
  std::optional<LinearPolicy> label;
  std::string degraded;  // Why its answers are less than a model's.

  const std::optional<LinearPolicy>& PolicyFor(ActionKind kind) const {
    switch (kind) {
      case ActionKind::kSelect:
        return select;
      case ActionKind::kRank:
        return rank;
      case ActionKind::kSubset:
        break;
    }
    return label;
  }
};

// Serves `name` until its first version is there: every candidate, every order
// or every subset equally likely; never abstains.
std::shared_ptr<const ServedModel> MakeUniformModel(const std::string& name,
                                                    int64_t time_us);

// A version that may serve: its policy passed the self-test and has answered
// the warm-up queries. On failure `stage` says where: "policy", "dimension",
// "self_test", "warm_up". `num_features` of the version that serves now, 0:
// none.
absl::StatusOr<std::shared_ptr<const ServedModel>> MakeServedModel(
    const StoredModel& stored, uint32_t num_features, int64_t time_us,
    std::string* stage);

}  // namespace sortition
