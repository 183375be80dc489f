#include "trainer/clicks/click_log.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/store_listing.h"
#include "io/segments/decision_view.h"
#include "io/segments/shown_action.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

constexpr char kOverridden[] = "something else than the order was shown";
constexpr char kNothingSeen[] = "no rank was seen";
constexpr char kNotShown[] = "reward of a rank that was not shown";

size_t RanksOf(const log::v1::BanditTuple& logged, ClickedRanks use) {
  switch (use) {
    case ClickedRanks::kAll:
      return NumRanks(logged.decision());
    case ClickedRanks::kShown:
      return ShownRanks(logged);
    case ClickedRanks::kSeen:
      return SeenRanks(logged);
  }
  return 0;
}

bool HasUnrankedFeedback(const log::v1::BanditTuple& logged) {
  return std::any_of(
      logged.feedback().begin(), logged.feedback().end(),
      [](const log::v1::Feedback& feedback) { return !feedback.has_rank(); });
}

}  // namespace

absl::StatusOr<ClickedRanks> ParseClickedRanks(absl::string_view text) {
  if (text == "all") return ClickedRanks::kAll;
  if (text == "shown") return ClickedRanks::kShown;
  if (text == "seen") return ClickedRanks::kSeen;
  return absl::InvalidArgumentError(
      absl::StrCat("ranks is '", text, "', must be all, shown or seen"));
}

bool IsOrder(const log::v1::Decision& decision) {
  const auto n = static_cast<int64_t>(decision.num_candidates());
  const auto& eligible = decision.eligible();
  if (!eligible.empty() && eligible.size() != n) return false;
  std::vector<bool> is_used(decision.num_candidates(), false);
  for (const int32_t document_index : decision.action()) {
    if (document_index < 0 || document_index >= n) return false;
    if (!eligible.empty() && !eligible.Get(document_index)) return false;
    if (is_used[static_cast<size_t>(document_index)]) return false;
    is_used[static_cast<size_t>(document_index)] = true;
  }
  return !decision.action().empty();
}

ClickLog::ClickLog(const config::v1::ClicksOptions& options)
    : options_(options) {
  selected_.set_tuples(options.tuples());
  selected_.set_model(options.model());
  selected_.set_versions(options.versions());
  selected_.set_since(options.since());
  selected_.set_until(options.until());
  selected_.set_test_fraction(options.test_fraction());
}

absl::StatusOr<std::unique_ptr<ClickLog>> ClickLog::Open(
    const config::v1::ClicksOptions& options) {
  std::unique_ptr<ClickLog> log(new ClickLog(options));
  RETURN_IF_ERROR(log->Prepare());
  return log;
}

absl::Status ClickLog::LoadFeatures() {
  if (items_ != ClickItems::kRegression || options_.model_store().empty()) {
    return absl::OkStatus();
  }
  const ModelStore store(options_.model_store());
  ASSIGN_OR_RETURN(const uint64_t newest,
                   NewestVersion(options_.model(), store));
  if (newest == 0) {
    return NoVersionError(options_.model_store(), options_.model());
  }
  ASSIGN_OR_RETURN(const StoredModel stored,
                   store.Load(options_.model(), newest));
  ASSIGN_OR_RETURN(const ModelFrame frame, FrameOf(stored.model));
  if (!frame.has_schema()) return absl::OkStatus();
  features_ = frame.features;
  num_features_ = features_->num_features();
  return absl::OkStatus();
}

absl::Status ClickLog::Prepare() {
  ASSIGN_OR_RETURN(items_, ParseClickItems(options_.items()));
  ASSIGN_OR_RETURN(ranks_, ParseClickedRanks(options_.ranks()));
  RETURN_IF_ERROR(LoadFeatures());
  keys_.emplace(items_, features_.get());
  ASSIGN_OR_RETURN(
      log_, TupleLog::Open(options_.tuples(),
                           {.mix_joins = options_.mix_joins(),
                            .allow_incomplete = options_.allow_incomplete()}));
  ASSIGN_OR_RETURN(selection_, TupleSelection::Create(selected_, *log_));
  ASSIGN_OR_RETURN(leaves_out_aggregations_,
                   HasMoreThanAggregations(*log_, *selection_));
  if (items_ != ClickItems::kRegression || num_features_.has_value()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      num_features_,
      NewestNumFeatures(*log_, [&](const log::v1::BanditTuple& logged) {
        return !ReasonToSkip(logged) && logged.decision().num_features() > 0;
      }));
  return absl::OkStatus();
}

