// sortition: the command line.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "client/commands.h"
#include "process/command.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  sortition::CommandOutput output{std::cout, std::cerr,
                                  isatty(STDERR_FILENO) == 1};
  return sortition::RunCommand(sortition::SortitionProgram(),
                               std::vector<std::string>(argv + 1, argv + argc),
                               &output);
}
