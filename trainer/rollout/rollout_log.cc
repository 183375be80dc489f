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

// Registers and closes rounds. Returns the records for the ledger.
std::vector<LedgerRecord> AddTuples(const Rollout& rollout, int64_t now_us,
                                    SourcedTuples read, LedgerState* state) {
  UnitRounds& rounds = state->rounds();
  AddedRecords added(now_us, rounds.rounds().size());
  NoteUnreadGap(rollout, now_us, read.sources_after, state, added.last());
  rounds.BeginPass();
  read.tuples.decisions.Give(
      state->evidence().num_outcomes(),
      [&](const ArmDecision& decision, std::span<const double> outcomes) {
        if (rounds.Add(decision, outcomes)) added.Add(rounds.rounds().back());
      });
  for (size_t i = 0; i < state->evidence().num_outcomes(); ++i) {
    const std::optional<int64_t> until_us = read.tuples.complete_until_us[i];
    if (!until_us.has_value()) continue;
    for (const RoundOutcome& outcome : rounds.CloseUntil(i, *until_us)) {
      added.Add(outcome);
      state->TakeOutcome(outcome);
    }
  }
  added.last()->set_newest_us(
      std::max(read.tuples.newest_us, rollout.started_us()));
  for (const TupleSource& source : read.sources_before) {
    model::v1::LedgerSource& written = *added.last()->add_sources();
    written.set_directory(source.directory);
    written.set_needed_us(source.needed_us);
  }
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
  std::vector<std::string> problems = std::move(read->tuples.problems);
  const uint64_t outside = read->tuples.rewards_outside;
  std::vector<LedgerRecord> added =
      AddTuples(rollout, now_us, *std::move(read), &state);
  RolloutReading reading = ReadingOf(end, std::move(state));
  reading.added = std::move(added);
  reading.problems = std::move(problems);
  reading.counts.set_rewards_outside(outside);
  return reading;
}

}  // namespace sortition
