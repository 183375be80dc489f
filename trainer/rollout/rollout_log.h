#pragma once
// The decisions of a rollout, from a log of tuples.
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"

namespace sortition {

// Returns the evidence of all tuples of the rollout: its split's salt tells
// them from others. A decision that the request asked a version for, that drew
// by a seed, whose feedback may be missing, or that is in the future does not
// count. Units are closed by the time of the newest decision of the model.
// Errors as TupleLog::Open() and ScanTuples(); FailedPrecondition also for
// guardrail files of other decisions.
absl::StatusOr<RolloutEvidence> ReadEvidence(
    const config::v1::RolloutOptions& options,
    const model::v1::Rollout& rollout);

}  // namespace sortition
