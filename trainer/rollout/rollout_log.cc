#include "trainer/rollout/rollout_log.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "trainer/decision_files/guarded_rewards.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_sources.h"
#include "trainer/tuples/scan/time_range.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {
namespace {

using model::v1::LedgerRecord;
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
      .share = ShareOfPlaces(places),
      .place =
          ShareOfPlaces(SplitPlace(decision.model(), rollout.salt(),
                                   decision.unit_id(), decision.decision_id())),
      .is_canary = is_canary};
}

// Returns since when a segment of the rollout must have been written. Files of
// guardrails are compared with the whole log, so that those of another log are
// found out.
int64_t OldestWritten(const Rollout& rollout, const GuardedRewards& guarded) {
  constexpr int64_t kClocksDifferUs = 3'600'000'000;
  return guarded.files().empty() ? rollout.started_us() - kClocksDifferUs : 0;
}

// Collects the decisions that count, and sorts them. Their order does not
// depend on that of the log, so that two readings register the same rounds.
class DecisionsInTime {
 public:
  void Add(const ArmDecision& decision, uint64_t id,
           const std::vector<double>& outcomes) {
    decisions_.push_back({decision, id, outcomes_.size()});
    outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
  }

  template <typename Take>
  void Give(size_t num_outcomes, const Take& take) {
    std::sort(decisions_.begin(), decisions_.end(),
              [](const Placed& a, const Placed& b) {
                return std::pair(a.decision.time_us, a.id) <
                       std::pair(b.decision.time_us, b.id);
              });
    for (const Placed& placed : decisions_) {
      take(placed.decision, std::span<const double>(outcomes_).subspan(
                                placed.first, num_outcomes));
    }
  }

 private:
  struct Placed {
    ArmDecision decision;
    uint64_t id = 0;   // Hash of the decision id.
    size_t first = 0;  // Of its outcomes.
  };
  std::vector<Placed> decisions_;
  std::vector<double> outcomes_;
};

// Records that a step adds to the ledger, split so that none is large.
class AddedRecords {
 public:
  AddedRecords(int64_t step_us, uint64_t num_rounds)
      : step_us_(step_us), num_rounds_(num_rounds) {
    Begin();
  }

  void Add(const UnitRound& round) {
    MakeRoom();
    *records_.back().add_rounds() = ToLedger(round);
    ++num_rounds_;
  }
  void Add(const RoundOutcome& outcome) {
    MakeRoom();
    *records_.back().add_outcomes() = ToLedger(outcome);
  }
  LedgerRecord* last() { return &records_.back(); }
  std::vector<LedgerRecord> Take() { return std::move(records_); }

 private:
  void Begin() {
    LedgerRecord& record = records_.emplace_back();
    record.set_step_us(step_us_);
    record.set_first_round(num_rounds_);
  }
  void MakeRoom() {
    constexpr int kMaxEntries = 10000;
    const LedgerRecord& record = records_.back();
    if (record.rounds_size() + record.outcomes_size() >= kMaxEntries) Begin();
  }

  const int64_t step_us_;
  uint64_t num_rounds_;
  std::vector<LedgerRecord> records_;
};

// Checks the plan of a rollout that may have been begun by an older release.
absl::Status CheckPlan(const config::v1::RolloutPlan& plan) {
  const absl::Status status = CompletePlan(plan).status();
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("ROLLOUT.textproto has a plan that this release cannot "
                   "judge: ",
                   status.message(),
                   ". End the rollout with `sortition-trainer rollout --stop` "
                   "and begin a new one"));
}

// The state that the records of a ledger add up to.
class LedgerState {
 public:
  static absl::StatusOr<LedgerState> Create(const Rollout& rollout) {
    RETURN_IF_ERROR(CheckPlan(rollout.plan()));
    ASSIGN_OR_RETURN(std::vector<RolloutLimit> limits,
                     LimitsOf(rollout.plan()));
    return LedgerState(rollout, std::move(limits));
  }

