#pragma once
// The command line of sortition-trainer.
#include <string>
#include <vector>

#include "process/command.h"

namespace sortition {

// `train`: the gate says no, nothing is published.
inline constexpr int kExitGateSaysNo = 3;

Program TrainerProgram();

// Runs a command with results to stdout; progress, warnings and errors to
// stderr. `arguments` are without the program name. Returns the exit status.
int RunTrainer(const std::vector<std::string>& arguments);

}  // namespace sortition
