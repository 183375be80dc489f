#include "client/commands.h"

#include <algorithm>

#include "client/commands/request_commands.h"
#include "client/control/control_commands.h"
#include "client/export/export_commands.h"
#include "client/import/import_commands.h"
#include "client/logs/log_commands.h"
#include "client/quickstart/quickstart_command.h"
#include "client/simulation/simulation_commands.h"
#include "client/top/top_command.h"
#include "client/upkeep/upkeep_commands.h"
#include "client/validation/log_validate.h"

namespace sortition {

std::vector<Command> AllCommands() {
  std::vector<Command> commands = {
      MakeCommand("quickstart", "[DIR]",
                  "Write a folder of options and run all programs on it",
                  RunQuickstart, kQuickstartHelp),
      MakeCommand("top", "", "Show what a server and its sidecar do", RunTop,
                  kTopHelp),
      MakeCommand("rank", "", "Ask for an order of candidates", RunRank),
      MakeCommand("select", "", "Ask for one candidate, or no answer",
                  RunSelect),
      MakeCommand("label", "", "Ask for a subset of the candidates", RunLabel),
      MakeCommand("aggregate", "", "Ask for one order from several score lists",
                  RunAggregate),
      MakeCommand("shown", "", "Report what the user saw of a decision",
                  RunShown),
      MakeCommand("feedback", "", "Report the reward of a decision",
                  RunFeedback),
      MakeCommand("models list", "", "List what the server serves",
                  RunModelsList),
      MakeCommand("models describe", "",
                  "Tell a model's versions, what serves, and how that came "
                  "about",
                  RunModelsDescribe),
      MakeCommand("models reload", "",
                  "Let the server look at its store at once", RunModelsReload),
      MakeCommand("world", "",
                  "Write the built-in question-answering world as LETOR text",
                  RunWorld),
      MakeCommand("simulate", "", "Drive a server as users would", RunSimulate),
      MakeCommand("log cat", "DIR|FILE…",
                  "Print log records, one JSON object a line", RunLogCat),
      MakeCommand("log stats", "DIR|FILE…", "Count what a log holds",
                  RunLogStats),
      MakeCommand("log verify", "DIR|FILE…",
                  "Recompute every logged decision bit for bit", RunLogVerify),
      MakeCommand("log prune", "DIR…", "Remove old tuple and late segments",
                  RunLogPrune),
      MakeCommand("log erase", "DIR…",
                  "Erase all records of units or decisions from spools and "
                  "tuples",
                  RunLogErase),
      MakeCommand("log compact", "DIR…",
                  "Rewrite tuple segments as larger ones, by time or by unit",
                  RunLogCompact),
      MakeCommand("log validate", "DIR|FILE…", "Check whether a log is sound",
                  RunLogValidate),
      MakeCommand("log export", "DIR|FILE…",
                  "Write tuples for other tools: dsjson, CSV, JSON, SVMlight, "
                  "NumPy",
                  RunLogExport),
      MakeCommand("log import", "FILE…",
                  "Make tuples of the log of another system", RunLogImport),
  };
  std::vector<Command> changes = ServingChangeCommands();
  const auto list = std::find_if(
      commands.begin(), commands.end(),
      [](const Command& command) { return command.name == "models reload"; });
  commands.insert(list + 1, changes.begin(), changes.end());
  return commands;
}

Program SortitionProgram() {
  return {.name = "sortition", .commands = AllCommands()};
}

}  // namespace sortition
