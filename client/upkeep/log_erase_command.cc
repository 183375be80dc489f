#include <vector>

#include "client/upkeep/log_erase.h"
#include "client/upkeep/upkeep_commands.h"
#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"

namespace sortition {

absl::Status RunLogErase(const config::v1::LogEraseOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output) {
  if (options.reason().empty()) {
    return UsageError("--reason is empty, must say why without naming anybody");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> dirs,
                   ExpandLogEntries(positional));
  ASSIGN_OR_RETURN(const EraseResult result, EraseFromLog(options, dirs));
  output->out << (options.dry_run() ? "would be erased: " : "erased: ")
              << result.erased.Text() << " in " << result.segments
              << " segments\n";
  for (const std::string& left : result.left) {
    output->out << "left: " << left << "\n";
  }
  for (const std::string& elsewhere : result.elsewhere) {
    output->out << "not erased here: " << elsewhere << "\n";
  }
  if (!result.left.empty()) output->exit_code = kExitNotYet;
  return absl::OkStatus();
}

}  // namespace sortition
