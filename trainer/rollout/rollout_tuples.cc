#include "trainer/rollout/rollout_tuples.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "trainer/rollout/guardrail_files.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/thinning.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using model::v1::Rollout;

// Returns which part a decision has in the rollout; nullopt: none.
std::optional<ArmDecision> ArmDecisionOf(const log::v1::Decision& decision,
                                         const Rollout& rollout) {
  if (!decision.has_arm() || decision.has_seed()) return std::nullopt;
  const log::v1::ArmChoice& arm = decision.arm();
  const bool is_canary = decision.version() == rollout.canary_version();
  if (arm.split().salt() != rollout.salt() || arm.split().arms_size() != 1 ||
      arm.split().arms(0).version() != rollout.canary_version() ||
      arm.primary_version() != rollout.stable_version() ||
      (!is_canary && decision.version() != rollout.stable_version())) {
    return std::nullopt;
  }
  const uint32_t places = PlacesOf(arm.split().arms(0));
  if (places == 0 || places >= kSplitPlaces) return std::nullopt;
  return ArmDecision{
      .unit = UnitKey(decision.unit_id(), decision.decision_id()),
      .has_unit = !decision.unit_id().empty(),
      .time_us = decision.time_us(),
      .share = ShareOfPlaces(places),
      .place =
          ShareOfPlaces(SplitPlace(decision.model(), rollout.salt(),
                                   decision.unit_id(), decision.decision_id())),
      .is_canary = is_canary};
}

// Returns since when a segment of the rollout must have been written. Files of
// guardrails are compared with the whole log, so that those of another log are
// found out.
int64_t OldestWritten(const Rollout& rollout, const GuardrailFiles& files) {
  return files.empty() ? rollout.started_us() - kMaxLagUs : 0;
}

// Counts the rewards outside of the plan's range, of each arm for itself: a
// canary of 1 % may be the only one that has any.
class RewardCheck {
 public:
  explicit RewardCheck(const RolloutPlan& plan)
      : range_{plan.reward_min(), plan.reward_max(), plan.clamp_rewards()} {}

  void Add(const log::v1::BanditTuple& tuple, bool is_canary) {
    TupleCounts& arm = arms_[is_canary ? 1 : 0];
    // False for a reward that is not a number.
    if (tuple.reward() >= range_.min && tuple.reward() <= range_.max) {
      arm.TakeReward(tuple);
    } else {
      arm.LeaveOut(LeftOutReason::kRewardOutside, tuple);
    }
  }

  uint64_t num_outside() const {
    uint64_t sum = 0;
    for (const TupleCounts& arm : arms_) {
      sum += arm.with_feedback.outside + arm.without_feedback.outside;
    }
    return sum;
  }

  // Returns why the reward cannot be judged; empty: it can.
  std::string Problem() const {
    if (range_.clamps) return "";
    for (const TupleCounts& arm : arms_) {
      const absl::Status status = CheckRewards(arm, range_);
      if (status.ok()) continue;
      return absl::StrCat(
          "the reward is not judged in this step: ", status.message(),
          ", of a new rollout (options of the plan count when it starts)");
    }
    return "";
  }

 private:
  const RewardRange range_;
  std::array<TupleCounts, 2> arms_;
};

// Takes the tuples of one reading.
class RolloutTupleReader {
 public:
  RolloutTupleReader(const std::string& model, const Rollout& rollout,
                     const RolloutEvidence& evidence, int64_t now_us)
      : model_(model),
        rollout_(rollout),
        evidence_(evidence),
        now_us_(now_us),
        files_(evidence.limits()),
        rewards_(rollout.plan()) {}

  const GuardrailFiles& files() const { return files_; }

  // `damage` is that of all segments so far.
  void BeginSegment(const std::string& path, const SegmentDamage& damage) {
    EndSegment(damage);
    read_.segments.push_back(SegmentOf(path));
  }

