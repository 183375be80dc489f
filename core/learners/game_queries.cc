#include "core/learners/game_queries.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

constexpr uint32_t kMostRelevant = 31;  // 2^31 - 1 is the gain.

absl::Status CheckOptions(const GameOptions& options, bool per_level) {
  const uint32_t max_relevance = options.max_relevance();
  if (max_relevance == 0 || max_relevance > kMostRelevant) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_relevance is ", max_relevance,
                     ", must be within [1, ", kMostRelevant, "]"));
  }
  if (options.measure() != GameOptions::GRADED_DCG &&
      (options.relevant_from() == 0 ||
       options.relevant_from() > max_relevance)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "relevant_from is ", options.relevant_from(), ", must be within [1, ",
        max_relevance, "], max_relevance"));
  }
  const bool needs_k = options.measure() == GameOptions::PRECISION ||
                       options.adversary() == GameOptions::K_POSITIVES;
  if (needs_k && options.k() == 0) {
    return absl::InvalidArgumentError(
        "k is 0, must be at least 1 for PRECISION and K_POSITIVES");
  }
  const bool is_free = per_level || options.measure() == GameOptions::F_BETA;
  if (is_free && options.has_adversary() &&
      options.adversary() != GameOptions::FREE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "adversary is ", GameOptions::Adversary_Name(options.adversary()),
        ", must be FREE or unset for F_BETA and PER_LEVEL"));
  }
  return absl::OkStatus();
}

absl::Status CheckQuery(const GameQuery& query, uint32_t num_features,
                        uint32_t max_relevance) {
  if (query.items.num_candidates() == 0) {
    return absl::InvalidArgumentError("has 0 items, must have at least 1");
  }
  if (query.items.num_features() != num_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", query.items.num_features(),
                     " features, must have ", num_features, ", as query 0"));
  }
  if (query.relevances.size() != query.items.num_candidates()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", query.relevances.size(), " relevances, must have ",
                     query.items.num_candidates(), ", one per item"));
  }
  for (size_t i = 0; i < query.relevances.size(); ++i) {
    if (query.relevances[i] > max_relevance) {
      return absl::InvalidArgumentError(
          absl::StrCat("relevances[", i, "] is ", query.relevances[i],
                       ", must be within [0, ", max_relevance, "]"));
    }
  }
  const Candidates& items = query.items;
  const auto created =
      items.sparse() ? Candidates::Sparse(items.row_offsets(), items.columns(),
                                          items.values(), num_features)
                     : Candidates::Dense(items.values(), num_features);
  return created.status();
}

}  // namespace

absl::StatusOr<GameTask> MakeGameTask(std::span<const GameQuery> queries,
                                      const GameOptions& options) {
  GameTask task;
  task.options = options;
  const bool graded = options.measure() == GameOptions::GRADED_DCG;
  task.per_level = graded && options.potentials() == GameOptions::PER_LEVEL;
  RETURN_IF_ERROR(CheckOptions(options, task.per_level));
  const uint32_t max_relevance = options.max_relevance();
  for (uint32_t l = 0; l <= max_relevance; ++l) {
    const double binary = l >= options.relevant_from() ? 1 : 0;
    task.gains.push_back(
        graded ? (std::exp2(l) - 1) / (std::exp2(max_relevance) - 1) : binary);
  }
  if (task.per_level) task.num_blocks = max_relevance;
  if (queries.empty()) {
    return absl::InvalidArgumentError(
        "there are 0 queries, must be at least 1");
  }
  task.num_features = queries[0].items.num_features();
  for (size_t j = 0; j < queries.size(); ++j) {
    if (const absl::Status status =
            CheckQuery(queries[j], task.num_features, max_relevance);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("query ", j, ": ", status.message()));
    }
    task.max_items = std::max(task.max_items, queries[j].relevances.size());
  }
  return task;
}

}  // namespace sortition
