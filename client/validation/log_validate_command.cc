#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/validation/log_validate.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

absl::string_view LevelName(Level level) {
  return level == Level::kPass   ? "PASS"
         : level == Level::kWarn ? "WARN"
                                 : "FAIL";
}

double MegabytesPerSecond(const ValidateResult& result) {
  return 1e-6 * static_cast<double>(result.bytes) /
         std::max(result.seconds, 1e-9);
}

}  // namespace

std::string ValidateResultJson(const ValidateResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("result").String(LevelName(result.level()));
  json.Key("segments").Count(result.segments);
  json.Key("bytes").Count(result.bytes);
  json.Key("decisions").Count(result.decisions);
  json.Key("seconds").Number(result.seconds);
  json.Key("checks").BeginArray();
  for (const CheckResult& check : result.results) {
    json.BeginObject();
    json.Key("check").String(check.check);
    json.Key("result").String(LevelName(check.finding.level));
    json.Key("text").String(check.finding.text).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string ValidateResultText(const ValidateResult& result) {
  std::string text;
  for (const CheckResult& check : result.results) {
    absl::StrAppendFormat(&text, "%s  %-12s  %s\n",
                          LevelName(check.finding.level), check.check,
                          check.finding.text);
  }
  absl::StrAppendFormat(
      &text, "%s: %d decisions in %d segments, %.1f MB at %.0f MB/s\n",
      LevelName(result.level()), result.decisions, result.segments,
      1e-6 * static_cast<double>(result.bytes), MegabytesPerSecond(result));
  return text;
}

absl::Status RunLogValidate(const config::v1::LogValidateOptions& options,
                            const std::vector<std::string>& positional,
                            CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  ASSIGN_OR_RETURN(const ValidateResult result,
                   ValidateLog(positional, options));
  output->out << (options.output() == "json" ? ValidateResultJson(result) + "\n"
                                             : ValidateResultText(result));
  if (result.decisions == 0) {
    return absl::NotFoundError(
        absl::StrCat(absl::StrJoin(positional, " "), " holds no decisions"));
  }
  if (result.level() == Level::kFail) output->exit_code = kExitError;
  return absl::OkStatus();
}

}  // namespace sortition
