#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/simulation/simulate.h"
#include "client/simulation/simulation_commands.h"
#include "core/base/status_macros.h"
#include "core/features/schema/schema.h"
#include "core/simulation/world.h"
#include "io/columns/column_queries.h"
#include "io/datasets/label_file_options.h"
#include "io/datasets/letor.h"
#include "io/files.h"
#include "io/models/text_message.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {
namespace {

// Seconds between lines where standard error is not a terminal.
constexpr double kPlainLineSeconds = 10;

// One line that is overwritten on a terminal, plain lines elsewhere.
class ProgressLine {
 public:
  ProgressLine(uint64_t decisions, CommandOutput* output)
      : decisions_(decisions), output_(*output) {}

  void Show(const SimulateProgress& progress) {
    const bool terminal = output_.error_is_terminal;
    if (!terminal && progress.seconds < next_line_) return;
    next_line_ = progress.seconds + kPlainLineSeconds;
    const double asked = static_cast<double>(progress.asked);
    const double rate = asked / progress.seconds;
    // While it waits for a version, it asks for more than `decisions_`.
    const bool known_end = progress.asked <= decisions_;
    std::string line =
        absl::StrFormat("%d%s decisions, %d failed, %.0f/s", progress.asked,
                        known_end ? absl::StrCat(" of ", decisions_) : "",
                        progress.failed, rate);
    if (known_end && rate > 0) {
      absl::StrAppendFormat(&line, ", %.0f s left",
                            (static_cast<double>(decisions_) - asked) / rate);
    }
    output_.error << (terminal ? "\r\x1b[K" : "") << line
                  << (terminal ? "" : "\n") << std::flush;
    shown_ = terminal;
  }

  void Clear() {
    if (shown_) output_.error << "\r\x1b[K" << std::flush;
  }

 private:
  const uint64_t decisions_;
  CommandOutput& output_;
  double next_line_ = kPlainLineSeconds;
  bool shown_ = false;
};

absl::StatusOr<LabelledQueries> ReadQueries(
    const config::v1::SimulateOptions& options) {
  if (options.features().empty()) {
    if (options.data().empty()) return MakeWorld(options.world());
    if (!IsColumnFile(options.data())) {
      return ReadLetor(options.data(),
                       {.lines = ToSvmlightOptions(options.label_files()),
                        .groups = options.groups()});
    }
    return absl::InvalidArgumentError(
        absl::StrCat("data is '", options.data(),
                     "', which has columns: features must be set, a "
                     "FeatureSpec with their schema"));
  }
  if (options.data().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("features is '", options.features(),
                     "', must be empty without data: the world has no "
                     "columns"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.features()));
  model::v1::FeatureSpec spec;
  RETURN_IF_ERROR(
      ParseUserMessage(options.features(), "a FeatureSpec", text, &spec));
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  return ReadColumnQueries(options.data(), schema);
}

// Returns an error, and hence exit code 1, although a result was printed.
absl::Status Verdict(const config::v1::SimulateOptions& options,
                     const SimulateResult& result) {
  if (result.failed + result.failed_reports > 0) {
    return absl::UnavailableError(
        absl::StrCat(result.failed, " decisions and ", result.failed_reports,
                     " reports failed; first: ", result.first_failure));
  }
  if (!result.version_seen) {
    return absl::DeadlineExceededError(absl::StrCat(
        "version ", options.until_version(),
        " did not answer within max_seconds = ", options.max_seconds()));
  }
  if (result.asked() < options.decisions()) {
    return absl::DeadlineExceededError(absl::StrCat(
        result.asked(), " of ", options.decisions(),
        " decisions asked for within max_seconds = ", options.max_seconds()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunSimulate(const config::v1::SimulateOptions& options,
                         const std::vector<std::string>&,
                         CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("action", options.action(), {"select", "rank", "label"}));
  ASSIGN_OR_RETURN(const LabelledQueries queries, ReadQueries(options));
  if (queries.extreme_values > 0) {
    output->error << ExtremeValuesNote(options.label_files(), options.data(),
                                       queries.extreme_values)
                  << "\n";
  }
  ProgressLine progress(options.decisions(), output);
  ASSIGN_OR_RETURN(const SimulateResult result,
                   Simulate(options, queries, [&](const SimulateProgress& now) {
                     progress.Show(now);
                   }));
  progress.Clear();
  const std::string json = SimulateResultJson(options, result) + "\n";
  output->out << (options.output() == "json"
                      ? json
                      : SimulateResultText(options, result));
  if (!options.report().empty()) {
    RETURN_IF_ERROR(WriteFile(options.report(), json));
  }
  return Verdict(options, result);
}

}  // namespace sortition
