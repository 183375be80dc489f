#include "bench/support/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "process/json_writer.h"

ABSL_FLAG(std::string, output, "text",
          "how the targets are printed: text or json");

namespace sortition {
namespace {

const char* ResultOf(const Target& target) {
  return target.met() ? "PASS" : "MISS";
}

// Returns "rpc" for ".../bench_rpc".
std::string NameOf(const char* program) {
  const std::string file = std::filesystem::path(program).filename();
  return std::string(absl::StripPrefix(file, "bench_"));
}

// While an object exists, what is written to standard output goes to standard
// error.
class StdoutToStderr {
 public:
  StdoutToStderr() : stdout_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutToStderr() {
    std::fflush(stdout);
    dup2(stdout_, STDOUT_FILENO);
    close(stdout_);
  }
  StdoutToStderr(const StdoutToStderr&) = delete;
  StdoutToStderr& operator=(const StdoutToStderr&) = delete;

 private:
  const int stdout_;
};

absl::StatusOr<Report> RunQuietly(
    const std::function<absl::StatusOr<Report>()>& run) {
  const StdoutToStderr redirect;
  return run();
}

}  // namespace

void AppendTargets(std::vector<Target> more, std::vector<Target>* targets) {
  targets->insert(targets->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

std::string FormatTargets(std::span<const Target> targets) {
  std::string text;
  for (const Target& target : targets) {
    absl::StrAppendFormat(&text, "%s  %-56s %8.4g  %s %.4g\n", ResultOf(target),
                          target.what, target.measured,
                          target.at_least ? ">=" : "<=", target.required);
  }
  return text;
}

std::string FormatReportAsJson(absl::string_view name, const Report& report) {
  JsonWriter json;
  json.BeginObject().Key("benchmark").String(name);
  for (const auto& [key, value] : report.details) json.Key(key).Raw(value);
  json.Key("targets").BeginArray();
  for (const Target& target : report.targets) {
    json.BeginObject().Key("result").String(ResultOf(target));
    json.Key("what").String(target.what);
    json.Key("measured").Number(target.measured);
    json.Key(target.at_least ? "required_at_least" : "required_at_most")
        .Number(target.required);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

int ExitCode(std::span<const Target> targets) {
  const bool all_met =
      std::all_of(targets.begin(), targets.end(),
                  [](const Target& target) { return target.met(); });
  return all_met ? 0 : 1;
}

int RunBenchmark(int argc, char** argv, absl::string_view description,
                 const std::function<absl::StatusOr<Report>()>& run) {
  absl::SetProgramUsageMessage(absl::StrCat(
      description,
      "\nEnds with PASS or MISS for each target; exit status 1 if one is "
      "missed.\n--output=json prints the targets as JSON, and all else to "
      "standard error."));
  absl::ParseCommandLine(argc, argv);
  const std::string name = NameOf(argv[0]);
  const std::string output = absl::GetFlag(FLAGS_output);
  if (output != "text" && output != "json") {
    absl::FPrintF(stderr, "bench_%s: --output is %s, must be text or json\n",
                  name, output);
    return 1;
  }
  const absl::StatusOr<Report> report =
      output == "json" ? RunQuietly(run) : run();
  if (!report.ok()) {
    absl::FPrintF(stderr, "bench_%s: %s\n", name, report.status().ToString());
    return 1;
  }
  std::fputs((output == "json" ? FormatReportAsJson(name, *report)
                               : FormatTargets(report->targets))
                 .c_str(),
             stdout);
  return ExitCode(report->targets);
}

}  // namespace sortition