  void Take(const log::v1::BanditTuple& tuple) {
    const log::v1::Decision& decision = tuple.decision();
    int64_t& newest_us = read_.segments.back().newest_of_all_us;
    newest_us = std::max(newest_us, decision.time_us());
    if (decision.model() != model_) return;
    files_.NoteInLog(decision.decision_id());
    const int64_t time_us = decision.time_us();
    ReadSegment& segment = read_.segments.back();
    if (time_us <= now_us_) {
      segment.newest_us = std::max(segment.newest_us, time_us);
    }
    const auto placed = ArmDecisionOf(decision, rollout_);
    if (!placed.has_value()) return;
    if (time_us > now_us_ + kMaxLagUs) {
      ++read_.future_decisions;
      return;
    }
    segment.newest_of_rollout_us =
        std::max(segment.newest_of_rollout_us, time_us);
    const double kept = KeepProbability(tuple);
    if (kept > 0) {
      read_.keep_probability = std::min(read_.keep_probability, kept);
    }
    read_.decisions.Add(*placed, UnitKey("", decision.decision_id()),
                        KeepNumber(decision.unit_id(), decision.decision_id()),
                        OutcomesOf(tuple, placed->is_canary));
  }

  RolloutTuples Finish(const TupleCounts& counts) && {
    EndSegment(counts.damage);
    read_.incomplete_until_us = counts.incomplete_until_us;
    read_.until = ReadUntilOf(read_.segments);
    files_.Check();
    read_.problems = files_.Problems();
    read_.rewards_outside = rewards_.num_outside();
    std::string problem = rewards_.Problem();
    read_.complete_until_us = {read_.until.close_us};
    if (!problem.empty()) {
      read_.complete_until_us[0].reset();
      read_.problems.push_back(std::move(problem));
    }
    for (size_t i = 0; i < evidence_.limits().size(); ++i) {
      std::optional<int64_t> until_us = files_.judged_until_us(i);
      if (until_us) *until_us = std::min(*until_us, read_.until.close_us);
      read_.complete_until_us.push_back(until_us);
    }
    return std::move(read_);
  }

 private:
  void EndSegment(const SegmentDamage& damage) {
    if (!read_.segments.empty()) {
      read_.segments.back().corrupt_records =
          damage.corrupt_records - damage_before_;
    }
    damage_before_ = damage.corrupt_records;
  }

  // Returns the reward of a decision and those of the guardrails, in their
  // units; kUnknownOutcome where one is censored or not judged. A reward
  // outside of its range counts as the nearer end, because leaving it out would
  // void rounds by what their arm earned.
  std::vector<double> OutcomesOf(const log::v1::BanditTuple& tuple,
                                 bool is_canary) {
    std::vector<double> outcomes = {kUnknownOutcome};
    if (!CensoredReason(tuple).has_value()) {
      rewards_.Add(tuple, is_canary);
      outcomes[0] = evidence_.Cut(0, tuple.reward());
    }
    files_.AppendOutcomes(tuple.decision(), &outcomes);
    return outcomes;
  }

  const std::string& model_;
  const Rollout& rollout_;
  const RolloutEvidence& evidence_;
  const int64_t now_us_;
  GuardrailFiles files_;
  RewardCheck rewards_;
  RolloutTuples read_;
  uint64_t damage_before_ = 0;
};

}  // namespace

absl::StatusOr<RolloutTuples> ReadRolloutTuples(
    const config::v1::RolloutOptions& options, const Rollout& rollout,
    const RolloutEvidence& evidence, int64_t now_us) {
  RolloutTupleReader reader(options.model(), rollout, evidence, now_us);
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(
          options.tuples(),
          {.mix_joins = true,
           .allow_incomplete = options.allow_incomplete(),
           .written_since_us = OldestWritten(rollout, reader.files())}));
  TupleCounts counts;
  RETURN_IF_ERROR(ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) {
        reader.Take(tuple);
        return absl::OkStatus();
      },
      &counts, nullptr,
      [&](const TupleLog::Segment& segment) {
        reader.BeginSegment(segment.path, counts.damage);
      }));
  return std::move(reader).Finish(counts);
}

}  // namespace sortition
