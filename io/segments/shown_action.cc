#include "io/segments/shown_action.h"

#include <algorithm>
#include <set>

#include "core/data/action.h"

namespace sortition {
namespace {

bool IsAbstention(const log::v1::Decision& decision) {
  return decision.action_size() == 1 && decision.action(0) == kAbstain;
}

// Sets have no order: a page that begins at rank r stands for r members that
// were shown before it.
bool SubsetDiffers(const log::v1::BanditTuple& logged) {
  const auto& shown = logged.shown().shown();
  const std::set<int64_t> seen(shown.begin(), shown.end());
  const std::set<int64_t> members(logged.decision().action().begin(),
                                  logged.decision().action().end());
  return logged.shown().first_rank() + seen.size() != members.size() ||
         !std::includes(members.begin(), members.end(), seen.begin(),
                        seen.end());
}

// Returns the rank behind those of the page that agree with the action.
uint32_t AgreesUpTo(const log::v1::BanditTuple& logged) {
  const auto& action = logged.decision().action();
  const auto& shown = logged.shown().shown();
  const auto ranks = static_cast<uint32_t>(action.size());
  const uint32_t first = std::min(logged.shown().first_rank(), ranks);
  const auto [end, differs] = std::mismatch(
      action.begin() + static_cast<int>(first), action.end(), shown.begin(),
      shown.end(),
      [](int32_t chosen, uint32_t s) { return int64_t{chosen} == int64_t{s}; });
  return static_cast<uint32_t>(end - action.begin());
}

}  // namespace

bool IsViewportOnly(const log::v1::Shown& shown) {
  return shown.has_seen_ranks() && shown.shown().empty() && !shown.not_shown();
}

bool ShownDiffers(const log::v1::BanditTuple& logged) {
  const log::v1::Decision& decision = logged.decision();
  const log::v1::Shown& shown = logged.shown();
  if (!logged.has_shown() || IsViewportOnly(shown)) return false;
  // Showing nothing is right for an abstention and for an empty subset.
  if (shown.not_shown() || shown.shown().empty()) {
    if (decision.action_kind() == log::v1::SUBSET) {
      return decision.action_size() != 0;
    }
    return !IsAbstention(decision);
  }
  if (decision.action_kind() == log::v1::SUBSET) return SubsetDiffers(logged);
  const uint64_t end =
      uint64_t{shown.first_rank()} + static_cast<uint64_t>(shown.shown_size());
  return AgreesUpTo(logged) != end;
}

uint32_t NumRanks(const log::v1::Decision& decision) {
  return IsAbstention(decision) ? 0
                                : static_cast<uint32_t>(decision.action_size());
}

uint32_t ShownRanks(const log::v1::BanditTuple& logged) {
  const uint32_t ranks = NumRanks(logged.decision());
  const log::v1::Shown& shown = logged.shown();
  if (!logged.has_shown() || IsViewportOnly(shown)) return ranks;
  if (shown.not_shown() || shown.shown().empty()) return 0;
  if (logged.decision().action_kind() == log::v1::SUBSET) {
    return SubsetDiffers(logged) ? 0 : ranks;
  }
  return std::min(AgreesUpTo(logged), ranks);
}

uint32_t SeenRanks(const log::v1::BanditTuple& logged) {
  const uint32_t ranks = ShownRanks(logged);
  if (!logged.shown().has_seen_ranks()) return ranks;
  return std::min(logged.shown().seen_ranks(), ranks);
}

}  // namespace sortition
