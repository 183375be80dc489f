#include "process/service/service.h"

#include <sys/resource.h>

#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "process/command.h"
#include "process/log.h"
#include "process/log_level.h"
#include "process/options/options.h"
#include "process/version.h"

namespace sortition {
namespace {

constexpr char kMoreFlags[] =
    "  --version                     Release, build and libraries\n"
    "\n"
    "Exit codes: ";

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Connections, segments and models take descriptors. The soft limit is often
// 1,024, for the sake of programs that use select(2).
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the option `log_level`; kInfo if the service has no such option.
LogLevel LevelIn(const google::protobuf::Message& options) {
  const auto* const field =
      options.GetDescriptor()->FindFieldByName("log_level");
  if (field == nullptr) return LogLevel::kInfo;
  return LogLevelOf(static_cast<config::v1::LogLevel>(
      options.GetReflection()->GetEnumValue(options, field)));
}

absl::Status Parse(const std::vector<std::string>& arguments,
                   google::protobuf::Message* options, bool* help) {
  CommandLine command_line;
  absl::Status status = ParseOptions(arguments, options, &command_line);
  *help = command_line.help;
  if (status.ok() && !command_line.positional.empty()) {
    status = absl::InvalidArgumentError(
        absl::StrCat("takes no argument besides options: \"",
                     command_line.positional[0], "\" (--help lists all)"));
  }
  return status;
}

}  // namespace

int RunService(const Service& service, std::vector<std::string> arguments,
               google::protobuf::Message* options) {
  const bool only_check = TakeFlag("--check_config", &arguments);
  const bool only_version = TakeFlag("--version", &arguments);
  bool help = false;
  const absl::Status parsed =
      only_version ? absl::OkStatus() : Parse(arguments, options, &help);
  if (only_version) {
    Print(VersionText(service.name));
    return kExitOk;
  }
  if (help) {
    Print(absl::StrCat(service.help, "\n",
                       OptionsHelp(options->GetDescriptor()), "\n",
                       kCheckConfigHelp, kMoreFlags, kExitCodes, ".\n"));
    return kExitOk;
  }
  if (only_check) {
    const std::vector<std::string> findings =
        parsed.ok() ? service.check()
                    : std::vector<std::string>{std::string(parsed.message())};
    return PrintFindings(findings, &std::cout);
  }
  const absl::Status valid =
      parsed.ok() && service.validate != nullptr ? service.validate() : parsed;
  if (!valid.ok()) {
    LogError("called wrongly",
             {{"program", service.name}, {"error", valid.message()}});
    return kExitUsage;
  }
  SetLogLevel(LevelIn(*options));
  RaiseDescriptorLimit();
  const absl::Status status = service.run();
  if (status.ok()) return kExitOk;
  LogError("failed", {{"program", service.name},
                      {"code", absl::StatusCodeToString(status.code())},
                      {"error", status.message()}});
  return kExitError;
}

}  // namespace sortition
