#include "trainer/config_checks/check_config.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "io/models/model_store.h"
#include "io/segments/log_paths.h"
#include "process/command.h"
#include "process/finding_note.h"
#include "process/service/config_findings.h"
#include "process/tracing/collector.h"
#include "trainer/clicks/clicks.h"
#include "trainer/cluster/cluster.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/exploration/calibrate.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/labelled_train.h"
#include "trainer/labelled/learner_choice.h"
#include "trainer/offpolicy/option_checks.h"
#include "trainer/ope/ope.h"
#include "trainer/retention/prune.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_plan.h"
#include "trainer/rollout/rollout_train.h"
#include "trainer/scoring/score.h"
#include "trainer/suggest/column_sources.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using Lines = std::vector<std::string>;
using Missing = ConfigFindings::Missing;
using RepeatedText = google::protobuf::RepeatedPtrField<std::string>;

// Findings of options that several commands have. An option that is empty is
// not given.
class Findings {
 public:
  void Add(const absl::Status& status) { findings_.Add(status); }

  // A store that is only read.
  void CheckStore(const std::string& path) {
    findings_.CheckReadableDirectory("model_store", path);
  }
  // A store that the command makes if it is missing.
  void CheckNewStore(const std::string& path) {
    if (path.empty()) return;
    findings_.CheckDirectory("model_store", path, Missing::kMakesAll);
  }
  // Whether there are such logs.
  void CheckLogs(absl::string_view option, const std::string& entries) {
    if (entries.empty()) return;
    const absl::Status status = FindSegments(SplitLogEntries(entries)).status();
    if (status.ok()) return;
    Add(absl::Status(status.code(),
                     absl::StrCat(option, ": ", status.message())));
  }
  // The same for a command that runs on a schedule, perhaps before the sidecar
  // has written its first tuples.
  void CheckComingLogs(absl::string_view option, const std::string& entries) {
    if (entries.empty()) return;
    const auto segments = FindSegments(SplitLogEntries(entries));
    const bool is_coming =
        segments.ok() ? segments->empty() : absl::IsNotFound(segments.status());
    if (!is_coming) return CheckLogs(option, entries);
    notes_.push_back(absl::StrCat(
        kNotePrefix, option, " = \"", entries,
        "\": no tuples yet; a sidecar writes them there when the first "
        "window for feedback is over"));
  }
  void CheckTimes(const std::string& since, const std::string& until) {
    Add(ValidateTimes(since, until));
  }
  void CheckInput(absl::string_view option, const std::string& path) {
    findings_.CheckFile(option, path);
  }
  void CheckInputs(absl::string_view option, const RepeatedText& entries) {
    for (const std::string& path : SplitEntries(entries)) {
      CheckInput(option, path);
    }
  }
  // Rewards by decision id, and what is said of them.
  template <typename Options>
  void CheckRewards(const Options& options) {
    const auto files = ParseNamedFiles("rewards", options.rewards());
    Add(files.status());
    if (!files.ok()) return;
    for (const NamedFile& file : *files) CheckInput("rewards", file.path);
    Add(ParseLimits("guardrails", options.guardrails(), *files).status());
    Add(ParseRanges("reward_ranges", options.reward_ranges(), *files).status());
  }
  void CheckResult(absl::string_view option, const std::string& path) {
    findings_.CheckNewFile(option, path);
  }
  // A directory that must be empty, unless what it has is replaced.
  void CheckNewLog(absl::string_view option, const std::string& path,
                   bool replaces) {
    findings_.CheckDirectory(option, path, Missing::kMakesAll);
    std::error_code error;
    if (replaces || !std::filesystem::is_directory(path, error) ||
        std::filesystem::is_empty(path, error)) {
      return;
    }
    Add(absl::FailedPreconditionError(
        absl::StrCat(option, " = \"", path,
                     "\": must be absent or empty, or replaced by "
                     "--force")));
  }
  void CheckAddresses(absl::string_view option, const std::string& list) {
    for (const absl::string_view address :
         absl::StrSplit(list, ',', absl::SkipWhitespace())) {
      findings_.CheckAddress(option, std::string(address));
    }
  }
  void CheckOutput(const std::string& output) {
    Add(CheckChoice("output", output, {"text", "json"}));
  }

  // Returns the findings, and notes behind them.
  Lines lines() const {
    Lines lines = findings_.lines();
    lines.insert(lines.end(), notes_.begin(), notes_.end());
    return lines;
  }

 private:
  ConfigFindings findings_;
  Lines notes_;
};

absl::Status ValidateTrain(const config::v1::TrainOptions& options) {
  const auto learner = ChooseLearner(options);
  if (!learner.ok()) return learner.status();
  return learner->make_labelled != nullptr ? ValidateLabelledTraining(options)
                                           : ValidateTupleTraining(options);
}

}  // namespace

Lines CheckConfig(const config::v1::TrainOptions& options) {
  Findings findings;
  findings.Add(ValidateTrain(options));
  findings.Add(ValidateTrainPlan(options));
  findings.Add(ValidateTracing(options.tracing()));
  findings.CheckNewStore(options.model_store());
  findings.CheckComingLogs("tuples", options.tuples());
  findings.CheckRewards(options);
  findings.CheckInputs("data", options.data());
  findings.CheckInputs("validation", options.validation());
  findings.CheckInputs("test", options.test());
  if (options.features() != kAutoFeatures) {
    findings.CheckInput("features", options.features());
  }
  findings.CheckInput("word_vectors", options.word_vectors());
  if (options.trees() != "none") {
    findings.CheckInput("trees", options.trees());
  }
  findings.CheckResult("report", options.report());
  return findings.lines();
}

