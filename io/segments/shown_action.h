#pragma once
// Whether the user of a logged decision saw its action.
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns whether something else than the action was shown, so that the reward
// belongs to that. Fewer ranks than the action has may have been shown.
bool ShownDiffers(const log::v1::BanditTuple& logged);

}  // namespace sortition
