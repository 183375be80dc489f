#include "process/command.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "process/finding_note.h"
#include "process/log.h"
#include "process/log_level.h"
#include "process/version.h"

namespace sortition {
namespace {

constexpr char kUsagePayload[] = "sortition.usage";
constexpr char kNotYetPayload[] = "sortition.not_yet";

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

// How many arguments there must be: "[DIR]" may be left out.
size_t RequiredCount(absl::string_view positional) {
  const std::vector<absl::string_view> words = WordsOf(positional);
  return static_cast<size_t>(std::count_if(
      words.begin(), words.end(),
      [](absl::string_view word) { return !absl::StartsWith(word, "["); }));
}

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& argument) {
                       return argument == "--help" || argument == "-h";
                     });
}

std::string CommandHelp(const Program& program, const Command& command) {
  return absl::StrCat(
      "usage: ", program.name, " ", command.name,
      command.positional.empty() ? "" : " ", command.positional,
      " [--config=FILE] [--FLAG=VALUE …]\n\n",
      command.help.empty() ? command.summary + "\n" : command.help, "\n",
      OptionsHelp(command.options), "\n",
      command.check == nullptr ? "" : kCheckConfigHelp, kLogLevelHelp);
}

// Sets the log level if `arguments` begin to do so, and removes the flag, which
// is no option of the command.
absl::Status TakeLogLevel(std::vector<std::string>* arguments) {
  constexpr absl::string_view kFlag = "--log_level=";
  const auto end = std::find(arguments->begin(), arguments->end(), "--");
  const auto found =
      std::find_if(arguments->begin(), end, [&](const std::string& argument) {
        return absl::StartsWith(argument, kFlag);
      });
  if (found == end) return absl::OkStatus();
  const std::string value =
      absl::AsciiStrToUpper(absl::string_view(*found).substr(kFlag.size()));
  config::v1::LogLevel level;
  if (!config::v1::LogLevel_Parse(value, &level)) {
    return UsageError(
        absl::StrCat("flag ", *found, ": must be INFO, WARNING or ERROR"));
  }
  SetLogLevel(LogLevelOf(level));
  arguments->erase(found);
  return absl::OkStatus();
}

// One line per command whose name begins with `group` (empty: all).
std::string CommandList(const Program& program, absl::string_view group) {
  std::string text =
      absl::StrCat("usage: ", program.name, " COMMAND [--FLAG=VALUE …]\n\n");
  for (const Command& command : program.commands) {
    if (!group.empty() &&
        !absl::StartsWith(command.name, absl::StrCat(group, " "))) {
      continue;
    }
    const std::string usage =
        absl::StrCat(command.name, command.positional.empty() ? "" : " ",
                     command.positional);
    absl::StrAppendFormat(&text, "  %-20s %s\n", usage, command.summary);
  }
  absl::StrAppend(&text, "\n", program.name,
                  " COMMAND --help lists the flags of a command.\nExit codes: ",
                  kExitCodes, program.more_exit_codes.empty() ? "" : ", ",
                  program.more_exit_codes, ".\n");
  if (!program.notes.empty()) absl::StrAppend(&text, "\n", program.notes);
  return text;
}

// The command whose name the arguments begin with; null where there is none.
const Command* FindCommand(const std::vector<Command>& commands,
                           const std::vector<std::string>& arguments) {
  for (const Command& command : commands) {
    const std::vector<std::string> words = absl::StrSplit(command.name, ' ');
    if (arguments.size() >= words.size() &&
        std::equal(words.begin(), words.end(), arguments.begin())) {
      return &command;
    }
  }
  return nullptr;
}