Lines CheckConfig(const config::v1::EvaluateOptions& options) {
  Findings findings;
  findings.Add(ValidateEvaluateOptions(options));
  findings.CheckStore(options.model_store());
  findings.CheckInputs("data", options.data());
  findings.CheckInput("scores", options.scores());
  findings.CheckInput("run", options.run());
  findings.CheckInput("qrels", options.qrels());
  findings.CheckResult("per_query", options.per_query());
  return findings.lines();
}

Lines CheckConfig(const config::v1::ScoreOptions& options) {
  Findings findings;
  findings.Add(ValidateScoreOptions(options));
  findings.CheckStore(options.model_store());
  findings.CheckInputs("data", options.data());
  findings.CheckResult("qrels", options.qrels());
  return findings.lines();
}

Lines CheckConfig(const config::v1::FitOptions& options) {
  Findings findings;
  findings.Add(ValidateFitOptions(options));
  findings.CheckNewStore(options.model_store());
  findings.CheckInput("data", options.data());
  if (options.features() != kAutoFeatures) {
    findings.CheckInput("features", options.features());
  }
  findings.CheckInput("word_vectors", options.word_vectors());
  return findings.lines();
}

Lines CheckConfig(const config::v1::SuggestFeaturesOptions& options) {
  Findings findings;
  findings.Add(ValidateModelName(options.model()));
  if (options.tuples().empty() == (options.data_size() == 0)) {
    findings.Add(absl::InvalidArgumentError(
        "one of tuples and data must be set, and not both"));
  }
  findings.CheckLogs("tuples", options.tuples());
  findings.CheckInputs("data", options.data());
  if (options.output() != "-") findings.CheckResult("output", options.output());
  return findings.lines();
}

Lines CheckConfig(const config::v1::DescribeOptions& options) {
  Findings findings;
  findings.Add(ValidateModelName(options.model()));
  findings.CheckStore(options.model_store());
  return findings.lines();
}

Lines CheckConfig(const config::v1::CalibrateOptions& options) {
  Findings findings;
  findings.Add(ValidateCalibrateOptions(options));
  findings.CheckStore(options.model_store());
  findings.CheckLogs("tuples", options.tuples());
  findings.CheckTimes(options.since(), options.until());
  findings.CheckResult("report", options.report());
  return findings.lines();
}

Lines CheckConfig(const config::v1::OpeOptions& options) {
  Findings findings;
  findings.Add(ValidateOpeOptions(options));
  findings.CheckStore(options.model_store());
  findings.CheckLogs("tuples", options.tuples());
  findings.CheckTimes(options.since(), options.until());
  findings.CheckRewards(options);
  findings.CheckResult("report", options.report());
  findings.CheckResult("page", options.page());
  return findings.lines();
}

Lines CheckConfig(const config::v1::ClicksOptions& options) {
  Findings findings;
  findings.Add(ValidateClicksOptions(options));
  findings.CheckOutput(options.output());
  findings.CheckStore(options.model_store());
  findings.CheckLogs("tuples", options.tuples());
  findings.CheckTimes(options.since(), options.until());
  findings.CheckResult("report", options.report());
  findings.CheckResult("write", options.write());
  return findings.lines();
}

Lines CheckConfig(const config::v1::ClusterOptions& options) {
  Findings findings;
  findings.Add(ValidateClusterOptions(options));
  findings.CheckLogs("tuples", options.tuples());
  findings.CheckResult("report", options.report());
  findings.CheckResult("picture", options.picture());
  findings.CheckResult("assignments", options.assignments());
  return findings.lines();
}

Lines CheckConfig(const config::v1::PublishModelOptions& options) {
  Findings findings;
  findings.Add(ValidateModelName(options.model()));
  findings.CheckOutput(options.output());
  findings.CheckNewStore(options.model_store());
  return findings.lines();
}

Lines CheckConfig(const config::v1::PruneOptions& options) {
  Findings findings;
  findings.Add(ValidatePruneOptions(options));
  findings.CheckOutput(options.output());
  findings.CheckStore(options.model_store());
  findings.CheckLogs("log", options.log());
  return findings.lines();
}

Lines CheckConfig(const config::v1::RolloutOptions& options) {
  Findings findings;
  findings.Add(ValidateRolloutOptions(options));
  findings.Add(ValidateTracing(options.tracing()));
  findings.Add(CheckModelDirectory(options.model_store(), options.model()));
  findings.CheckComingLogs("tuples", options.tuples());
  findings.CheckAddresses("metrics", options.metrics());
  return findings.lines();
}

Lines CheckConfig(const config::v1::ConvertOptions& options) {
  Findings findings;
  findings.Add(ValidateModelName(options.model()));
  findings.CheckNewStore(options.model_store());
  findings.CheckInput("data", options.data());
  findings.CheckInput("test", options.test());
  findings.CheckNewLog("output", options.output(), options.force());
  return findings.lines();
}

}  // namespace sortition
