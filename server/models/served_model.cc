#include "server/models/served_model.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/made_up_columns.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"
#include "server/models/self_test.h"

namespace sortition {
namespace {

absl::Status WarmUpWith(const LinearPolicy& policy, PolicyQuery query,
                        const Hash128& key, PolicyWorkspace* workspace) {
  // One round of a large game may take a second.
  constexpr uint32_t kGameRounds = 5;
  query.game.rounds = kGameRounds;
  Draw draw;
  policy.Decide(query, key, workspace, &draw);
  RETURN_IF_ERROR(workspace->refusal);
  if (std::isfinite(draw.log_propensity)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "log-propensity is ", draw.log_propensity, ", must be finite"));
}

absl::StatusOr<PolicyQuery> StoredQuery(const log::v1::Decision& decision) {
  ASSIGN_OR_RETURN(const DecisionView view, ViewQuery(decision));
  RETURN_IF_ERROR(CheckDecidable(view));
  return PolicyQuery{
      view.candidates, view.eligible, view.top_k, {}, view.columns};
}

absl::Status WarmUpStored(const LinearPolicy& policy,
                          const std::vector<log::v1::Decision>& queries) {
  PolicyWorkspace workspace;
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto query = StoredQuery(queries[i]);
    const absl::Status status =
        query.ok() ? WarmUpWith(policy, *query, SeedKey(i), &workspace)
                   : query.status();
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("warm-up query ", i, ": ",
                                                      status.message()));
    }
  }
  return absl::OkStatus();
}

constexpr uint64_t kQueries = 20;  // To warm up with.
// Wider inputs are sparse: about as many of them are not 0 at most.
constexpr uint32_t kMostInputs = 1000;

absl::Status WarmUpColumns(const LinearPolicy& policy, const Schema& schema) {
  constexpr uint32_t kWarmupCandidates = 10;
  PolicyWorkspace workspace;
  RandomSequence random(SeedKey(0));
  for (uint64_t i = 0; i < kQueries; ++i) {
    const v1::Columns columns =
        MakeUpColumns(schema, kWarmupCandidates, &random);
    PolicyQuery query;
    query.columns = &columns;
    query.top_k = kWarmupCandidates;
    RETURN_IF_ERROR(WarmUpWith(policy, query, SeedKey(i), &workspace));
  }
  return absl::OkStatus();
}

// Warms up a version that brings no queries. The made-up ones touch all
// weights, if there are not too many.
absl::Status WarmUpMadeUp(const LinearPolicy& policy) {
  if (policy.features().transform() != nullptr) {
    return WarmUpColumns(policy, policy.features().transform()->schema());
  }
  constexpr size_t kMaxValues = 1'000'000;
  constexpr size_t kMaxCandidates = 100;
  const size_t d = policy.num_features();
  const size_t per_row = std::min(d, kMaxValues);
  const size_t n = std::clamp<size_t>(kMaxValues / d, 1, kMaxCandidates);
  RandomSequence random(SeedKey(0));
  std::vector<float> values(n * per_row);
  for (float& value : values) value = static_cast<float>(random.Uniform());
  std::vector<uint32_t> row_offsets;
  std::vector<uint32_t> columns;
  if (per_row < d) {
    // One row, with evenly spaced columns.
    row_offsets = {0, static_cast<uint32_t>(per_row)};
    for (size_t j = 0; j < per_row; ++j) {
      columns.push_back(static_cast<uint32_t>(j * d / per_row));
    }
  }
  const auto width = static_cast<uint32_t>(d);
  const PolicyQuery query = {
      columns.empty()
          ? Candidates::DenseUnchecked(values, width)
          : Candidates::SparseUnchecked(row_offsets, columns, values, width),
      {},
      10};
  PolicyWorkspace workspace;
  for (uint64_t i = 0; i < kQueries; ++i) {
    RETURN_IF_ERROR(WarmUpWith(policy, query, SeedKey(i), &workspace));
  }
  return absl::OkStatus();
}

