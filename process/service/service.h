#pragma once
// A program that runs until it is stopped, as server and sidecar are: its
// arguments, its log lines about itself, and its exit codes.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace sortition {

struct Service {
  std::string name;  // As in "sortition-server".
  std::string help;  // Printed by --help before the options.
  // Returns what is wrong with options that do not fit each other: the program
  // was called wrongly. Looks at nothing else. May be empty.
  std::function<absl::Status()> validate = nullptr;
  // Returns what would keep run() from starting, one line each, as far as it
  // can be known without changing anything, what validate() finds included.
  std::function<std::vector<std::string>()> check;
  // Runs until a signal says to stop.
  std::function<absl::Status()> run;
};

// Reads `arguments` (without program name) into `options`, then does what they
// ask for: --help, --version, --check_config, or run(). Returns an exit code of
// process/command.h. Errors are log lines, findings of --check_config lines on
// standard output.
int RunService(const Service& service, std::vector<std::string> arguments,
               google::protobuf::Message* options);

}  // namespace sortition
