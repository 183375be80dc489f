#pragma once
// All subcommands of `sortition`; docs/cli.md has an example of each.
#include <vector>

#include "process/command.h"

namespace sortition {

// Returns the commands in the order in which help lists them.
std::vector<Command> AllCommands();

// The program with these commands.
Program SortitionProgram();

}  // namespace sortition
