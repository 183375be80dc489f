#pragma once
// Turns requests into core types. Everything a caller can get wrong is refused
// here, once, with an INVALID_ARGUMENT that names field, value and permitted
// range.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "core/policies/linear_policy.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

inline constexpr size_t kMaxIdBytes = 128;

// Validates an id: at most 128 bytes of UTF-8 without control characters.
absl::Status ValidateId(absl::string_view field, absl::string_view id);

// Validates an id that must not be empty.
absl::Status ValidateRequiredId(absl::string_view field, absl::string_view id);

// Validates everything in `context` but the model's name and version, and
// returns the query as views into `context`, which must outlive it; top_k stays
// 0. `num_features` and `schema` are the model's. Where there are none, any
// features or well-formed columns will do.
absl::StatusOr<PolicyQuery> ValidateQuery(
    const v1::DecisionContext& context, const config::v1::RequestLimits& limits,
    uint32_t num_features, const Schema* schema = nullptr);

// Returns how many candidates of `query` are eligible.
uint32_t NumEligible(const PolicyQuery& query);

// Returns the top_k of `request`, if it is set.
template <typename Request>
std::optional<uint32_t> RequestedTopK(const Request& request) {
  if (!request.has_top_k()) return std::nullopt;
  return request.top_k();
}

// Validates `top_k`, which is at least 1 or unset for all, and stores the ranks
// to fill in `query`. If fewer candidates are eligible than were asked for,
// says so in `degraded`.
absl::Status SetTopK(std::optional<uint32_t> top_k, PolicyQuery* query,
                     std::string* degraded);

// Validates k, which is at least 1 or unset, and returns it; 0 if it is unset:
// the model's own size.
absl::StatusOr<uint32_t> ValidateSubsetSize(const v1::LabelRequest& request);

// Appends `reason` to the reasons why an answer falls short of what was asked
// for.
void AddDegraded(absl::string_view reason, std::string* degraded);

// The reason for AddDegraded() when the number in `field` was larger than the
// number of eligible candidates.
std::string CutToEligible(absl::string_view field, uint32_t number,
                          uint32_t eligible);

// Validates a report of what a user saw.
absl::Status ValidateShown(const v1::ReportShownRequest& request,
                           const config::v1::RequestLimits& limits);

// Validates the range of rewards that a server was started with.
absl::Status ValidateRewardRange(const config::v1::FeedbackLimits& rewards);

// Validates a whole batch of feedback.
absl::Status ValidateFeedback(const v1::ReportFeedbackRequest& request,
                              const config::v1::RequestLimits& limits,
                              const config::v1::FeedbackLimits& rewards);

}  // namespace sortition
