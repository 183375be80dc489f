#pragma once
// Parts that the tests of several learners share.
#include "core/learners/labelled/labelled_learner.h"

namespace sortition {

// The shape of queries of RandomQueries() with three features.
inline constexpr LabelledShape kShape = {.num_features = 3, .max_relevance = 2};

}  // namespace sortition
