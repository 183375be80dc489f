#pragma once
// Memory of one thread that serves requests, reused from request to request.
#include <cmath>
#include <vector>

#include "core/aggregation/aggregate_policy.h"
#include "core/policies/linear_policy.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct DecisionScratch {
  PolicyWorkspace workspace;
  AggregateResult aggregate;
  Draw draw;
  log::v1::Decision record;
  std::vector<log::v1::LogRecord> records;
  double seconds_left = HUGE_VAL;  // Time to the deadline of the call.
};

}  // namespace sortition
