#pragma once
// What importers do alike with a tuple.
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "io/text/json_line.h"
#include "sortition/config/v1/log_files.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Sets model and version from the options, where they are given, or to the
// defaults where the decision has none.
void SetModel(const config::v1::LogImportOptions& options,
              log::v1::Decision* decision);

// Takes the propensity of the whole action, or its logarithm, or both, which
// must agree. InvalidArgument unless it is in (0, 1].
absl::Status SetPropensity(std::optional<double> propensity,
                           std::optional<double> log_propensity,
                           log::v1::Decision* decision);

// Sets the attributes of the decision to the members of an object, which must
// be strings.
absl::Status ReadAttributes(const JsonValue& object, absl::string_view name,
                            log::v1::Decision* decision);

// Marks that something else than the action was shown.
void SetNotShown(log::v1::BanditTuple* tuple);

// Sets the probability with which the log kept the decision; 1 is not written.
// InvalidArgument unless it is in (0, 1].
absl::Status SetKeepProbability(double keep, log::v1::BanditTuple* tuple);

// InvalidArgument unless a learner could use the tuple: features, action,
// propensity and reward are well-formed. What stands in columns is not checked.
absl::Status CheckTuple(const log::v1::BanditTuple& tuple);

// Parses microseconds since the epoch, or a date and time such as
// 2026-01-31T09:30:00.5Z, with a space in place of T too.
absl::Status ParseTimestamp(absl::string_view text, absl::string_view name,
                            int64_t* time_us);

}  // namespace sortition
