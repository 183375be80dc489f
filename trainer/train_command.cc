#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "process/tracing/run_trace.h"
#include "trainer/commands.h"
#include "trainer/recorded_run.h"
#include "trainer/report.h"
#include "trainer/report_file.h"
#include "trainer/train.h"
#include "trainer/trainer_commands.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

namespace {

using model::v1::TrainingRun;

// What to do about a training that published nothing, for people.
std::string NextStep(const config::v1::TrainReport& report) {
  if (report.has_version()) return "";
  if (report.needs_more_data()) {
    return "Nothing: train again later, as a timer does.";
  }
  if (!report.test_looked_at() && !report.is_unchanged()) {
    return "Collect more decisions, explore more, or give the model other "
           "features.";
  }
  return report.gate_passed() ? "" : "Collect more decisions, and train again.";
}

// Returns whether `model` may be the name of a model that has no version yet:
// the log has a tuple of it, or no tuple at all. False if all tuples are of
// other models, as for a misspelt name.
bool MayBeNewModel(const config::v1::TrainOptions& options) {
  if (!options.has_tuples()) return false;
  const absl::StatusOr<TupleLog> log = TupleLog::Open(
      options.tuples(), {.mix_joins = true, .allow_incomplete = true});
  // The run fails for the same reason, which must be on record.
  if (!log.ok()) return true;
  bool has_tuples = false;
  const absl::StatusOr<bool> has_model =
      HasTuple(*log, [&](const log::v1::BanditTuple& tuple) {
        has_tuples = true;
        return tuple.decision().model() == options.model();
      });
  return !has_tuples || !has_model.ok() || *has_model;
}

// Adds what came of the run to its span.
void DescribeRun(const config::v1::TrainReport& report, RunTrace* trace) {
  const model::v1::Evaluation& evaluation = report.evaluation();
  trace->Set("sortition.train_tuples",
             static_cast<int64_t>(evaluation.train_tuples()));
  trace->Set("sortition.gate_passed", report.gate_passed());
  trace->Set("sortition.verdict", evaluation.verdict());
  if (report.has_version()) {
    trace->Set("sortition.version", static_cast<int64_t>(report.version()));
  }
}

absl::Status TrainAndPrint(const config::v1::TrainOptions& options,
                           RunTrace* trace, CommandOutput* output,
                           TrainingRun* run) {
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  ASSIGN_OR_RETURN(const config::v1::TrainReport report, Train(options, trace));
  if (report.spilled_bytes() > 0) {
    output->out << absl::StrFormat(
        "Features beyond memory_mb: %d bytes in a scratch file in %s\n",
        report.spilled_bytes(), report.scratch());
  }
  output->out << FormatReport(report);
  run->set_verdict(report.evaluation().verdict());
  run->set_next_step(NextStep(report));
  run->set_version(report.version());
  run->set_damaged_records(report.corrupt_records());
  DescribeRun(report, trace);
  if (!report.gate_passed() && !report.has_version()) {
    output->exit_code =
        report.needs_more_data() ? kExitNotYet : kExitGateSaysNo;
  }
  return WriteReport(options.report(), report);
}

absl::Status RunTraced(const config::v1::TrainOptions& options, RunTrace* trace,
                       CommandOutput* output) {
  TrainingRun unrecorded;
  if (options.dry_run()) {
    return TrainAndPrint(options, trace, output, &unrecorded);
  }
  const RunSubject subject{
      .kind = "train",
      .store = options.model_store(),
      .model = options.model(),
      .read = options.has_tuples() ? options.tuples()
                                   : absl::StrJoin(options.data(), ","),
      .may_create_folder = [&options] { return MayBeNewModel(options); }};
  return RunAndRecord(subject, output, [&](TrainingRun* run) {
    return TrainAndPrint(options, trace, output, run);
  });
}

}  // namespace

absl::Status RunTrain(const config::v1::TrainOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  ASSIGN_OR_RETURN(
      RunTrace trace,
      RunTrace::Begin(options.tracing(), "sortition-trainer", "train"));
  trace.Set("sortition.model", options.model());
  trace.Set("sortition.dry_run", options.dry_run());
  const absl::Status status = RunTraced(options, &trace, output);
  trace.End(status);
  return status;
}

}  // namespace sortition
