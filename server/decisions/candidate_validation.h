#pragma once
// Checks what a request has of its candidates: features or columns.
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "core/policies/linear_policy.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Sets query->candidates or query->columns to a view of `candidates`, which
// must outlive it. `num_features` and `schema` are as for ValidateQuery().
// InvalidArgument names the field.
absl::Status ValidateCandidates(const v1::Candidates& candidates,
                                const config::v1::RequestLimits& limits,
                                uint32_t num_features, const Schema* schema,
                                PolicyQuery* query);

// Returns `error` with its field in front of the message.
absl::Status InField(absl::string_view field, const absl::Status& error);

}  // namespace sortition
