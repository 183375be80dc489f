#pragma once
// Scores of texts: from words to the scores of trees, against XGBoost.
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

// Ours make the features of 50 candidates with 30 words each, 2^18 hashed words
// and pairs, and score them by 100 trees. The library is given the features of
// the same candidates as sparse rows, makes its matrix and predicts. Requires
// HasXgboost().
absl::StatusOr<std::vector<Target>> TimeTextScores(int pairs);

}  // namespace sortition
