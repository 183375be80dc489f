#pragma once
// The steps that every decision takes, whatever is decided: it gets an id and a
// key, is drawn, is logged, and only then is answered. Under durability POWER
// the answer also waits for the disk (DecisionScratch::waiter).
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/decision_id.h"
#include "server/decisions/decision_scratch.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// What is decided about, and by whom. References: all must outlive the
// decision.
struct DecisionSubject {
  const v1::DecisionContext& context;
  const PolicyQuery& query;
  const std::string& model;
  uint64_t version = 0;
  absl::string_view draw_salt = "";  // Of the version; empty: none.
};

// A decision that has an id and a key, and no record yet.
struct OpenDecision {
  DecisionSubject subject;
  v1::DecisionResult* result;  // Holds the decision id.
  int64_t time_us = 0;
  Hash128 key;  // Key of the random draw.
};

// Thread-safe.
class DecisionRecorder {
 public:
  // `spool` must outlive it; null: decisions are not logged.
  explicit DecisionRecorder(SpoolWriter* spool);

  // Stores the decision id in `result`, unless it has one: the caller's or, if
  // there is none, a new one.
  void Name(const v1::DecisionContext& context, v1::DecisionResult* result);

  // Names the decision and derives the key of its draw.
  OpenDecision Begin(const DecisionSubject& subject,
                     v1::DecisionResult* result);

  // Logs the draw in `scratch`, whose documents are document indexes, then
  // fills the fields of the result that all decisions share. `add_details` sets
  // the fields of the record that depend on the kind of action. If the spool
  // refuses the record, returns NotLogged() and leaves the result void.
  absl::Status Finish(const OpenDecision& decision, const std::string& degraded,
                      absl::FunctionRef<void(log::v1::Decision*)> add_details,
                      DecisionScratch* scratch);

 private:
  SpoolWriter* const spool_;
  DecisionIdMaker ids_;
};

// Refuses a draw that cannot be logged because its log-propensity is not
// finite. `input` says what of the candidates is too large, `reason` why that
// matters.
absl::Status ValidateLogPropensity(double log_propensity,
                                   absl::string_view input,
                                   absl::string_view reason);

// Converts an error of an append into what a caller sees: RESOURCE_EXHAUSTED or
// UNAVAILABLE; nothing was logged, and there is no answer.
absl::Status NotLogged(const absl::Status& status);

}  // namespace sortition
