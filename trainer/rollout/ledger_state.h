#pragma once
// The state that the records of a rollout's ledger add up to.
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"
#include "trainer/rollout/rollout_sources.h"

namespace sortition {

// Replays a ledger by Take(), and then takes the rounds and outcomes that a
// step adds to it. Not thread-safe.
class LedgerState {
 public:
  // InvalidArgument, with what to do, for a plan that cannot be judged: the
  // rollout may have been begun by an older release.
  static absl::StatusOr<LedgerState> Create(const model::v1::Rollout& rollout);

  // Takes a record of the ledger. DataLoss for rounds or outcomes that cannot
  // be.
  absl::Status Take(const model::v1::LedgerRecord& record);
  // Notes that decisions were missing when a step read the tuples.
  void NoteGap(const model::v1::LedgerGap& gap);
  // Adds an outcome of a round to the evidence, and counts it.
  void TakeOutcome(const RoundOutcome& outcome);

  UnitRounds& rounds() { return rounds_; }
  const RolloutEvidence& evidence() const { return evidence_; }
  const ReadSoFar& before() const { return before_; }

  // Returns what the report says of the ledger.
  config::v1::RolloutLedger Counts() const;
  RolloutEvidence TakeEvidence() && { return std::move(evidence_); }

 private:
  LedgerState(const model::v1::Rollout& rollout,
              std::vector<RolloutLimit> limits);

  absl::Status TakeRounds(const model::v1::LedgerRecord& record);
  absl::Status TakeOutcomes(const model::v1::LedgerRecord& record);
  void CountGuardrail(const RoundOutcome& outcome);
  // Returns how long tuples must be kept for the outcomes that were gone; 0:
  // none was.
  double RetentionSeconds() const;

  const double window_seconds_;
  RolloutEvidence evidence_;
  UnitRounds rounds_;
  ReadSoFar before_;
  config::v1::RolloutLedger counts_;
};

// The records that a step adds to the ledger, none of them large.
class AddedRecords {
 public:
  // `num_rounds`: rounds that the ledger has already.
  AddedRecords(int64_t step_us, uint64_t num_rounds);

  void Add(const UnitRound& round);
  void Add(const RoundOutcome& outcome);
  model::v1::LedgerRecord* last() { return &records_.back(); }
  std::vector<model::v1::LedgerRecord> Take() { return std::move(records_); }

 private:
  void Begin();
  void MakeRoom();

  const int64_t step_us_;
  uint64_t num_rounds_;
  std::vector<model::v1::LedgerRecord> records_;
};

}  // namespace sortition
