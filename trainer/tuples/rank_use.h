#pragma once
// Which ranks of an order its reward depends on.
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Weights of a whole order fall and grow with every rank, also with those that
// nobody saw. If the reward depends on the first T ranks alone, the weight of
// these says as much and varies less:
//   E[π(y_1..y_T) / p(y_1..y_T) · r] = the value of π,
// and the weight has the mean 1. Both hold for a fixed T and for a T that
// depends on the user, as long as the user decides whether to look at rank k+1
// by what stands in the first k ranks and by chance: ρ_{1:k} is a martingale of
// what is drawn and seen, and T stops it. (Prefix weights of a cascade:
// [McInerneyEtAl20].)
enum class RankUse {
  kAll,  // Of the logged order.
  // Those that were shown, which must not depend on what was drawn.
  kShown,
  // Those that the user saw, where ReportShown.seen_ranks says so; otherwise
  // all. A rank with feedback of its own was seen.
  kSeen,
};

// Returns what the option `ranks` says; where it is empty, seen, but all if
// there are further rewards, which may come of any rank. InvalidArgument unless
// it is empty, all, shown or seen.
absl::StatusOr<RankUse> ParseRankUse(absl::string_view text,
                                     bool has_more_rewards);
std::string RankUseText(RankUse use);

// Whether the log has the propensity of each rank of an order given those
// above, as the whole choice gave it: where the caller's baseline had a part,
// that of the mixture. Their product is the propensity of the order.
bool HasRankPropensities(const log::v1::Decision& decision);
// Whether they are all finite, too, so that each rank can be weighed.
bool HasFiniteRankPropensities(const log::v1::Decision& decision);
// Whether the log has a propensity of each rank that should be that of its
// version alone: the caller's baseline had no part.
bool HasRankPropensitiesOfVersion(const log::v1::Decision& decision);

// The first ranks of an action.
struct RankPrefix {
  size_t ranks = 0;
  double log_propensity = 0;
  bool shown_otherwise = false;  // Something else was shown at these ranks.
};

// Returns what the reward of the decision depends on. It is the whole action
// where that is no order, where something else was shown at ranks that count,
// or where it lacks HasRankPropensities().
RankPrefix PrefixOf(const log::v1::BanditTuple& logged, RankUse use);

}  // namespace sortition
