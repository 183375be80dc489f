#include "bench/support/report.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"

namespace sortition {

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1
                            ? values[middle]
                            : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

std::string FormatTargets(std::span<const Target> targets) {
  std::string text;
  for (const Target& target : targets) {
    absl::StrAppendFormat(&text, "%s  %-44s %8.4g  %s %.4g\n",
                          target.met() ? "PASS" : "MISS", target.what,
                          target.measured,
                          target.at_least ? ">=" : "<=", target.required);
  }
  return text;
}

void WriteTargets(std::span<const Target> targets, JsonWriter* json) {
  json->BeginArray();
  for (const Target& target : targets) {
    json->BeginObject();
    json->Key("result").String(target.met() ? "PASS" : "MISS");
    json->Key("what").String(target.what);
    json->Key("measured").Number(target.measured);
    json->Key(target.at_least ? "required_at_least" : "required_at_most")
        .Number(target.required);
    json->EndObject();
  }
  json->EndArray();
}

int ExitCode(std::span<const Target> targets) {
  return std::all_of(targets.begin(), targets.end(),
                     [](const Target& target) { return target.met(); })
             ? 0
             : 1;
}

int PrintTargets(const absl::StatusOr<std::vector<Target>>& targets) {
  if (!targets.ok()) {
    std::fprintf(stderr, "%s\n", targets.status().ToString().c_str());
    return 1;
  }
  std::fputs(FormatTargets(*targets).c_str(), stdout);
  return ExitCode(*targets);
}

}  // namespace sortition
