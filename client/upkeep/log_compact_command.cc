#include "absl/strings/str_format.h"
#include "client/upkeep/log_compact.h"
#include "client/upkeep/upkeep_commands.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::Status RunLogCompact(const config::v1::LogCompactOptions& options,
                           const std::vector<std::string>& positional,
                           CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("by", options.by(), {"time", "unit"}));
  ASSIGN_OR_RETURN(const CompactResult result, CompactLog(options, positional));
  output->out << absl::StrFormat(
      "%d tuples and %d other records of %d segments, in %d segments now; "
      "left out: %d copies of tuples, %d damaged records, %d torn bytes\n",
      result.tuples, result.other_records, result.segments_read,
      result.segments_written, result.copies, result.damaged_records,
      result.torn_bytes);
  return absl::OkStatus();
}

}  // namespace sortition
