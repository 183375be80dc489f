#pragma once
// Whether a log has enough to learn from.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/offpolicy/train_data.h"

namespace sortition {

// FailedPrecondition, which says what is missing, what was left out and what
// helps, if a part has too few tuples, if those that train count too little, or
// if all their rewards are equal.
absl::Status CheckLearnable(const config::v1::TrainOptions& options,
                            const TrainData& data);

// Returns the columns of the log that no features are made of, as
// "title (TEXT)", by name.
std::vector<std::string> UnreadColumns(const TupleCounts& counts);

}  // namespace sortition
