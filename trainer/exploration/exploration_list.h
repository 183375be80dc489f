#pragma once
// Which explorations are compared.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The upper end of the range of inverse_temperature in model.proto.
inline constexpr double kMaxInverseTemperature = 1e6;

// Whether the policy ranks by scores in a way that others can replace without
// new weights: plackett_luce and sorted_ranking.
bool RanksByScores(const model::v1::Policy& policy);

struct NamedExploration {
  std::string name;  // In the notation, "present" or "order by score".
  model::v1::Policy policy;
};

struct ExplorationList {
  std::vector<NamedExploration> explorations;
  size_t present = 0;   // Which one is the present policy,
  size_t by_score = 0;  // and the order by score; both may be the same.
};

// Returns the present policy, the order by score, usual explorations around the
// present inverse temperature, whose shuffles are of `num_ranks` ranks, at
// least 2 and at most 10, and those that `named` names, separated by commas. No
// name is there twice.
// InvalidArgument as ParseExploration().
absl::StatusOr<ExplorationList> ListExplorations(
    const model::v1::Policy& present, uint32_t num_ranks,
    const google::protobuf::RepeatedPtrField<std::string>& named);

}  // namespace sortition
