#pragma once
// The program `sortition`, run in this process.
#include <sstream>
#include <string>
#include <vector>

#include "client/commands.h"
#include "process/command.h"

namespace sortition {

struct CommandRun {
  int exit_code;
  std::string out;
  std::string error;
};

inline CommandRun Sortition(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream error;
  CommandOutput output{out, error};
  const int exit_code = RunCommand(SortitionProgram(), arguments, &output);
  return {exit_code, out.str(), error.str()};
}

}  // namespace sortition
