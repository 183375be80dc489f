#pragma once
// Whether a declaration of features makes sense.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

inline constexpr int kMostTransforms = 1000;

// Returns the declaration with its defaults filled in. InvalidArgument, naming
// the transform, the field and what is permitted, where a transform has no
// kind, a field is outside its range, a column is not of the schema or of
// another type or scope than needed, a stemmer is unknown, or options
// contradict each other. Names of features are checked where blocks are made.
absl::StatusOr<model::v1::FeatureSpec> CheckedSpec(
    const Schema& schema, const model::v1::FeatureSpec& spec);

// The number of features whose mean and scale the transform learns; 0 where it
// does not standardise. Requires a checked transform.
size_t NumStandardised(const Schema& schema,
                       const model::v1::Transform& transform);

// Returns the names of the cross's NUMBER columns, the left one first.
std::vector<std::string> CrossedNumbers(
    const Schema& schema, const model::v1::CrossTransform& transform);

// InvalidArgument, naming the field, where what was learned does not fit the
// checked declaration: sizes, order of edges, scales that are not above 0.
absl::Status CheckLearned(const Schema& schema,
                          const model::v1::FeatureSpec& spec,
                          const model::v1::LearnedFeatures& learned);

}  // namespace sortition