// `arguments` begin with no command.
int RunNoCommand(const Program& program,
                 const std::vector<std::string>& arguments,
                 CommandOutput* output) {
  const std::string& first = arguments[0];
  const bool is_group = std::any_of(
      program.commands.begin(), program.commands.end(), [&](const Command& c) {
        return absl::StartsWith(c.name, absl::StrCat(first, " "));
      });
  const std::string list = CommandList(program, is_group ? first : "");
  if (AsksForHelp(arguments) && (is_group || absl::StartsWith(first, "-"))) {
    output->out << list;
    return kExitOk;
  }
  if (first == "help") {
    output->out << CommandList(program, "");
    return kExitOk;
  }
  if (first == "--version") {
    output->out << VersionText(program.name);
    return kExitOk;
  }
  output->error << program.name << ": unknown command \""
                << absl::StrJoin(
                       arguments.begin(),
                       arguments.begin() +
                           std::min<size_t>(is_group ? 2 : 1, arguments.size()),
                       " ")
                << "\"\n"
                << list;
  return kExitUsage;
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& status) {
  return status.GetPayload(kUsagePayload).has_value();
}

absl::Status NotYetError(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kNotYetPayload, absl::Cord());
  return status;
}

bool IsNotYetError(const absl::Status& status) {
  return status.GetPayload(kNotYetPayload).has_value();
}

int ExitCodeOf(const absl::Status& status, const CommandOutput& output) {
  if (status.ok()) return output.exit_code;
  if (IsUsageError(status)) return kExitUsage;
  return IsNotYetError(status) ? kExitNotYet : kExitError;
}

absl::Status CheckChoice(absl::string_view flag, absl::string_view value,
                         const std::vector<std::string>& permitted) {
  if (std::any_of(permitted.begin(), permitted.end(),
                  [&](const std::string& choice) { return choice == value; })) {
    return absl::OkStatus();
  }
  return UsageError(absl::StrCat("--", flag, " is \"", value, "\", must be ",
                                 absl::StrJoin(permitted, " or ")));
}

bool TakeFlag(const std::string& flag, std::vector<std::string>* arguments) {
  const auto end = std::find(arguments->begin(), arguments->end(), "--");
  const auto rest = std::remove(arguments->begin(), end, flag);
  const bool found = rest != end;
  arguments->erase(rest, end);
  return found;
}

int PrintFindings(const std::vector<std::string>& findings, std::ostream* out) {
  for (const std::string& finding : findings) *out << finding << "\n";
  out->flush();
  const bool is_fine = std::all_of(
      findings.begin(), findings.end(), [](const std::string& finding) {
        return absl::StartsWith(finding, kNotePrefix);
      });
  return is_fine ? kExitOk : kExitUsage;
}

absl::Status ParseCommand(const std::vector<std::string>& arguments,
                          absl::string_view positional,
                          google::protobuf::Message* options,
                          CommandLine* command_line) {
  const absl::Status status = ParseOptions(arguments, options, command_line);
  if (!status.ok()) return UsageError(status.message());
  const size_t expected = WordsOf(positional).size();
  const size_t given = command_line->positional.size();
  if (given < RequiredCount(positional)) {
    return UsageError(absl::StrCat("needs ", positional));
  }
  if (given > expected && !absl::EndsWith(positional, "…")) {
    return UsageError(absl::StrCat("unexpected argument \"",
                                   command_line->positional[expected],
                                   "\"; flags start with two dashes"));
  }
  return absl::OkStatus();
}

int RunCommand(const Program& program,
               const std::vector<std::string>& arguments,
               CommandOutput* output) {
  if (arguments.empty()) {
    output->error << CommandList(program, "");
    return kExitUsage;
  }
  const Command* command = FindCommand(program.commands, arguments);
  if (command == nullptr) return RunNoCommand(program, arguments, output);
  std::vector<std::string> rest(
      arguments.begin() + WordsOf(command->name).size(), arguments.end());
  if (AsksForHelp(rest)) {
    output->out << CommandHelp(program, *command);
    return kExitOk;
  }
  if (command->check != nullptr && TakeFlag("--check_config", &rest)) {
    return PrintFindings(command->check(rest), &output->out);
  }
  absl::Status status = TakeLogLevel(&rest);
  if (status.ok()) status = command->run(rest, output);
  output->out.flush();
  if (!status.ok()) {
    output->error << program.name << " " << command->name << ": ";
    if (!IsUsageError(status)) {
      output->error << absl::StatusCodeToString(status.code()) << ": ";
    }
    output->error << status.message() << "\n";
  }
  return ExitCodeOf(status, *output);
}

}  // namespace sortition
