#include "core/learners/games/game_task.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

bool IsNormalised(GameOptions::Measure measure) {
  return measure == GameOptions::NDCG || measure == GameOptions::MEAN_NDCG;
}

constexpr uint32_t kMostRelevant = 31;  // 2^31 - 1 is the gain.

bool IsGraded(GameOptions::Measure measure) {
  return measure == GameOptions::GRADED_DCG || IsNormalised(measure);
}

absl::Status CheckOptions(const GameOptions& options, bool per_level) {
  const uint32_t max_relevance = options.max_relevance();
  if (max_relevance == 0 || max_relevance > kMostRelevant) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_relevance is ", max_relevance,
                     ", must be within [1, ", kMostRelevant, "]"));
  }
  if (!IsGraded(options.measure()) &&
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

// Returns D_r for the first k ranks r.
Discounts PlainDiscounts(const GameOptions& options, size_t num_items) {
  const uint32_t k = options.k();
  const size_t num_ranks = k == 0 ? num_items : std::min<size_t>(k, num_items);
  return options.discounts() == GameOptions::LETOR ? Discounts::Letor(num_ranks)
                                                   : Discounts::Dcg(num_ranks);
}

// Let I_m be the DCG of the first m ranks of the best order, of K ranks in all.
// NDCG is DCG with the discounts D_r / I_K. The mean of NDCG@1 .. NDCG@K is DCG
// with
//   (1/K) Σ_{m > r} D_r / I_m,
// which do not increase with rank either.
absl::StatusOr<Discounts> NormalisedDiscounts(const GameTask& task,
                                              const LabelledItems& query) {
  const Discounts plain = PlainDiscounts(task.options, query.relevances.size());
  std::vector<uint32_t> best(query.relevances.begin(), query.relevances.end());
  std::sort(best.begin(), best.end(), std::greater<>());
  std::vector<double> ideal(plain.size());
  double sum = 0;
  for (size_t r = 0; r < ideal.size(); ++r) {
    ideal[r] = sum += plain[r] * task.gains[best[r]];
  }
  if (task.options.measure() == GameOptions::NDCG) {
    return plain.ScaledBy(1 / sum);
  }
  std::vector<double> by_rank(plain.size());
  double inverses = 0;
  for (size_t r = ideal.size(); r-- > 0;) {
    inverses += 1 / ideal[r];
    by_rank[r] = plain[r] * inverses / static_cast<double>(ideal.size());
  }
  return Discounts::Create(std::move(by_rank));
}

absl::Status AddDiscounts(std::span<const LabelledItems> queries,
                          GameTask* task) {
  const bool normalised = IsNormalised(task->options.measure());
  for (size_t j = 0; j < queries.size(); ++j) {
    const auto& relevances = queries[j].relevances;
    if (normalised && *std::ranges::max_element(relevances) == 0) continue;
    task->played.push_back(j);
    if (!normalised) continue;
    ASSIGN_OR_RETURN(Discounts discounts,
                     NormalisedDiscounts(*task, queries[j]));
    task->discounts.push_back(std::move(discounts));
  }
  if (task->played.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of ", queries.size(),
        " queries has anything relevant, at least 1 must have for NDCG"));
  }
  if (!normalised) {
    task->discounts.push_back(PlainDiscounts(task->options, task->max_items));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GameTask> MakeGameTask(std::span<const LabelledItems> queries,
                                      const GameOptions& options) {
  GameTask task;
  task.options = options;
  const bool graded = IsGraded(options.measure());
  task.per_level = options.measure() == GameOptions::GRADED_DCG &&
                   options.potentials() == GameOptions::PER_LEVEL;
  RETURN_IF_ERROR(CheckOptions(options, task.per_level));
  const uint32_t max_relevance = options.max_relevance();
  for (uint32_t l = 0; l <= max_relevance; ++l) {
    const double binary = l >= options.relevant_from() ? 1 : 0;
    task.gains.push_back(
        graded ? (std::exp2(l) - 1) / (std::exp2(max_relevance) - 1) : binary);
  }
  if (task.per_level) task.num_blocks = max_relevance;
  RETURN_IF_ERROR(CheckQueries(queries, max_relevance));
  task.num_features = queries[0].items.num_features();
  for (const LabelledItems& query : queries) {
    task.max_items = std::max(task.max_items, query.relevances.size());
  }
  RETURN_IF_ERROR(AddDiscounts(queries, &task));
  return task;
}

}  // namespace sortition
