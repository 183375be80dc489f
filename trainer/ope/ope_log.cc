#include "trainer/ope/ope_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/segments/decision_view.h"
#include "trainer/frames/model_frame.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {

OpeLog::OpeLog(const config::v1::OpeOptions& options, RankUse ranks,
               ArmPropensities arms)
    : ranks_(ranks), arms_(std::move(arms)) {
  options_.set_tuples(options.tuples());
  options_.set_mix_joins(options.mix_joins());
  options_.set_allow_incomplete(options.allow_incomplete());
  options_.set_model(options.model());
  options_.set_versions(options.versions());
  options_.set_reward_min(options.reward_min());
  options_.set_reward_max(options.reward_max());
  options_.set_clamp_rewards(options.clamp_rewards());
  options_.set_overrides(options.overrides());
  options_.set_since(options.since());
  options_.set_until(options.until());
  rewards_ = RewardRange::Of(options_);
}

absl::StatusOr<std::unique_ptr<OpeLog>> OpeLog::Open(
    const config::v1::OpeOptions& options, RankUse ranks,
    const OpeShape& shape) {
  ASSIGN_OR_RETURN(ArmPropensities arms, ArmPropensities::Create(options));
  std::unique_ptr<OpeLog> log(new OpeLog(options, ranks, std::move(arms)));
  RETURN_IF_ERROR(log->Prepare(shape));
  return log;
}

absl::Status OpeLog::Prepare(const OpeShape& shape) {
  shape_ = shape;
  ASSIGN_OR_RETURN(overrides_, ParseOverrides(options_.overrides()));
  ASSIGN_OR_RETURN(
      log_, TupleLog::Open(options_.tuples(),
                           {.mix_joins = options_.mix_joins(),
                            .allow_incomplete = options_.allow_incomplete()}));
  ASSIGN_OR_RETURN(selection_, TupleSelection::Create(options_, *log_));
  ASSIGN_OR_RETURN(leaves_out_aggregations_,
                   HasMoreThanAggregations(*log_, *selection_));
  if (shape_.num_features.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      shape_.num_features,
      NewestNumFeatures(*log_, [&](const log::v1::BanditTuple& logged) {
        return !Convert(logged);
      }));
  return absl::OkStatus();
}

std::optional<LeftOutReason> OpeLog::Convert(
    const log::v1::BanditTuple& logged) {
  const log::v1::Decision& decision = logged.decision();
  if (const auto reason = selection_->ReasonToSkip(decision)) return reason;
  if (leaves_out_aggregations_ && decision.has_aggregation()) {
    return LeftOutReason::kAggregated;
  }
  const TupleExpectation expectation{
      .action_kind = shape_.action_kind.value_or(
          ActionKindOf(decision).value_or(ActionKind::kSelect)),
      .num_features = shape_.num_features.value_or(decision.num_features()),
      .can_abstain = true,
      .fixed_size = fixed_size_.value_or(SubsetSize(decision) > 0),
      .rewards = rewards_,
      .overrides = overrides_,
      .ranks = ranks_,
      .features = shape_.features.get(),
      .scratch = &feature_scratch_};
  if (const auto reason = ConvertTuple(logged, expectation, &tuple_)) {
    return reason;
  }
  return CensoredReason(logged);
}

absl::Status OpeLog::TakeTuple(const log::v1::BanditTuple& logged,
                               const Take& take, TupleCounts* counts) {
  ++counts->read_tuples;
  const log::v1::Decision& decision = logged.decision();
  std::optional<LeftOutReason> reason = selection_->ReasonToSkip(decision);
  if (!reason) {
    ASSIGN_OR_RETURN(reason, thinning_.ReasonToSkip(logged));
  }
  if (!reason) reason = Convert(logged);
  if (!reason || *reason == LeftOutReason::kCensored) {
    counts->censored_share.Add(logged);
  }
  if (reason) {
    counts->LeaveOut(*reason, logged);
    return absl::OkStatus();
  }
  counts->TakeReward(logged);
  counts->overridden.Add(logged);
  counts->TakeOrder(decision, tuple_.action.size());
  shape_.action_kind = ActionKindOf(decision);
  if (shape_.action_kind == ActionKind::kSubset) {
    fixed_size_ = SubsetSize(decision) > 0;
  }
  // Stored policies make what they weigh of columns by themselves; this is for
  // models of rewards.
  ASSIGN_OR_RETURN(
      const DecisionView view,
      ViewFeatures(decision,
                   decision.has_columns() ? shape_.features.get() : nullptr,
                   &feature_scratch_));
  LoggedDecision taken;
  taken.decision = &decision;
  taken.query = {
      .candidates = view.candidates,
      .eligible = view.eligible,
      .top_k = view.top_k,
      .columns = decision.has_columns() ? &decision.columns() : nullptr};
  if (shape_.action_kind == ActionKind::kRank) {
    taken.query.top_k = static_cast<uint32_t>(tuple_.action.size());
  }
  if (decision.has_game_rounds()) {
    taken.query.game.rounds = decision.game_rounds();
  }
  taken.action = SpanOf(decision.action()).first(tuple_.action.size());
  taken.action_kind = *shape_.action_kind;
  taken.own_log_propensity = tuple_.log_propensity;
  taken.is_cut = taken.action.size() < SpanOf(decision.action()).size();
  taken.log_propensity =
      arms_.Of(decision, tuple_.log_propensity, taken.is_cut, &taken.arm_use);
  taken.reward = tuple_.action_shown ? -tuple_.loss : 0;
  taken.views = &logged.shadow_views();
  taken.tuple = &logged;
  taken.unit = UnitKey(decision.unit_id(), decision.decision_id());
  taken.action_shown = tuple_.action_shown;
  taken.full_support = tuple_.full_support;
  return take(taken);
}

absl::Status OpeLog::Scan(const Take& take, TupleCounts* counts,
                          const Note& note) {
  RETURN_IF_ERROR(ScanTuples(
      *log_,
      [&](const log::v1::BanditTuple& logged) {
        note(logged.decision());
        return TakeTuple(logged, take, counts);
      },
      counts, &ends_));
  return CheckRewards(*counts, rewards_);
}

}  // namespace sortition
