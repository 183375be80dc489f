#pragma once
// The command line of sortition-trainer.
#include <string>
#include <vector>

#include "process/command.h"

namespace sortition {

Program TrainerProgram();

// Runs a command. Results go to stdout; progress, warnings and errors go to
// stderr. `arguments` do not include the program name. Returns the exit status.
int RunTrainer(const std::vector<std::string>& arguments);

}  // namespace sortition
