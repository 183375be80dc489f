#include "trainer/rollout/rollout_log.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "trainer/rollout/ledger_state.h"
#include "trainer/rollout/rollout_sources.h"
#include "trainer/rollout/rollout_tuples.h"

namespace sortition {
namespace {

using model::v1::LedgerGap;
using model::v1::LedgerRecord;
using model::v1::Rollout;

// The tuples, and the directories that they were read from.
struct SourcedTuples {
  RolloutTuples tuples;
  // Before and after the tuples were read: whatever is removed meanwhile was
  // there before, or is missed afterwards.
  std::vector<TupleSource> sources_before;
  std::vector<TupleSource> sources_after;
};

absl::StatusOr<SourcedTuples> ReadTuples(
    const config::v1::RolloutOptions& options, const Rollout& rollout,
    const RolloutEvidence& evidence, int64_t now_us) {
  SourcedTuples read;
  ASSIGN_OR_RETURN(read.sources_before,
                   FindTupleSources(options.tuples(), now_us));
  ASSIGN_OR_RETURN(read.tuples,
                   ReadRolloutTuples(options, rollout, evidence, now_us));
  ASSIGN_OR_RETURN(read.sources_after,
                   FindTupleSources(options.tuples(), now_us));
  return read;
}

// Returns why decisions may be missing that no step has read; nothing if none
// are.
std::optional<LedgerGap> FindGap(const config::v1::RolloutOptions& options,
                                 const ReadSoFar& before,
                                 const SourcedTuples& read, int64_t now_us) {
  LedgerGap gap;
  gap.set_kind(LedgerGap::REMOVED);
  gap.set_directory(FindUnreadGap(before, read.sources_after));
  gap.set_from_us(before.newest_us);
  gap.set_to_us(now_us);
  if (!gap.directory().empty()) return gap;
  gap.set_kind(LedgerGap::DAMAGED);
  gap.set_directory(FindDamage(before, read.tuples.segments));
  if (!gap.directory().empty()) return gap;
  if (read.tuples.incomplete_until_us <= before.incomplete_until_us) {
    return std::nullopt;
  }
  gap.set_kind(LedgerGap::INCOMPLETE);
  gap.set_directory(options.tuples());
  gap.set_from_us(before.incomplete_until_us);
  gap.set_to_us(read.tuples.incomplete_until_us);
  return gap;
}

void NoteGap(const Rollout& rollout, LedgerGap gap, LedgerState* state,
             LedgerRecord* record) {
  gap.set_places(
      PlacesOfShare(rollout.plan().shares(static_cast<int>(rollout.stage()))));
  state->NoteGap(gap);
  *record->mutable_gap() = std::move(gap);
}

// Writes what the next step must know of this one.
void EndStep(const Rollout& rollout, const SourcedTuples& read,
             double keep_probability, LedgerRecord* record) {
  record->set_newest_us(
      std::max(read.tuples.until.close_us, rollout.started_us()));
  if (keep_probability < 1) record->set_keep_probability(keep_probability);
  for (const TupleSource& source : read.sources_before) {
    *record->add_sources() =
        LedgerSourceOf(source, read.tuples.segments, read.tuples.until);
  }
}

// Registers and closes rounds. Returns the records for the ledger, and counts
// the decisions that wait.
std::vector<LedgerRecord> AddTuples(const config::v1::RolloutOptions& options,
                                    const Rollout& rollout, int64_t now_us,
                                    SourcedTuples* read, LedgerState* state,
                                    uint64_t* num_waiting) {
  UnitRounds& rounds = state->rounds();
  AddedRecords added(now_us, rounds.rounds().size());
  if (const auto gap = FindGap(options, state->before(), *read, now_us)) {
    NoteGap(rollout, *gap, state, added.last());
  }
  // A unit that was not kept before would look new now.
  const double keep_probability =
      std::min(state->before().keep_probability, read->tuples.keep_probability);
  rounds.BeginPass();
  *num_waiting = read->tuples.decisions.Give(
      state->evidence().num_outcomes(), read->tuples.until.register_us,
      keep_probability,
      [&](const ArmDecision& decision, std::span<const double> outcomes) {
        if (rounds.Add(decision, outcomes)) added.Add(rounds.rounds().back());
      });
  for (size_t i = 0; i < state->evidence().num_outcomes(); ++i) {
    const std::optional<int64_t> until_us = read->tuples.complete_until_us[i];
    if (!until_us.has_value()) continue;
    for (const RoundOutcome& outcome : rounds.CloseUntil(i, *until_us)) {
      added.Add(outcome);
      state->TakeOutcome(outcome);
    }
  }
  EndStep(rollout, *read, keep_probability, added.last());
  return added.Take();
}

absl::StatusOr<LedgerEnd> ReplayLedger(const std::string& model_dir,
                                       const Rollout& rollout,
                                       LedgerState* state) {
  return ReadLedger(model_dir, rollout, [&](const LedgerRecord& record) {
    return state->Take(record);
  });
}

RolloutReading ReadingOf(const LedgerEnd& end, LedgerState state) {
  config::v1::RolloutLedger counts = state.Counts();
  counts.set_torn_bytes(end.torn_bytes);
  return {.evidence = std::move(state).TakeEvidence(),
          .counts = std::move(counts),
          .end = end};
}

}  // namespace

absl::StatusOr<RolloutReading> ReadRolloutLedger(const std::string& model_dir,
                                                 const Rollout& rollout) {
  ASSIGN_OR_RETURN(LedgerState state, LedgerState::Create(rollout));
  ASSIGN_OR_RETURN(const LedgerEnd end,
                   ReplayLedger(model_dir, rollout, &state));
  return ReadingOf(end, std::move(state));
}

absl::StatusOr<RolloutReading> ReadRolloutLog(
    const config::v1::RolloutOptions& options, const std::string& model_dir,
    const Rollout& rollout) {
  ASSIGN_OR_RETURN(LedgerState state, LedgerState::Create(rollout));
  ASSIGN_OR_RETURN(const LedgerEnd end,
                   ReplayLedger(model_dir, rollout, &state));
  const int64_t now_us = NowUs();
  auto read = ReadTuples(options, rollout, state.evidence(), now_us);
  if (!read.ok()) {
    RolloutReading reading = ReadingOf(end, std::move(state));
    reading.problems = {absl::StrCat("the tuples cannot be used in this step: ",
                                     read.status().message())};
    return reading;
  }
  uint64_t num_waiting = 0;
  std::vector<LedgerRecord> added =
      AddTuples(options, rollout, now_us, &*read, &state, &num_waiting);
  RolloutReading reading = ReadingOf(end, std::move(state));
  reading.added = std::move(added);
  reading.problems = std::move(read->tuples.problems);
  reading.counts.set_rewards_outside(read->tuples.rewards_outside);
  reading.counts.set_future_decisions(read->tuples.future_decisions);
  if (num_waiting > 0) {
    reading.counts.set_waiting_decisions(num_waiting);
    reading.counts.set_waits_for(read->tuples.until.slowest);
  }
  return reading;
}

}  // namespace sortition
