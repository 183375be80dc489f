#pragma once
// The record of a decision, as all kinds of decisions fill it.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/data/candidates.h"
#include "core/policies/action_distribution.h"
#include "io/segments/spool_writer.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

int64_t NowUs();

// Who decided, and when.
struct DecisionIdentity {
  std::string decision_id;
  int64_t time_us = 0;
  std::string model;
  uint64_t version = 0;
};

// Overwrites `record` with what does not depend on the kind of action. `draw`
// is in document indexes.
void StartRecord(const v1::DecisionContext& context,
                 const DecisionIdentity& head, const Candidates& candidates,
                 const Draw& draw, log::v1::Decision* record);

// Appends it with the features of `context`, which `candidates` views. Where
// the spool refuses, what a caller sees: RESOURCE_EXHAUSTED or UNAVAILABLE,
// nothing was logged, no answer.
absl::Status AppendRecord(const v1::DecisionContext& context,
                          const Candidates& candidates, SpoolWriter* spool,
                          log::v1::Decision* record);

// What `status` of the spool is to a caller.
absl::Status NotLogged(const absl::Status& status);

}  // namespace sortition
