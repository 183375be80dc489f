#pragma once
// Whether a policy learned from tuples may replace what serves, and why.
#include <cstdint>
#include <string>

#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

struct TupleGate {
  const config::v1::TrainOptions& options;
  uint64_t newest_version = 0;  // That it would replace; 0: none.
  const TupleCounts& counts;
  // With test_looked_at, validation_improvement and, if the test part was
  // looked at, the estimates.
  const config::v1::TrainReport& report;
  std::string why_not_serving = {};  // WhyNotServing()
  bool is_uniform = false;           // All weights of the new policy are 0.
  int64_t now_us = 0;                // Time, since the epoch.
};

// Returns true if the improvement's lower bound is above 0 on tuples of the
// baseline, that over the version to be replaced is not below 0 if another one
// logged, or the caller's baseline had a part in what was logged, and all
// guardrails hold. False if the version to be replaced cannot be compared.
// Bounds account for little overlap, but not for wrong propensities.
bool Passes(const TupleGate& gate);

// Returns with how many test decisions the gate would be expected to pass at
// the next look, were the estimate right; 0 if it passed, or none would do.
// Bounds by betting are about √(2 ln(1/α) / n) standard deviations below the
// estimate [WaudbySmithRamdas24], α the failure probability of the look.
uint64_t DecisionsNeeded(const model::v1::Evaluation& evaluation,
                         double confidence);

// Returns true if the gate does not pass because the log has too little data,
// so that more decisions alone may change it: a timer should train again.
bool NeedsMoreData(const TupleGate& gate);

// Says in a sentence or two what was decided and why, what was compared, and
// what was not proved.
std::string Verdict(const TupleGate& gate);

}  // namespace sortition
