#pragma once
// What a benchmark says at its end: one line per target.
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "process/json_writer.h"

namespace sortition {

// A figure that must not be above its limit, or below it.
struct Target {
  std::string what;
  double measured = 0;
  double required = 0;    // At most; with
  bool at_least = false;  // this, at least.
  bool met() const {
    return at_least ? measured >= required : measured <= required;
  }
};

struct Spread {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};

// Requires at least one value.
Spread SpreadOf(std::vector<double> values);

// "PASS  what  measured  <= required" (or >=), one line each.
std::string FormatTargets(std::span<const Target> targets);
// Writes the targets as an array of objects.
void WriteTargets(std::span<const Target> targets, JsonWriter* json);

// 0 where all are met, otherwise 1.
int ExitCode(std::span<const Target> targets);

// What a benchmark without other formats ends with: prints the targets, or the
// error to stderr; returns the exit code.
int PrintTargets(const absl::StatusOr<std::vector<Target>>& targets);

}  // namespace sortition
