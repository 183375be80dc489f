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
      "%d damaged records left out\n",
      result.tuples, result.other_records, result.segments_read,
      result.segments_written, result.damaged_records);
  return absl::OkStatus();
}

}  // namespace sortition