  absl::Status Take(const LedgerRecord& record) {
    if (record.has_gap()) NoteGap(record.gap());
    for (const model::v1::LedgerRound& round : record.rounds()) {
      if (round.places() == 0 || round.places() >= kSplitPlaces ||
          !(round.canary_probability() > 0 && round.canary_probability() < 1)) {
        return absl::DataLossError(absl::StrCat(
            "ROLLOUT_LEDGER has a round with places = ", round.places(),
            " and canary_probability = ", round.canary_probability(),
            ": must be in (0, ", kSplitPlaces,
            ") and (0, 1); end the rollout "
            "with `sortition-trainer rollout --stop` and begin a new one"));
      }
      rounds_.Restore(FromLedger(round));
    }
    for (const model::v1::LedgerOutcome& outcome : record.outcomes()) {
      if (!std::isfinite(outcome.mean()) ||
          !rounds_.RestoreClosed(FromLedger(outcome))) {
        return absl::DataLossError(absl::StrCat(
            "ROLLOUT_LEDGER closes outcome ", outcome.outcome(), " of round ",
            outcome.round(), " with mean = ", outcome.mean(),
            ": must be open, of ", rounds_.rounds().size(),
            " rounds, and finite; end the rollout with `sortition-trainer "
            "rollout --stop` "
            "and begin a new one"));
      }
      TakeOutcome(FromLedger(outcome));
    }
    if (!record.has_newest_us()) return absl::OkStatus();
    before_.newest_us = std::max(before_.newest_us, record.newest_us());
    before_.sources = record.sources();
    return absl::OkStatus();
  }

  void NoteGap(const model::v1::LedgerGap& gap) {
    rounds_.NoteGap(ShareOfPlaces(gap.places()));
    counts_.set_gap(absl::StrCat(UtcTimeText(gap.from_us()), " to ",
                                 UtcTimeText(gap.to_us()), " in ",
                                 gap.directory()));
  }

  void TakeOutcome(const RoundOutcome& outcome) {
    evidence_.Take(rounds_.rounds()[outcome.round], outcome);
    if (outcome.outcome > 0) return;
    counts_.set_closed(counts_.closed() + 1);
    if (outcome.why_void == RoundVoid::kCensored) {
      counts_.set_censored(counts_.censored() + 1);
    } else if (outcome.why_void == RoundVoid::kGone) {
      counts_.set_gone(counts_.gone() + 1);
    }
  }

  UnitRounds& rounds() { return rounds_; }
  RolloutEvidence& evidence() { return evidence_; }
  const ReadSoFar& before() const { return before_; }

  RolloutReading Finish(const LedgerEnd& end,
                        std::vector<LedgerRecord> added) && {
    counts_.set_rounds(rounds_.rounds().size());
    counts_.set_open(rounds_.num_open(0));
    counts_.set_unknown_decisions(rounds_.num_unknown());
    counts_.set_torn_bytes(end.torn_bytes);
    return {.evidence = std::move(evidence_),
            .counts = std::move(counts_),
            .end = end,
            .added = std::move(added)};
  }

 private:
  LedgerState(const Rollout& rollout, std::vector<RolloutLimit> limits)
      : evidence_(rollout.plan(), std::move(limits)),
        rounds_(static_cast<int64_t>(rollout.plan().unit_window_seconds() *
                                     kMicrosPerSecond),
                evidence_.num_outcomes()) {
    before_.started_us = before_.newest_us = rollout.started_us();
  }

  RolloutEvidence evidence_;
  UnitRounds rounds_;
  ReadSoFar before_;
  config::v1::RolloutLedger counts_;
};

// Returns the reward of a decision and those of the guardrails, each in its
// units; kUnknownOutcome for one that is censored or not judged.
std::vector<double> OutcomesOf(const log::v1::BanditTuple& tuple,
                               const GuardedRewards& guarded,
                               const RolloutEvidence& evidence) {
  std::vector<double> outcomes = {CensoredReason(tuple).has_value()
                                      ? kUnknownOutcome
                                      : evidence.Cut(0, tuple.reward())};
  const log::v1::Decision& decision = tuple.decision();
  for (const std::optional<double> reward :
       guarded.RewardsOf(decision.decision_id(), decision.time_us())) {
    outcomes.push_back(reward.has_value()
                           ? evidence.Cut(outcomes.size(), *reward)
                           : kUnknownOutcome);
  }
  return outcomes;
}

struct LogReading {
  DecisionsInTime decisions;
  int64_t newest_us = 0;  // Of the model's decisions.
  // By outcome: the time of the latest decision with a complete outcome.
  std::vector<int64_t> complete_until_us;
};

