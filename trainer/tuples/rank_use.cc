#include "trainer/tuples/rank_use.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "io/segments/shown_action.h"

namespace sortition {

absl::StatusOr<RankUse> ParseRankUse(absl::string_view text,
                                     bool has_more_rewards) {
  if (text.empty()) return has_more_rewards ? RankUse::kAll : RankUse::kSeen;
  if (text == "all") return RankUse::kAll;
  if (text == "shown") return RankUse::kShown;
  if (text == "seen") return RankUse::kSeen;
  return absl::InvalidArgumentError(
      absl::StrCat("ranks is '", text, "', must be all, shown or seen"));
}

std::string RankUseText(RankUse use) {
  return use == RankUse::kAll     ? "all"
         : use == RankUse::kShown ? "shown"
                                  : "seen";
}

namespace {

// Returns how many ranks count, as far as the action was shown.
size_t CountedRanks(const log::v1::BanditTuple& logged, RankUse use) {
  const auto all = static_cast<size_t>(logged.decision().action_size());
  if (use == RankUse::kAll) return all;
  size_t counted = all;
  if (use == RankUse::kShown && !ShownDiffers(logged)) {
    counted = ShownRanks(logged);
  } else if (use == RankUse::kSeen && logged.shown().has_seen_ranks()) {
    // What a page that is lost would have shown was seen, too.
    counted = logged.shown().seen_ranks();
  }
  // What earned something was seen, whatever a viewport says.
  for (const log::v1::RankReward& reward : logged.rank_rewards()) {
    counted = std::max(counted, size_t{reward.rank()} + 1);
  }
  return std::clamp<size_t>(counted, 1, all);
}

bool HasConditionals(const log::v1::Decision& decision) {
  return decision.action_kind() == log::v1::RANK &&
         !decision.action().empty() &&
         decision.conditional_log_propensities_size() == decision.action_size();
}

}  // namespace

bool HasRankPropensities(const log::v1::Decision& decision) {
  if (!HasConditionals(decision)) return false;
  // Whoever wrote the log may mean the model's own.
  constexpr double kTolerance = 1e-6;
  const auto& conditionals = decision.conditional_log_propensities();
  const double sum =
      std::accumulate(conditionals.begin(), conditionals.end(), 0.0);
  const double of_order = decision.log_propensity();
  return !std::isfinite(sum) ||
         std::abs(sum - of_order) <= kTolerance * (1 + std::abs(of_order));
}

bool HasFiniteRankPropensities(const log::v1::Decision& decision) {
  const auto& conditionals = decision.conditional_log_propensities();
  return HasRankPropensities(decision) &&
         std::all_of(conditionals.begin(), conditionals.end(),
                     [](double log) { return std::isfinite(log); });
}

bool HasRankPropensitiesOfVersion(const log::v1::Decision& decision) {
  return HasConditionals(decision) && !decision.has_baseline();
}

RankPrefix PrefixOf(const log::v1::BanditTuple& logged, RankUse use) {
  const log::v1::Decision& decision = logged.decision();
  RankPrefix prefix = {static_cast<size_t>(decision.action_size()),
                       decision.log_propensity(), ShownDiffers(logged)};
  if (!HasRankPropensities(decision)) return prefix;
  const size_t counted = CountedRanks(logged, use);
  // Of what was shown otherwise only ranks that count matter: it may depend on
  // what was drawn below them.
  if (counted == prefix.ranks ||
      (prefix.shown_otherwise && counted > ShownRanks(logged))) {
    return prefix;
  }
  prefix = {.ranks = counted};
  for (size_t rank = 0; rank < counted; ++rank) {
    prefix.log_propensity +=
        decision.conditional_log_propensities(static_cast<int>(rank));
  }
  return prefix;
}

}  // namespace sortition
