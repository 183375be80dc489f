#pragma once
// What the user of a logged decision saw of its action.
#include <cstdint>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns whether it only says how far the user looked: the action was shown.
bool IsViewportOnly(const log::v1::Shown& shown);

// Returns whether something else than the action was shown, so that the reward
// belongs to that. Fewer ranks than the action has may have been shown; a page
// is compared with the ranks of the action from its first one on.
bool ShownDiffers(const log::v1::BanditTuple& logged);

// Returns how many ranks the action has: candidates of an order or a subset, 1
// for a selection, 0 for an abstention.
uint32_t NumRanks(const log::v1::Decision& decision);

// Returns how many of the first ranks of the action were shown, as far as what
// was shown agrees with the action: 0 if nothing was, all of them if no report
// says more. Of a page from rank r that agrees, r plus its size, because the
// user passed the earlier ranks to come there. A subset has no order: all or 0.
uint32_t ShownRanks(const log::v1::BanditTuple& logged);

// Returns how many of the first ranks of the action the user looked at, at most
// ShownRanks(); all that were shown, if that is not known.
uint32_t SeenRanks(const log::v1::BanditTuple& logged);

}  // namespace sortition