// Reads the decisions of the rollout from the tuples.
absl::StatusOr<LogReading> ReadDecisions(
    const config::v1::RolloutOptions& options, const Rollout& rollout,
    const RolloutEvidence& evidence, int64_t now_us) {
  const config::v1::RolloutPlan& plan = rollout.plan();
  ASSIGN_OR_RETURN(const GuardedRewards guarded,
                   GuardedRewards::Read(plan.rewards(), plan.guardrails(),
                                        plan.reward_ranges()));
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = true,
                      .allow_incomplete = options.allow_incomplete(),
                      .written_since_us = OldestWritten(rollout, guarded)}));
  LogReading reading;
  std::vector<OutcomeCoverage> found;
  TupleCounts counts;
  RETURN_IF_ERROR(ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) {
        const log::v1::Decision& decision = tuple.decision();
        if (decision.model() != options.model()) return absl::OkStatus();
        guarded.NoteInLog(decision.decision_id(), &found);
        if (decision.time_us() > now_us) return absl::OkStatus();
        reading.newest_us = std::max(reading.newest_us, decision.time_us());
        const auto placed = ArmDecisionOf(decision, rollout);
        if (!placed.has_value()) return absl::OkStatus();
        guarded.NoteDue(decision.decision_id(), decision.time_us(), &found);
        reading.decisions.Add(*placed, UnitKey("", decision.decision_id()),
                              OutcomesOf(tuple, guarded, evidence));
        return absl::OkStatus();
      },
      &counts));
  RETURN_IF_ERROR(guarded.CheckFound(found));
  reading.complete_until_us = {reading.newest_us};
  for (const RewardFile& file : guarded.files()) {
    reading.complete_until_us.push_back(
        std::min(reading.newest_us, file.judged_until_us()));
  }
  return reading;
}

// Records a gap if tuples were removed before they were read.
void NoteUnreadGap(const Rollout& rollout, int64_t now_us,
                   const std::vector<TupleSource>& sources, LedgerState* state,
                   LedgerRecord* record) {
  const std::string directory = FindUnreadGap(state->before(), sources);
  if (directory.empty()) return;
  model::v1::LedgerGap& gap = *record->mutable_gap();
  gap.set_directory(directory);
  gap.set_from_us(state->before().newest_us);
  gap.set_to_us(now_us);
  gap.set_places(
      PlacesOfShare(rollout.plan().shares(static_cast<int>(rollout.stage()))));
  state->NoteGap(gap);
}

absl::StatusOr<LedgerEnd> ReplayLedger(const std::string& model_dir,
                                       const Rollout& rollout,
                                       LedgerState* state) {
  return ReadLedger(model_dir, rollout, [&](const LedgerRecord& record) {
    return state->Take(record);
  });
}

}  // namespace

absl::StatusOr<RolloutReading> ReadRolloutLedger(const std::string& model_dir,
                                                 const Rollout& rollout) {
  ASSIGN_OR_RETURN(LedgerState state, LedgerState::Create(rollout));
  ASSIGN_OR_RETURN(const LedgerEnd end,
                   ReplayLedger(model_dir, rollout, &state));
  return std::move(state).Finish(end, {});
}

absl::StatusOr<RolloutReading> ReadRolloutLog(
    const config::v1::RolloutOptions& options, const std::string& model_dir,
    const Rollout& rollout) {
  ASSIGN_OR_RETURN(LedgerState state, LedgerState::Create(rollout));
  ASSIGN_OR_RETURN(const LedgerEnd end,
                   ReplayLedger(model_dir, rollout, &state));
  const int64_t now_us = NowUs();
  // Lists the segments before and after the tuples are read, so that a segment
  // that is removed meanwhile is noticed in this step or the next.
  ASSIGN_OR_RETURN(const std::vector<TupleSource> sources,
                   FindTupleSources(options.tuples(), now_us));
  ASSIGN_OR_RETURN(LogReading log,
                   ReadDecisions(options, rollout, state.evidence(), now_us));
  ASSIGN_OR_RETURN(const std::vector<TupleSource> sources_after,
                   FindTupleSources(options.tuples(), now_us));
  AddedRecords added(now_us, state.rounds().rounds().size());
  NoteUnreadGap(rollout, now_us, sources_after, &state, added.last());
  UnitRounds& rounds = state.rounds();
  rounds.BeginPass();
  log.decisions.Give(
      state.evidence().num_outcomes(),
      [&](const ArmDecision& decision, std::span<const double> outcomes) {
        if (rounds.Add(decision, outcomes)) added.Add(rounds.rounds().back());
      });
  for (size_t i = 0; i < state.evidence().num_outcomes(); ++i) {
    for (const RoundOutcome& outcome :
         rounds.CloseUntil(i, log.complete_until_us[i])) {
      added.Add(outcome);
      state.TakeOutcome(outcome);
    }
  }
  added.last()->set_newest_us(std::max(log.newest_us, rollout.started_us()));
  for (const TupleSource& source : sources) {
    model::v1::LedgerSource& written = *added.last()->add_sources();
    written.set_directory(source.directory);
    written.set_needed_us(source.needed_us);
  }
  return std::move(state).Finish(end, added.Take());
}

}  // namespace sortition
