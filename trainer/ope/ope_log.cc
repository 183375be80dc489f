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

config::v1::TrainOptions ReadingOptions(const config::v1::OpeOptions& options) {
  config::v1::TrainOptions reading;
  reading.set_tuples(options.tuples());
  reading.set_mix_joins(options.mix_joins());
  reading.set_allow_incomplete(options.allow_incomplete());
  reading.set_model(options.model());
  reading.set_versions(options.versions());
  reading.set_reward_min(options.reward_min());
  reading.set_reward_max(options.reward_max());
  reading.set_clamp_rewards(options.clamp_rewards());
  reading.set_overrides(options.overrides());
  reading.set_since(options.since());
  reading.set_until(options.until());
  return reading;
}

OpeLog::OpeLog(const config::v1::OpeOptions& options, RankUse ranks,
               ArmPropensities arms)
    : options_(ReadingOptions(options)),
      rewards_(RewardRange::Of(options_)),
      ranks_(ranks),
      arms_(std::move(arms)) {}

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
  may_lack_features_ = true;
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
      .scratch = &feature_scratch_,
      .empty_rows = EmptyRows()};
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
  const ModelFeatures* const features =
      decision.has_columns() ? shape_.features.get() : nullptr;
  ASSIGN_OR_RETURN(const DecisionView view,
                   decision.has_columns() && features == nullptr
                       ? ViewWithoutFeatures(decision, &empty_rows_)
                       : ViewFeatures(decision, features, &feature_scratch_));
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
