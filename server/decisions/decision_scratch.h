#pragma once
// Memory of one thread that serves requests, reused from request to request.
#include <cmath>
#include <string>
#include <vector>

#include "core/aggregation/aggregate_policy.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "server/models/model_registry.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct DecisionScratch {
  SeenModels models;
  PolicyWorkspace workspace;
  PolicyWorkspace others;  // For versions that did not decide.
  Action baseline;
  AggregateResult aggregate;
  Draw draw;
  log::v1::Decision record;
  std::vector<log::v1::LogRecord> records;
  double seconds_left = HUGE_VAL;  // Time to the deadline of the call.
  // Hears of the sync that the answer must wait for; null: the thread waits.
  SpoolWaiter* waiter = nullptr;
  bool is_waiting = false;  // `waiter` will hear of a sync.
  std::string caller;       // Of control calls: who makes it.
};

}  // namespace sortition
