#pragma once
// The built-in question-answering world: queries with candidate answers and
// hidden relevance, generated from a seed.
//
// Every candidate has a hidden quality h. A good answer has h in [kGoodQuality,
// ∞), any other h <= kPoorQuality; an unanswerable query has no good answer, so
// that "no answer" can be learned as a threshold on a linear score. Features
// are standard normal, shifted so that w·x = h + noise for a hidden unit vector
// w over the informative features. The other features (the last 40 %) have no
// information.
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

// Returns the queries, a function of the options. Features are multiples of
// 1/64. Relevance is 0 (not a good answer), 1 or 2. InvalidArgument if
// min_candidates > max_candidates.
absl::StatusOr<LabelledQueries> MakeWorld(
    const config::v1::WorldOptions& options);

namespace internal {

inline constexpr double kGoodQuality = 2.0;
inline constexpr double kGreatQuality = 2.4;  // Relevance is 2 from here on.
inline constexpr double kPoorQuality = 1.1;
inline constexpr double kQualityNoise = 0.2;

// Returns w with an entry for each feature, 0 for features without information.
std::vector<double> HiddenWeights(const config::v1::WorldOptions& options);

}  // namespace internal
}  // namespace sortition
