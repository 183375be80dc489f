#include "trainer/tuples/rank_use.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "io/segments/shown_action.h"

namespace sortition {

absl::StatusOr<RankUse> ParseRankUse(absl::string_view text) {
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

RankPrefix PrefixOf(const log::v1::BanditTuple& logged, RankUse use) {
  const log::v1::Decision& decision = logged.decision();
  const auto all = static_cast<size_t>(decision.action_size());
  const RankPrefix whole = {all, decision.log_propensity()};
  const auto& conditionals = decision.conditional_log_propensities();
  if (use == RankUse::kAll || decision.action_kind() != log::v1::RANK ||
      decision.has_baseline() || ShownDiffers(logged) ||
      conditionals.size() != decision.action_size()) {
    return whole;
  }
  size_t counted =
      use == RankUse::kSeen ? SeenRanks(logged) : ShownRanks(logged);
  // What earned something was seen, whatever a viewport says.
  for (const log::v1::RankReward& reward : logged.rank_rewards()) {
    counted = std::max(counted, size_t{reward.rank()} + 1);
  }
  RankPrefix prefix;
  prefix.ranks = std::clamp<size_t>(counted, 1, all);
  if (prefix.ranks == all) return whole;
  for (size_t rank = 0; rank < prefix.ranks; ++rank) {
    prefix.log_propensity += conditionals[static_cast<int>(rank)];
  }
  return prefix;
}

}  // namespace sortition
