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

// Where the intact records of a ledger end.
struct LedgerEnd {
  uint64_t bytes = 0;
  uint64_t torn_bytes = 0;  // Bytes behind them, of an interrupted append.
};

// Begins the ledger of a rollout. Replaces that of the rollout before.
absl::Status CreateLedger(const std::string& model_dir,
                          const model::v1::Rollout& rollout);

// Calls `take` for all records in the order of writing, the first of which has
// the identity. A damaged end that no step has acted upon, because it is behind
// rollout.ledger_bytes(), is a torn tail and ignored. DataLoss, with what to
// do, for a ledger that is missing, belongs to another rollout, is shorter than
// ledger_bytes, or is damaged anywhere else.
absl::StatusOr<LedgerEnd> ReadLedger(
    const std::string& model_dir, const model::v1::Rollout& rollout,
    absl::FunctionRef<absl::Status(const model::v1::LedgerRecord&)> take);

// Cuts off what is behind end->bytes, appends the records, and syncs the file.
// The caller holds the RolloutLock. Advances `end`.
absl::Status AppendToLedger(const std::string& model_dir,
                            const std::vector<model::v1::LedgerRecord>& records,
                            LedgerEnd* end);

// Convert between the rounds of core and those of the file.
model::v1::LedgerRound ToLedger(const UnitRound& round);
UnitRound FromLedger(const model::v1::LedgerRound& round);
model::v1::LedgerOutcome ToLedger(const RoundOutcome& outcome);
RoundOutcome FromLedger(const model::v1::LedgerOutcome& outcome);

}  // namespace sortition
