#include "core/aggregation/aggregate_policy.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/boltzmann_orders.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;

constexpr size_t kMaxHead = BoltzmannOrders::kMaxItems;

// How many scores are read between two looks at the time: up to a millisecond.
constexpr size_t kScoresAtOnce = 1 << 16;

bool IsOver(const AggregateQuery& query) {
  return query.is_over != nullptr && (*query.is_over)();
}

absl::Status OutOfTime() {
  return absl::DeadlineExceededError(
      "deadline passed while the score lists were read; not decided");
}

// Writes the scores of the eligible documents to `result`, source by source.
// Returns false if time runs out.
bool Transpose(const AggregateQuery& query, AggregateResult* result) {
  const Candidates& candidates = query.lists.candidates;
  const std::span<const bool> eligible = query.lists.eligible;
  std::vector<uint32_t>& documents = result->eligible_documents;
  documents.clear();
  for (uint32_t i = 0; i < candidates.num_candidates(); ++i) {
    if (eligible.empty() || eligible[i]) documents.push_back(i);
  }
  const size_t n = documents.size();
  const size_t sources = candidates.num_features();
  // In steps, because memory that is new takes as long as reading.
  std::vector<double>& scores = result->scores;
  scores.clear();
  scores.reserve(n * sources);
  while (scores.size() < n * sources) {
    if (IsOver(query)) return false;
    scores.resize(std::min(n * sources, scores.size() + kScoresAtOnce));
  }
  const size_t rows_at_once = std::max<size_t>(1, kScoresAtOnce / sources);
  for (size_t begin = 0; begin < n; begin += rows_at_once) {
    if (IsOver(query)) return false;
    const size_t end = std::min(n, begin + rows_at_once);
    for (size_t i = begin; i < end; ++i) {
      const auto row =
          candidates.values().subspan(documents[i] * sources, sources);
      for (size_t s = 0; s < sources; ++s) scores[s * n + i] = row[s];
    }
  }
  return true;
}

}  // namespace

std::optional<ScoreScale> ScaleOf(const v1::Aggregation& aggregation) {
  switch (aggregation.scale()) {
    case v1::Aggregation::MIN_MAX:
      return ScoreScale::kMinMax;
    case v1::Aggregation::RANK:
      return ScoreScale::kRank;
    case v1::Aggregation::NONE:
      return ScoreScale::kNone;
    default:
      return std::nullopt;
  }
}

ParallelFor WhileTimeIsLeft(const std::function<bool()>* is_over) {
  return [is_over](size_t count, const std::function<void(size_t)>& body) {
    for (size_t index = 0; index < count; ++index) {
      if (is_over != nullptr && (*is_over)()) return;
      body(index);
    }
  };
}

absl::StatusOr<AggregatePolicy> AggregatePolicy::Create(
    const model::v1::Policy& policy) {
  AggregatePolicy result;
  if (policy.kind_case() == model::v1::Policy::KIND_NOT_SET) return result;
  ASSIGN_OR_RETURN(result.distribution_, MakeActionDistribution(policy));
  if (result.distribution_->action_kind() != ActionKind::kRank) {
    return absl::InvalidArgumentError(
        "policy of an aggregation does not rank, must be boltzmann_ranking, "
        "plackett_luce or game_ranking, or unset");
  }
  return result;
}

absl::Status AggregatePolicy::Decide(const AggregateQuery& query,
                                     const Hash128& key,
                                     AggregateResult* result,
                                     Draw* draw) const {
  if (query.lists.candidates.sparse()) {
    return absl::InvalidArgumentError("score lists are sparse, must be dense");
  }
  if (!Transpose(query, result)) return OutOfTime();
  const size_t n = result->eligible_documents.size();
  result->lists = {result->scores, n, query.weights};
  RETURN_IF_ERROR(ValidateScoreLists(result->lists));
  result->mean =
      Aggregate(result->lists, query.scale, WhileTimeIsLeft(query.is_over));
  if (IsOver(query)) return OutOfTime();
  const auto top_k = static_cast<uint32_t>(
      query.lists.top_k == 0 ? n : std::min<size_t>(query.lists.top_k, n));
  draw->game_rounds.reset();
  draw->game.reset();
  if (distribution_ == nullptr) {
    const Order& order = result->mean.order;
    draw->action.assign(order.begin(), order.begin() + top_k);
    draw->log_propensity = 0;
    draw->conditional_log_propensities.assign(top_k, 0);
  } else {
    ScoredCandidates candidates;
    candidates.scores = result->mean.mean;
    candidates.top_k = top_k;
    distribution_->Sample(candidates, CounterRandom(key), draw);
  }
  for (int32_t& place : draw->action) {
    place = static_cast<int32_t>(result->eligible_documents[place]);
  }
  return absl::OkStatus();
}

// d(x‖σ) = constant - Σ_r δ(r) x_σ(r), so the rank weights are the increments
// δ. For AllPairs δ(r) = n - 1 - 2 r, which is a constant plus twice the
// weights of LINEAR.
model::v1::Policy MakeAggregateDraw(AggregateDivergence divergence,
                                    uint32_t cutoff, double concentration) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(concentration);
  BoltzmannRanking* orders = policy.mutable_boltzmann_ranking();
  switch (divergence) {
    case AggregateDivergence::kDcg:
      orders->set_rank_weights(BoltzmannRanking::DCG);
      orders->set_cutoff(cutoff);
      break;
    case AggregateDivergence::kAllPairs:
      orders->set_rank_weights(BoltzmannRanking::LINEAR);
      policy.set_inverse_temperature(2 * concentration);
      break;
    case AggregateDivergence::kTop:
      orders->set_rank_weights(BoltzmannRanking::CUSTOM);
      // There are no weights for ranks below the head.
      for (size_t r = 0; r < std::min<size_t>(cutoff, kMaxHead); ++r) {
        orders->add_weights(1);
      }
      orders->add_weights(0);
      break;
  }
  return policy;
}

absl::StatusOr<std::unique_ptr<CardinalityFunction>> MakeDivergence(
    AggregateDivergence divergence, uint32_t cutoff, size_t num_items) {
  switch (divergence) {
    case AggregateDivergence::kDcg:
      return CardinalityFunction::Dcg(num_items, cutoff);
    case AggregateDivergence::kAllPairs:
      if (cutoff == 0) return CardinalityFunction::AllPairs(num_items);
      return absl::InvalidArgumentError(absl::StrCat(
          "cutoff = ", cutoff, ": must be 0 for divergence ALL_PAIRS"));
    case AggregateDivergence::kTop:
      break;
  }
  if (cutoff > 0) return CardinalityFunction::Top(num_items, cutoff);
  return absl::InvalidArgumentError(
      "cutoff = 0: must be in [1, 1000000] for divergence TOP");
}

}  // namespace sortition
