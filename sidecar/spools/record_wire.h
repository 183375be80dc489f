#pragma once
// Views of serialised log records: a decision carries kilobytes of features
// that the join passes on without parsing them.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// The only field of a serialised LogRecord.
struct RecordView {
  log::v1::LogRecord::RecordCase kind = log::v1::LogRecord::RECORD_NOT_SET;
  absl::string_view bytes;  // The sub-message; points into the payload.
};

// DataLoss if `payload` is not exactly one field.
absl::StatusOr<RecordView> ViewRecord(absl::string_view payload);

// What the join needs of a decision.
struct DecisionWire {
  absl::string_view id;
  int64_t time_us = 0;
  // The bytes after id and time. Two decisions of one id with the same `rest`,
  // but for trace_context, are the same answer, given twice (HashAnswer()).
  absl::string_view rest;
};

// Reads no further than needed. DataLoss if the bytes are not a Decision or
// have no id.
absl::StatusOr<DecisionWire> ViewDecision(absl::string_view decision);

// What a serialised Decision says of its request and action.
struct DecidedAction {
  uint32_t num_candidates = 0;
  // True for an abstention and for an empty subset: nothing is to be shown.
  bool is_empty = false;
  // The field `trace_context`, and its tag and length with it; empty: the
  // request was not traced.
  absl::string_view trace_field;
};

// Skips the other fields. DataLoss if the bytes are not a Decision.
absl::StatusOr<DecidedAction> ViewAction(absl::string_view decision);

// Returns a hash of `wire.rest` without `trace_field`, which is a part of it:
// two records with the same id and hash are copies of one decision.
uint64_t HashAnswer(const DecisionWire& wire, absl::string_view trace_field);

// Returns the trace_context of a serialised Decision; empty if it has none.
// Skips the other fields. DataLoss if the bytes are not a Decision.
absl::StatusOr<absl::string_view> ViewTraceContext(absl::string_view decision);

// What the join needs of a ShadowView.
struct ShadowViewWire {
  absl::string_view decision_id;
  int64_t time_us = 0;
  uint64_t version = 0;
};

// DataLoss if the bytes are not a ShadowView, or it names no decision.
absl::StatusOr<ShadowViewWire> ViewShadowView(absl::string_view view);

// The model that decided. Version 0: none, or an aggregation.
struct DecidingModel {
  absl::string_view name;
  uint64_t version = 0;
};

// Reads no further than needed, if the fields are in the order of their
// numbers, as the server writes them. DataLoss if the bytes are not a Decision.
absl::StatusOr<DecidingModel> ViewModel(absl::string_view decision);

// Returns the unit_id of a serialised Decision, empty if it has none. Skips the
// other fields. DataLoss if the bytes are not a Decision.
absl::StatusOr<absl::string_view> ViewUnit(absl::string_view decision);

// Parses what a serialised Decision says of the choice: not the policy, the
// candidates, their features and columns, nor the request's attributes, and of
// the conditional log-propensities only the first one. `kept` is room that is
// used again from call to call. DataLoss if the bytes are not a Decision.
absl::Status ParseChoice(absl::string_view decision, std::string* kept,
                         log::v1::Decision* choice);

// Returns the position of a serialised BanditTuple or LateFeedback. DataLoss if
// it has none.
absl::StatusOr<log::v1::SpoolPosition> ViewPosition(absl::string_view message);

// Returns the bytes to put in front of a serialised Decision of
// `decision_bytes` bytes to get a serialised LogRecord of `tuple` with that
// decision. Requires !tuple.has_decision().
std::string TuplePrefix(const log::v1::BanditTuple& tuple,
                        uint64_t decision_bytes);

}  // namespace sortition
