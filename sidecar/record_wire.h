#pragma once
// Log records without parsing them: a decision carries kilobytes of features
// that the join only passes on.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// The one field of a serialised LogRecord.
struct RecordView {
  log::v1::LogRecord::RecordCase kind = log::v1::LogRecord::RECORD_NOT_SET;
  absl::string_view bytes;  // Of the sub-message; points into the payload.
};

// DataLoss where `payload` is not exactly one field.
absl::StatusOr<RecordView> ViewRecord(absl::string_view payload);

struct DecisionView {
  absl::string_view id;
  int64_t time_us = 0;
  // What follows them: two decisions of one id with the same `rest` are one
  // answer, given twice.
  absl::string_view rest;
};

// Reads as far as needed. DataLoss where the bytes are no Decision or name no
// id.
absl::StatusOr<DecisionView> ViewDecision(absl::string_view decision);

// Position of a serialised BanditTuple or LateFeedback. DataLoss where it has
// none.
absl::StatusOr<log::v1::SpoolPosition> ViewPosition(absl::string_view message);

// The bytes in front of a serialised Decision that make `tuple` with it, all
// put after each other, a LogRecord. Requires !tuple.has_decision().
std::string TuplePrefix(const log::v1::BanditTuple& tuple,
                        uint64_t decision_bytes);

}  // namespace sortition
