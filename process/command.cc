#include "process/command.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "process/version.h"

namespace sortition {
namespace {

constexpr char kUsagePayload[] = "sortition.usage";

size_t WordCount(absl::string_view text) {
  return std::vector<absl::string_view>(
             absl::StrSplit(text, ' ', absl::SkipEmpty()))
      .size();
}

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& argument) {
                       return argument == "--help" || argument == "-h";
                     });
}

std::string CommandHelp(const Command& command) {
  return absl::StrCat("usage: sortition ", command.name,
                      command.positional.empty() ? "" : " ", command.positional,
                      " [--config=FILE] [--FLAG=VALUE …]\n\n", command.summary,
                      "\n\n", OptionsHelp(command.options));
}

// One line per command whose name begins with `group` (empty: all).
std::string CommandList(const std::vector<Command>& commands,
                        absl::string_view group) {
  std::string text = "usage: sortition COMMAND [--FLAG=VALUE …]\n\n";
  for (const Command& command : commands) {
    if (!group.empty() &&
        !absl::StartsWith(command.name, absl::StrCat(group, " "))) {
      continue;
    }
    const std::string usage =
        absl::StrCat(command.name, command.positional.empty() ? "" : " ",
                     command.positional);
    absl::StrAppendFormat(&text, "  %-20s %s\n", usage, command.summary);
  }
  absl::StrAppend(&text,
                  "\nsortition COMMAND --help lists the flags of a command. "
                  "Exit codes: 0 done,\n1 failed, 2 called wrongly.\n");
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
int RunNoCommand(const std::vector<Command>& commands,
                 const std::vector<std::string>& arguments,
                 CommandOutput* output) {
  const std::string& first = arguments[0];
  const bool is_group =
      std::any_of(commands.begin(), commands.end(), [&](const Command& c) {
        return absl::StartsWith(c.name, absl::StrCat(first, " "));
      });
  const std::string list = CommandList(commands, is_group ? first : "");
  if (AsksForHelp(arguments) && (is_group || absl::StartsWith(first, "-"))) {
    output->out << list;
    return kExitOk;
  }
  if (first == "help") {
    output->out << CommandList(commands, "");
    return kExitOk;
  }
  if (first == "--version") {
    output->out << "sortition " << Version() << "\n";
    return kExitOk;
  }
  output->error << "sortition: unknown command \""
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

absl::Status CheckChoice(absl::string_view flag, absl::string_view value,
                         const std::vector<std::string>& permitted) {
  if (std::any_of(permitted.begin(), permitted.end(),
                  [&](const std::string& choice) { return choice == value; })) {
    return absl::OkStatus();
  }
  return UsageError(absl::StrCat("--", flag, " is \"", value, "\", must be ",
                                 absl::StrJoin(permitted, " or ")));
}

absl::Status ParseCommand(const std::vector<std::string>& arguments,
                          absl::string_view positional,
                          google::protobuf::Message* options,
                          CommandLine* command_line) {
  const absl::Status status = ParseOptions(arguments, options, command_line);
  if (!status.ok()) return UsageError(status.message());
  const size_t expected = WordCount(positional);
  const size_t given = command_line->positional.size();
  if (given < expected) {
    return UsageError(absl::StrCat("needs ", positional));
  }
  if (given > expected) {
    return UsageError(absl::StrCat("unexpected argument \"",
                                   command_line->positional[expected],
                                   "\"; flags start with two dashes"));
  }
  return absl::OkStatus();
}

int RunCommand(const std::vector<Command>& commands,
               const std::vector<std::string>& arguments,
               CommandOutput* output) {
  if (arguments.empty()) {
    output->error << CommandList(commands, "");
    return kExitUsage;
  }
  const Command* command = FindCommand(commands, arguments);
  if (command == nullptr) return RunNoCommand(commands, arguments, output);
  const std::vector<std::string> rest(
      arguments.begin() + WordCount(command->name), arguments.end());
  if (AsksForHelp(rest)) {
    output->out << CommandHelp(*command);
    return kExitOk;
  }
  const absl::Status status = command->run(rest, output);
  output->out.flush();
  if (status.ok()) return kExitOk;
  output->error << "sortition " << command->name << ": ";
  if (IsUsageError(status)) {
    output->error << status.message() << "\n";
    return kExitUsage;
  }
  output->error << absl::StatusCodeToString(status.code()) << ": "
                << status.message() << "\n";
  return kExitError;
}

}  // namespace sortition