// InvalidArgument where callers of `serving` do not send what `policy` takes.
absl::Status CheckInput(const LinearPolicy& policy,
                        const ServedModel& serving) {
  const FeatureTransform* const transform = policy.features().transform();
  const bool has_schema = transform != nullptr;
  if (has_schema != (serving.schema() != nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("features is ", has_schema ? "set" : "unset", ", must be ",
                     has_schema ? "unset" : "set",
                     ", as in the version that serves: callers send ",
                     has_schema ? "features" : "columns",
                     "; publish it under another name"));
  }
  if (has_schema) return absl::OkStatus();
  if (policy.num_features() == serving.num_features) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "num_features is ", policy.num_features(), ", must be ",
      serving.num_features,
      ", as in the version that serves: callers send that many; publish it "
      "under another name"));
}

}  // namespace

absl::Status ServedModel::CheckReads(const PolicyQuery& query) const {
  if (transform == nullptr || query.columns == nullptr) return absl::OkStatus();
  BoundColumns bound;
  return bound.Bind(transform->schema(), *query.columns,
                    {.check_values = false});
}

absl::Status CheckColumnTypes(const Schema& schema, const ServedModel& other) {
  const std::string conflict =
      FindTypeConflict(schema.declared(), other.schema()->declared());
  if (conflict.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "features: ", conflict, ", as in version ", other.version,
      ": callers send one type of each column; give the column or the model "
      "another name"));
}

std::shared_ptr<const ServedModel> MakeUniformModel(
    const std::string& name, int64_t time_us,
    std::shared_ptr<const VersionCounters> counters) {
  auto served = std::make_shared<ServedModel>();
  served->name = name;
  served->policy_name = "uniform";
  served->loaded_time_us = time_us;
  served->select = LinearPolicy::Uniform(ActionKind::kSelect, false);
  served->rank = LinearPolicy::Uniform(ActionKind::kRank, false);
  served->label = LinearPolicy::Uniform(ActionKind::kSubset, false);
  served->degraded = "no model loaded: uniform policy";
  served->counters = std::move(counters);
  return served;
}

absl::StatusOr<std::shared_ptr<const ServedModel>> MakeServedModel(
    const StoredModel& stored, const ServedModel& serving, int64_t time_us,
    LoadFailure* failure, std::shared_ptr<const VersionCounters> counters) {
  const model::v1::Model& model = stored.model;
  *failure = LoadFailure::kPolicy;
  ASSIGN_OR_RETURN(LinearPolicy policy, LinearPolicy::Create(model));
  if (!serving.PolicyFor(policy.action_kind()).has_value()) {
    *failure = LoadFailure::kActionKind;
    return absl::InvalidArgumentError(absl::StrCat(
        "policy is ", PolicyKindName(model.policy()),
        ", must answer the calls that ", serving.policy_name,
        " of the version that serves does: callers make them; publish it "
        "under another name"));
  }
  *failure = LoadFailure::kDimension;
  if (serving.version != 0) RETURN_IF_ERROR(CheckInput(policy, serving));
  *failure = LoadFailure::kSelfTest;
  RETURN_IF_ERROR(SelfTest(policy.OfFeatures()));
  *failure = LoadFailure::kWarmUp;
  RETURN_IF_ERROR(stored.warmup.empty() ? WarmUpMadeUp(policy)
                                        : WarmUpStored(policy, stored.warmup));
  auto served = std::make_shared<ServedModel>();
  served->name = model.name();
  served->version = model.version();
  served->policy = model.policy();
  served->policy_name = PolicyKindName(model.policy());
  served->num_features = policy.num_features();
  served->transform = policy.features().transform();
  if (model.features().learned().column_size() > 0) {
    *failure = LoadFailure::kPolicy;
    ASSIGN_OR_RETURN(
        served->drift,
        DriftMonitor::Create(*served->schema(), model.features().learned()));
  }
  served->checksum = stored.checksum;
  served->draw_salt = stored.draw_salt;
  served->loaded_time_us = time_us;
  served->bytes = model.ByteSizeLong();
  served->num_trees = static_cast<uint32_t>(model.trees().trees_size());
  served->num_units = model.hidden_layer().num_units();
  served->num_connections =
      uint64_t{served->num_units} * std::min(model.num_features(), kMostInputs);
  served->counters = std::move(counters);
  switch (policy.action_kind()) {
    case ActionKind::kSelect:
      served->select = std::move(policy);
      break;
    case ActionKind::kRank:
      served->rank = std::move(policy);
      break;
    case ActionKind::kSubset:
      served->label = std::move(policy);
      break;
  }
  return served;
}

}  // namespace sortition
