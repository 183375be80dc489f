#pragma once
// Where requests become core types: everything a caller can get wrong is
// refused here, once, with INVALID_ARGUMENT that names field, value and
// permitted range.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/policies/linear_policy.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

inline constexpr size_t kMaxIdBytes = 128;

// At most 128 bytes of valid UTF-8 without control characters.
absl::Status ValidateId(absl::string_view field, absl::string_view id);

// The same, and not empty.
absl::Status ValidateRequiredId(absl::string_view field, absl::string_view id);

// The query of a request, as views into `context`, which must outlive it; top_k
// is left 0. `num_features` is the model's, 0: any. Looks at everything but the
// model's name and version.
absl::StatusOr<PolicyQuery> ValidateQuery(
    const v1::DecisionContext& context, const config::v1::RequestLimits& limits,
    uint32_t num_features);

// Of its candidates.
uint32_t NumEligible(const PolicyQuery& query);

// Ranks that a request with a top_k asks for.
template <typename Request>
std::optional<uint32_t> TopKOf(const Request& request) {
  if (!request.has_top_k()) return std::nullopt;
  return request.top_k();
}

// Ranks to fill: unset is all, else in [1, num_candidates].
absl::StatusOr<uint32_t> ValidateTopK(std::optional<uint32_t> top_k,
                                      uint32_t num_candidates);

// Candidates to choose: unset is 0, as the model has it, else in [1,
// num_candidates].
absl::StatusOr<uint32_t> ValidateSubsetSize(const v1::LabelRequest& request,
                                            uint32_t num_candidates);

absl::Status ValidateShown(const v1::ReportShownRequest& request,
                           const config::v1::RequestLimits& limits);

absl::Status ValidateFeedback(const v1::ReportFeedbackRequest& request,
                              const config::v1::RequestLimits& limits);

}  // namespace sortition
