#pragma once
// Memory of one thread that serves requests, reused from request to request.
#include <cmath>
#include <string>
#include <vector>

#include "core/aggregation/aggregate_policy.h"
#include "core/choices/interleaving.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/request_trace.h"
#include "server/models/model_registry.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct DecisionScratch {
  SeenModels models;
  PolicyWorkspace workspace;
  // For versions that did not decide, or not alone.
  PolicyWorkspace others;
  InterleavingScratch interleaving;
  Action baseline;
  AggregateResult aggregate;
  Draw draw;
  log::v1::Decision record;
  std::vector<log::v1::LogRecord> records;
  std::vector<double> probabilities;
  double seconds_left = HUGE_VAL;  // Time to the deadline of the call.
  // Whether more than a millisecond may be taken here. Where not, a method that
  // would need more sets `long_seconds` to about how much, does nothing, and
  // fails: it must be called again where it may.
  bool may_take_long = true;
  double long_seconds = 0;
  // Hears of the sync that the answer must wait for; null: the thread waits.
  SpoolWaiter* waiter = nullptr;
  bool is_waiting = false;        // `waiter` will hear of a sync.
  std::string caller;             // Of control calls: who makes it.
  RequestTrace* trace = nullptr;  // Null: the request is not traced.

  // Gives memory back that a huge request has left behind. The next request
  // finds the rest.
  void Shrink() {
    // Words and features of columns, and the columns themselves.
    workspace.computed.reset();
    others.computed.reset();
    if (record.has_columns()) record = log::v1::Decision();
    constexpr size_t kKeptEntries = 1000;
    if (records.capacity() > kKeptEntries) records = {};
    if (workspace.eligible_documents.capacity() <= 10 * kKeptEntries &&
        aggregate.scores.capacity() <= 1000 * kKeptEntries &&
        aggregate.eligible_documents.capacity() <= 10 * kKeptEntries &&
        probabilities.capacity() <= 10 * kKeptEntries) {
      return;
    }
    workspace = {};
    others = {};
    interleaving = {};
    baseline = {};
    aggregate = {};
    draw = {};
    probabilities = {};
    record = log::v1::Decision();
  }
};

}  // namespace sortition
