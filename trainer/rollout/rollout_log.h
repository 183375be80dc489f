#pragma once
// Reads the ledger of a rollout, and the rounds that the log adds to it.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"
#include "trainer/rollout/rollout_ledger.h"

namespace sortition {

struct RolloutReading {
  RolloutEvidence evidence;  // From the ledger and `added`.
  config::v1::RolloutLedger counts;
  LedgerEnd end;  // Of the ledger, without `added`.
  // Records that the caller must append before it acts on `evidence`.
  std::vector<model::v1::LedgerRecord> added;
};

// Reads the ledger of the rollout. Errors as ReadLedger().
absl::StatusOr<RolloutReading> ReadRolloutLedger(
    const std::string& model_dir, const model::v1::Rollout& rollout);

// Reads the ledger, and adds the rounds that it lacks from the tuples of the
// rollout, which have the salt of its split. Decisions for which the request
// named a version, that drew by a seed, or that are in the future do not count.
// Tuples of all joins are read, because a unit whose decision is skipped would
// look new when it returns. Rounds whose window ended by the time of the newest
// decision of the model are closed. Errors as ReadLedger(), TupleLog::Open()
// and ScanTuples(); FailedPrecondition also for guardrail files that do not fit
// the log.
absl::StatusOr<RolloutReading> ReadRolloutLog(
    const config::v1::RolloutOptions& options, const std::string& model_dir,
    const model::v1::Rollout& rollout);

}  // namespace sortition
