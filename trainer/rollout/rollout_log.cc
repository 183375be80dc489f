#include "trainer/rollout/rollout_log.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "trainer/decision_files/guarded_rewards.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {
namespace {

using model::v1::Rollout;

constexpr double kMicrosPerSecond = 1e6;

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
      .share = static_cast<double>(places) / kSplitPlaces,
      .is_canary = is_canary};
}

// Returns since when a segment of the rollout must have been written. Files of
// guardrails are compared with the whole log, so that those of another log are
// found out.
int64_t OldestWritten(const Rollout& rollout, const GuardedRewards& guarded) {
  constexpr int64_t kClocksDifferUs = 3'600'000'000;
  return guarded.files().empty() ? rollout.started_us() - kClocksDifferUs : 0;
}

// The decisions of a log that count, to be brought in order.
class DecisionsInTime {
 public:
  void Add(const ArmDecision& decision, const std::vector<double>& outcomes) {
    decisions_.push_back({decision, outcomes_.size()});
    outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
  }

  void Give(size_t num_outcomes, UnitRounds* rounds) {
    std::stable_sort(decisions_.begin(), decisions_.end(),
                     [](const Placed& a, const Placed& b) {
                       return a.decision.time_us < b.decision.time_us;
                     });
    for (const Placed& placed : decisions_) {
      rounds->Add(placed.decision,
                  std::span(outcomes_).subspan(placed.first, num_outcomes));
    }
  }

 private:
  struct Placed {
    ArmDecision decision;
    size_t first = 0;  // Of its outcomes.
  };
  std::vector<Placed> decisions_;
  std::vector<double> outcomes_;
};

}  // namespace

absl::StatusOr<RolloutEvidence> ReadEvidence(
    const config::v1::RolloutOptions& options, const Rollout& rollout) {
  const config::v1::RolloutPlan& plan = rollout.plan();
  ASSIGN_OR_RETURN(std::vector<RolloutLimit> limits, LimitsOf(plan));
  RolloutEvidence evidence(plan, std::move(limits));
  ASSIGN_OR_RETURN(const GuardedRewards guarded,
                   GuardedRewards::Read(plan.rewards(), plan.guardrails(),
                                        plan.reward_ranges()));
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .written_since_us = OldestWritten(rollout, guarded)}));
  DecisionsInTime decisions;
  const int64_t now_us = NowUs();
  int64_t newest_us = 0;
  std::vector<uint64_t> found;
  TupleCounts counts;
  RETURN_IF_ERROR(ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) {
        const log::v1::Decision& decision = tuple.decision();
        if (decision.model() != options.model()) return absl::OkStatus();
        guarded.NoteInLog(decision.decision_id(), &found);
        if (decision.time_us() > now_us) return absl::OkStatus();
        newest_us = std::max(newest_us, decision.time_us());
        const auto placed = ArmDecisionOf(decision, rollout);
        if (!placed.has_value() || CensoredReason(tuple).has_value() ||
            !std::isfinite(tuple.reward())) {
          return absl::OkStatus();
        }
        std::vector<double> outcomes = {evidence.Scale(0, tuple.reward())};
        for (const double reward : guarded.RewardsOf(decision.decision_id())) {
          outcomes.push_back(evidence.Scale(outcomes.size(), reward));
        }
        decisions.Add(*placed, outcomes);
        return absl::OkStatus();
      },
      &counts));
  RETURN_IF_ERROR(guarded.CheckFound(found));
  UnitRounds rounds(
      static_cast<int64_t>(plan.unit_window_seconds() * kMicrosPerSecond),
      [&](const UnitRound& round) { evidence.Take(round); });
  decisions.Give(evidence.num_outcomes(), &rounds);
  rounds.CloseUntil(newest_us);
  return evidence;
}

}  // namespace sortition
