#pragma once
// A logged decision as the query that was decided, without copying its floats.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/data/candidates.h"
#include "google/protobuf/repeated_field.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Views the values of a message's repeated field.
template <typename T>
std::span<const T> SpanOf(const google::protobuf::RepeatedField<T>& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

// The query of a decision, which must outlive it.
struct DecisionView {
  Candidates candidates;  // None where the decision has columns.
  const v1::Columns* columns = nullptr;
  // One entry for each candidate; empty where all are eligible.
  std::span<const bool> eligible;
  uint32_t top_k = 0;

  uint32_t num_candidates() const {
    return columns != nullptr ? columns->num_candidates()
                              : candidates.num_candidates();
  }
  bool is_eligible(uint32_t document_index) const {
    return eligible.empty() || eligible[document_index];
  }
};

// Returns a view of the query. InvalidArgument where the features are malformed
// or there are columns, too, or `eligible` has another number of entries than
// there are candidates. Takes the number of candidates from what there is. What
// stands in columns is not checked: that needs a schema.
absl::StatusOr<DecisionView> ViewQuery(const log::v1::Decision& decision);

// Returns a view of the query of a decision that was logged. InvalidArgument as
// ViewQuery(), and where num_candidates contradicts the features.
absl::StatusOr<DecisionView> ViewDecision(const log::v1::Decision& decision);

// InvalidArgument where no candidate is eligible: no policy can decide that.
absl::Status CheckDecidable(const DecisionView& view);

// Returns the number of candidates that `decision` says are eligible; never
// fails, whatever the decision holds.
size_t NumEligible(const log::v1::Decision& decision);

// Returns nothing for labels, which are not served, and for unknown kinds.
std::optional<ActionKind> ActionKindOf(const log::v1::Decision& decision);

// Returns whether the caller's baseline decided alone: the policy that the
// decision names only looked on.
bool IsOfBaseline(const log::v1::Decision& decision);

// Returns whether the action had probability 1: the order of an aggregation
// that names no policy to draw from, or the answer of a baseline whose
// propensity the caller did not give.
bool IsCertain(const log::v1::Decision& decision);

}  // namespace sortition
