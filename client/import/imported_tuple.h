#pragma once
// What importers do alike with a tuple.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// What a file says of what the user saw.
struct ImportedShown {
  bool is_action = true;  // False: something else than the action was shown.
  // How many of the first ranks of the action were shown; unset: all, or none
  // if something else was.
  std::optional<uint32_t> shown_ranks = std::nullopt;
  std::optional<uint32_t> seen_ranks = std::nullopt;  // As in Shown.
};

// Counts the ranks of which a file says that they were shown; nothing if it
// says of no rank whether it was. InvalidArgument if one was shown behind one
// that was not.
absl::StatusOr<std::optional<uint32_t>> CountShownRanks(
    const std::vector<std::optional<bool>>& by_rank);

// Makes a report of what was shown, such that ShownDiffers(), ShownRanks() and
// SeenRanks() say what `known` says; none if it says nothing. The decision must
// be complete. InvalidArgument if more ranks were shown than the action has, or
// seen_ranks is 0. No ranks of an action that has some are something else.
absl::Status SetShown(const ImportedShown& known, log::v1::BanditTuple* tuple);

// Sets the probability with which the log kept the decision; 1 is not written.
// InvalidArgument unless it is in (0, 1].
absl::Status SetKeepProbability(double keep, log::v1::BanditTuple* tuple);

// InvalidArgument unless a learner could use the tuple: features, action,
// propensity and reward are well-formed. What stands in columns is not checked.
absl::Status CheckTuple(const log::v1::BanditTuple& tuple);

}  // namespace sortition
