#include "io/segments/shown_action.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "core/data/action.h"

namespace sortition {

bool ShownDiffers(const log::v1::BanditTuple& logged) {
  const log::v1::Decision& decision = logged.decision();
  if (!logged.has_shown()) return false;
  // Showing nothing is right for an abstention and for an empty subset.
  if (logged.shown().not_shown() || logged.shown().shown().empty()) {
    if (decision.action_kind() == log::v1::SUBSET) {
      return decision.action_size() != 0;
    }
    return decision.action_size() != 1 || decision.action(0) != kAbstain;
  }
  if (decision.action_kind() == log::v1::SUBSET) {
    // Sets have no order and no first ranks.
    const std::set<int64_t> seen(logged.shown().shown().begin(),
                                 logged.shown().shown().end());
    return seen != std::set<int64_t>(decision.action().begin(),
                                     decision.action().end());
  }
  const auto& shown = logged.shown().shown();
  const auto& action = decision.action();
  return shown.size() > action.size() ||
         !std::equal(shown.begin(), shown.end(), action.begin(),
                     [](uint32_t seen, int32_t chosen) {
                       return static_cast<int64_t>(seen) == chosen;
                     });
}

}  // namespace sortition
