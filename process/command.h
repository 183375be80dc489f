#pragma once
// A program of subcommands, as `sortition` and `sortition-trainer` are: how its
// commands are declared, and how arguments reach them.
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "process/options/options.h"

namespace sortition {

// Where a command writes.
struct CommandOutput {
  std::ostream& out;
  std::ostream& error;
  bool error_is_terminal = false;
  int exit_code = 0;  // Of a command that ends without an error.
};

// The exit codes of all programs.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;  // What was asked for did not work.
inline constexpr int kExitUsage = 2;  // A wrong option, argument or command.
inline constexpr int kExitGateSaysNo = 3;  // `train`: nothing was published.
inline constexpr int kExitNotYet = 4;  // As it is now, there is nothing to do.

// What --help says of those that every program has.
inline constexpr char kExitCodes[] = "0 done, 1 failed, 2 called wrongly";

// What --help says of the flag, where there is one.
inline constexpr char kCheckConfigHelp[] =
    "  --check_config                Check options, files and directories, "
    "print\n"
    "                                one line per finding, change nothing; "
    "exit\n"
    "                                code 2 if there are any\n";

// What --help says of the flag, which every command has.
inline constexpr char kLogLevelHelp[] =
    "  --log_level=LEVEL             Least severe log lines that are written "
    "to "
    "\n"
    "                                standard error: INFO, WARNING or ERROR "
    "(INFO)\n";

struct Command {
  std::string name;  // One or two words, as in "log stats".
  // Arguments that are no flags, as in "DIR"; or "". "[DIR]" may be left out;
  // the last word stands for one or more if it ends in "…".
  std::string positional;
  std::string summary;  // One line.
  const google::protobuf::Descriptor* options = nullptr;
  // Parses the arguments behind the name, then runs. A status that
  // IsUsageError() exits with kExitUsage, one that IsNotYetError() with
  // kExitNotYet, any other error with kExitError.
  std::function<absl::Status(const std::vector<std::string>& arguments,
                             CommandOutput* output)>
      run;
  std::string help;  // Printed by --help before the options; "": `summary`.
  // Returns what would keep the command from beginning, one line each, for
  // --check_config; null: it has no such flag.
  std::function<std::vector<std::string>(
      const std::vector<std::string>& arguments)>
      check = nullptr;
};

struct Program {
  std::string name;                  // As in "sortition".
  std::vector<Command> commands;     // In the order of the help.
  std::string more_exit_codes = {};  // As in "3 the gate said no".
  std::string notes = {};            // Printed by --help after the commands.
};

// An error of how the command was called.
absl::Status UsageError(absl::string_view message);
bool IsUsageError(const absl::Status& status);

// FailedPrecondition that time alone may mend: who calls again and again, as a
// timer does, should not count it as a failure.
absl::Status NotYetError(absl::string_view message);
bool IsNotYetError(const absl::Status& status);

// Returns the exit code of a command that returned `status`.
int ExitCodeOf(const absl::Status& status, const CommandOutput& output);

// Usage error unless `value` is one of `permitted`.
absl::Status CheckChoice(absl::string_view flag, absl::string_view value,
                         const std::vector<std::string>& permitted);

// Removes the flag from those before "--"; returns whether it was there.
bool TakeFlag(const std::string& flag, std::vector<std::string>* arguments);

// Prints a line for each finding of --check_config; returns the exit code.
int PrintFindings(const std::vector<std::string>& findings, std::ostream* out);

// Parses into `options`. Usage error where a flag is bad or the number of
// positional arguments is not what Command.positional says.
absl::Status ParseCommand(const std::vector<std::string>& arguments,
                          absl::string_view positional,
                          google::protobuf::Message* options,
                          CommandLine* command_line);

template <typename Options>
using CommandFunction = absl::Status (*)(
    const Options& options, const std::vector<std::string>& positional,
    CommandOutput* output);

template <typename Options>
using CheckFunction = std::vector<std::string> (*)(const Options& options);

template <typename Options>
Command MakeCommand(const std::string& name, const std::string& positional,
                    const std::string& summary, CommandFunction<Options> run,
                    const std::string& help = "",
                    CheckFunction<Options> check = nullptr) {
  Command command = {
      name,
      positional,
      summary,
      Options::descriptor(),
      [run, positional](const std::vector<std::string>& arguments,
                        CommandOutput* output) {
        Options options;
        CommandLine command_line;
        const absl::Status status =
            ParseCommand(arguments, positional, &options, &command_line);
        return status.ok() ? run(options, command_line.positional, output)
                           : status;
      },
      help};
  if (check == nullptr) return command;
  command.check = [check,
                   positional](const std::vector<std::string>& arguments) {
    Options options;
    CommandLine command_line;
    const absl::Status status =
        ParseCommand(arguments, positional, &options, &command_line);
    return status.ok()
               ? check(options)
               : std::vector<std::string>{std::string(status.message())};
  };
  return command;
}

// Finds the command that `arguments` (without program name) begin with, and
// runs it or prints its help; returns the exit code.
int RunCommand(const Program& program,
               const std::vector<std::string>& arguments,
               CommandOutput* output);

}  // namespace sortition
