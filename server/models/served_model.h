#pragma once
// A model that is ready to serve: immutable, shared by the requests that use
// it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/policies/linear_policy.h"
#include "io/models/model_store.h"
#include "server/models/drift_monitor.h"
#include "server/models/load_failure.h"
#include "server/models/version_counters.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct ServedModel {
  std::string name;
  uint64_t version = 0;       // 0: uniform, no version is loaded.
  model::v1::Policy policy;   // As it is logged; kind unset: uniform.
  std::string policy_name;    // "softmax_selection", "plackett_luce",
                              // "game_ranking",
                              // "boltzmann_ranking", "game_subset",
                              // "independent_subset", "sorted_ranking",
                              // "uniform".
  uint32_t num_features = 0;  // Of a request; 0: any, or columns.
  // Of a request's columns; null: it has none.
  const FeatureTransform* transform = nullptr;
  std::string checksum;
  std::string draw_salt;  // What draws depend on besides the decision id.
  int64_t loaded_time_us = 0;
  uint64_t bytes = 0;  // Of its parameters.
  uint32_t num_trees = 0;
  uint32_t num_units = 0;        // Of its hidden layer.
  uint64_t num_connections = 0;  // Of units to what inputs may have at once.
  // The policy for each kind of action; unset: the model does not answer it.
  std::optional<LinearPolicy> select;
  std::optional<LinearPolicy> rank;
  std::optional<LinearPolicy> label;
  std::string degraded;  // Why its answers fall short of a model's.
  std::shared_ptr<DriftMonitor> drift;              // Null: it has no schema.
  std::shared_ptr<const VersionCounters> counters;  // Null: not counted.

  const Schema* schema() const {
    return transform == nullptr ? nullptr : &transform->schema();
  }
  // InvalidArgument if the version reads a column that the query, which passed
  // CheckColumns(), lacks or has in another type.
  absl::Status CheckReads(const PolicyQuery& query) const;
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

// InvalidArgument if `schema` declares a column of another type than `other`,
// which has a schema, does: callers send one of them.
absl::Status CheckColumnTypes(const Schema& schema, const ServedModel& other);

// Makes the model that serves `name` until the first version is loaded: every
// candidate, every order or every subset is equally likely; it never abstains.
std::shared_ptr<const ServedModel> MakeUniformModel(
    const std::string& name, int64_t time_us,
    std::shared_ptr<const VersionCounters> counters = nullptr);

// Makes a version ready to serve: its policy has passed the self-test and has
// answered the warm-up queries. It must be for the calls and the number of
// features of `serving`, which serves now, or for columns as well. On error,
// stores in `failure` what failed.
absl::StatusOr<std::shared_ptr<const ServedModel>> MakeServedModel(
    const StoredModel& stored, const ServedModel& serving, int64_t time_us,
    LoadFailure* failure,
    std::shared_ptr<const VersionCounters> counters = nullptr);

}  // namespace sortition
