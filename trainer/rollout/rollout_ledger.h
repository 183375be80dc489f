#pragma once
// <store>/<model>/ROLLOUT_LEDGER: the rounds of a rollout, each written once.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/model/v1/rollout.pb.h"

namespace sortition {

// The end of the intact records of a ledger.
struct LedgerEnd {
  uint64_t bytes = 0;
  uint64_t torn_bytes = 0;  // Bytes of an interrupted append after them.
};

// Creates the ledger of a rollout. Replaces the ledger of an earlier rollout.
absl::Status CreateLedger(const std::string& model_dir,
                          const model::v1::Rollout& rollout);

// Calls `take` for all records in the order of writing. The first record has
// the identity. Damage beyond rollout.ledger_bytes() is a torn tail, on which
// no step has acted, and is ignored. DataLoss, with the remedy, for a ledger
// that is missing, belongs to another rollout, is shorter than ledger_bytes, or
// is damaged anywhere else.
absl::StatusOr<LedgerEnd> ReadLedger(
    const std::string& model_dir, const model::v1::Rollout& rollout,
    absl::FunctionRef<absl::Status(const model::v1::LedgerRecord&)> take);

// Truncates the file to end->bytes, appends the records, syncs the file, and
// advances `end`. The caller holds the RolloutLock.
absl::Status AppendToLedger(const std::string& model_dir,
                            const std::vector<model::v1::LedgerRecord>& records,
                            LedgerEnd* end);

// Convert rounds and outcomes of `core` to messages of the file, and back.
model::v1::LedgerRound ToLedger(const UnitRound& round);
UnitRound FromLedger(const model::v1::LedgerRound& round);
model::v1::LedgerOutcome ToLedger(const RoundOutcome& outcome);
RoundOutcome FromLedger(const model::v1::LedgerOutcome& outcome);

}  // namespace sortition
