#pragma once
// What the versions that logged orders do at their ranks, by the model store.
#include "sortition/config/v1/train.pb.h"
#include "trainer/tuples/rank_outcomes.h"

namespace sortition {

// Returns what asks the versions of options.model(), which it loads as they
// come and keeps. It says FailedPrecondition of a decision that two versions
// made, or whose version is not in the store, is no Plackett-Luce without
// rank_factors (others have no exact marginals), or gives a rank another
// probability than was logged. Not thread-safe.
RankMarginals MakeRankMarginals(const config::v1::TrainOptions& options);

}  // namespace sortition
