#include "client/commands.h"
#include "client/world.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/letor.h"

namespace sortition {

absl::Status RunWorld(const config::v1::WorldCommandOptions& options,
                      const Arguments&, CommandOutput* output) {
  ASSIGN_OR_RETURN(const LabelledQueries world, MakeWorld(options.world()));
  const std::string text = FormatLetor(world);
  if (options.output() == "-") {
    output->out << text;
    return absl::OkStatus();
  }
  return WriteFile(options.output(), text);
}

}  // namespace sortition
