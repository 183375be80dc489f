#pragma once
// One reading of a rollout: its ledger, and what the log adds to it.
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
  // To be appended before anything is done because of `evidence`.
  std::vector<model::v1::LedgerRecord> added = {};
  // What could not be judged and why, in words. Rounds that it concerns are
  // open, and the rollout must not move on.
  std::vector<std::string> problems = {};
};

// Reads the ledger of the rollout. Errors as LedgerState::Create() and
// ReadLedger().
absl::StatusOr<RolloutReading> ReadRolloutLedger(
    const std::string& model_dir, const model::v1::Rollout& rollout);

// Reads the ledger, and takes rounds that it lacks from the tuples of the
// rollout: the salt of its split tells them from others. A decision that the
// request asked a version for, that drew by a seed, or that is more than
// kMaxLagUs in the future does not count. Tuples of all joins are read, because
// a decision that is passed over would make a unit look new when it comes back.
// Decisions register and rounds close up to the times of ReadUntilOf(). Units
// whose KeepNumber() is not below the smallest keep_probability so far do not
// count. Errors as ReadRolloutLedger().
// Tuples that cannot be read, guardrail files that are wrong and rewards
// outside of their range are problems of the reading.
absl::StatusOr<RolloutReading> ReadRolloutLog(
    const config::v1::RolloutOptions& options, const std::string& model_dir,
    const model::v1::Rollout& rollout);

}  // namespace sortition
