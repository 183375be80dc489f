#pragma once
// The built-in question-answering world: queries with candidate answers and
// hidden relevance, made from a seed.
//
// Every candidate has a hidden quality h. A good answer has h in
// [kGoodQuality, ∞), any other h <= kPoorQuality; an unanswerable query has no
// good answer, so that "no answer" can be learned as a threshold on a linear
// score. Features are standard normal, shifted so that w·x = h + noise for a
// hidden unit vector w over the informative features; the others (the last
// 40 %) say nothing.
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

// Features are multiples of 1/64. Relevance is 0 (no good
// answer), 1 or 2. A function of the options. InvalidArgument where
// min_candidates > max_candidates.
absl::StatusOr<LabelledQueries> MakeWorld(
    const config::v1::WorldOptions& options);

namespace internal {

inline constexpr double kGoodQuality = 2.0;
inline constexpr double kGreatQuality = 2.4;  // Relevance 2 from here.
inline constexpr double kPoorQuality = 1.1;
inline constexpr double kQualityNoise = 0.2;

// w: as many entries as features, 0 where a feature says nothing.
std::vector<double> HiddenWeights(const config::v1::WorldOptions& options);

}  // namespace internal
}  // namespace sortition
