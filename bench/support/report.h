#pragma once
// Ends every benchmark: prints one line per target, and gives the exit status.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// A measured figure and the limit that it has to keep.
struct Target {
  std::string what;
  double measured = 0;
  double required = 0;
  bool at_least = false;  // False: `required` is the most that is allowed.

  // NaN stands for "not measured" and meets no target.
  bool met() const {
    return at_least ? measured >= required : measured <= required;
  }
};

struct Report {
  // Implicit, so that a benchmark can return its targets alone.
  Report(std::vector<Target> all_targets = {})
      : targets(std::move(all_targets)) {}

  std::vector<Target> targets;
  std::map<std::string, std::string> details = {};  // More for the JSON report.
};

void AppendTargets(std::vector<Target> more, std::vector<Target>* targets);

// Returns "PASS  what  measured  <= required" (or MISS, or >=), one line per
// target.
std::string FormatTargets(std::span<const Target> targets);
// Returns {"benchmark": name, <key of a detail>: <its JSON>, .., "targets":
// [..]}.
std::string FormatReportAsJson(absl::string_view name, const Report& report);

// Returns 0 if all targets are met, otherwise 1.
int ExitCode(std::span<const Target> targets);

// The main function of every benchmark. Parses the flags, calls `run`, prints
// the targets and returns the exit status: 1 if a target is missed or `run`
// fails. With --output=json standard output is the JSON report alone; whatever
// `run` prints goes to standard error.
int RunBenchmark(int argc, char** argv, absl::string_view description,
                 const std::function<absl::StatusOr<Report>()>& run);

}  // namespace sortition
