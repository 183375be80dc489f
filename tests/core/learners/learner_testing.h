#pragma once
// Parts that the tests of several learners share.
#include <vector>

#include "core/learners/labelled/feature_scale.h"
#include "core/learners/labelled/labelled_learner.h"
#include "tests/testing/random_queries.h"

namespace sortition {

// The shape of queries of RandomQueries() with three features.
inline constexpr LabelledShape kShape = {.num_features = 3, .max_relevance = 2};

// Returns the queries with the features that learners train on: divided by
// their standard deviations. Those of the result are 1 up to rounding, so that
// λ means the same to a learner as to a reference implementation.
inline TestQueries Standardised(const TestQueries& queries) {
  const FeatureScale scale(queries.views());
  TestQueries result;
  for (const LabelledItems& query : queries.views()) {
    const auto values = query.items.values();
    std::vector<float> features(values.begin(), values.end());
    scale.Divide(features);
    result.Add(features, {query.relevances.begin(), query.relevances.end()});
  }
  return result;
}

}  // namespace sortition