std::optional<LeftOutReason> ClickLog::ReasonToSkip(
    const log::v1::BanditTuple& logged) const {
  const log::v1::Decision& decision = logged.decision();
  if (const auto reason = selection_->ReasonToSkip(decision)) return reason;
  if (leaves_out_aggregations_ && decision.has_aggregation()) {
    return LeftOutReason::kAggregated;
  }
  if (decision.action_kind() != log::v1::RANK) {
    return LeftOutReason::kOtherAction;
  }
  // Whoever chooses the seed chooses the order.
  if (decision.has_seed()) return LeftOutReason::kSeeded;
  if (!IsOrder(decision)) return LeftOutReason::kBadAction;
  return std::nullopt;
}

std::string ClickLog::ReadClicks(const log::v1::BanditTuple& logged,
                                 ClickCounts* counts) {
  if (ShownDiffers(logged)) return kOverridden;
  const size_t shown = ranks_ == ClickedRanks::kAll
                           ? NumRanks(logged.decision())
                           : ShownRanks(logged);
  size_t seen = RanksOf(logged, ranks_);
  size_t clicked = 0;  // Ranks down to the last click.
  std::vector<size_t> clicks;
  for (const log::v1::RankReward& rank_reward : logged.rank_rewards()) {
    if (!std::isfinite(rank_reward.reward())) {
      return ReasonText(LeftOutReason::kBadReward);
    }
    if (rank_reward.rank() >= shown) return kNotShown;
    if (options_.has_click_from() ? rank_reward.reward() < options_.click_from()
                                  : !(rank_reward.reward() > 0)) {
      continue;
    }
    clicks.push_back(rank_reward.rank());
    clicked = std::max(clicked, size_t{rank_reward.rank()} + 1);
  }
  if (std::max(seen, clicked) == 0) return kNothingSeen;
  // Who clicked a rank saw it.
  if (clicked > seen) ++counts->clicked_below_seen;
  seen = std::max(seen, clicked);
  if (seen > options_.max_ranks()) ++counts->cut;
  seen = std::min<size_t>(seen, options_.max_ranks());
  clicks_.assign(seen, 0);
  for (const size_t rank : clicks) {
    if (rank < seen) clicks_[rank] = 1;
  }
  return "";
}

absl::Status ClickLog::TakeTuple(const log::v1::BanditTuple& logged,
                                 const Take& take, ClickCounts* counts) {
  ++counts->read_tuples;
  const log::v1::Decision& decision = logged.decision();
  std::optional<LeftOutReason> reason = ReasonToSkip(logged);
  if (!reason) reason = keys_->Read(decision);
  if (!reason && items_ == ClickItems::kRegression &&
      keys_->num_features() != num_features()) {
    reason = LeftOutReason::kOtherFeatures;
  }
  if (!reason) reason = CensoredReason(logged);
  if (!reason || *reason == LeftOutReason::kCensored) {
    counts->censored_share.Add(logged);
  }
  if (reason) {
    counts->LeaveOut(*reason, logged);
    return absl::OkStatus();
  }
  if (const std::string why = ReadClicks(logged, counts); !why.empty()) {
    ++counts->excluded[why];
    return absl::OkStatus();
  }
  ++counts->sessions;
  if (logged.rank_rewards_size() > 0) ++counts->with_rank_rewards;
  if (HasUnrankedFeedback(logged)) ++counts->with_unranked_feedback;
  const std::string& id = decision.decision_id();
  const std::string& unit = decision.unit_id();
  const double split =
      UnitInterval(StableHash(HashDomain::kSplit, {unit.empty() ? id : unit}));
  return take({.decision = &decision,
               .action = SpanOf(decision.action()),
               .clicks = clicks_,
               .unit = UnitKey(unit, id),
               .is_held_out = split < options_.test_fraction(),
               .keys = &*keys_});
}

absl::Status ClickLog::Scan(const Take& take, ClickCounts* counts) {
  return ScanTuples(
      *log_,
      [&](const log::v1::BanditTuple& logged) {
        return TakeTuple(logged, take, counts);
      },
      counts, &ends_);
}

}  // namespace sortition
