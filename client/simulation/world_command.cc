#include "client/simulation/simulation_commands.h"
#include "core/base/status_macros.h"
#include "core/simulation/world.h"
#include "io/datasets/letor.h"
#include "io/files.h"

namespace sortition {

absl::Status RunWorld(const config::v1::WorldCommandOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  ASSIGN_OR_RETURN(const LabelledQueries world, MakeWorld(options.world()));
  const std::string text = FormatLetor(world);
  if (options.output() == "-") {
    output->out << text;
    return absl::OkStatus();
  }
  return WriteFile(options.output(), text);
}

}  // namespace sortition
