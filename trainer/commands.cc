#include "trainer/commands.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/learners/learners.h"
#include "io/files.h"
#include "process/options.h"
#include "sortition/config/v1/calibrate.pb.h"
#include "sortition/config/v1/cluster.pb.h"
#include "sortition/config/v1/convert.pb.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "sortition/config/v1/fit.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/cluster/cluster.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/fit.h"
#include "trainer/offpolicy/calibrate.h"
#include "trainer/offpolicy/calibrate_report.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/convert.h"

namespace sortition {
namespace {

constexpr char kTrainHelp[] =
    R"(sortition-trainer train: learn a better policy, from logs or from labels.

--learner=poem (the default) reads the tuple segments that the sidecar wrote
(each a decision with its propensity and its reward), learns by counterfactual
risk minimisation (POEM, or another --objective and --optimiser) for each point
of a grid of lambda and l2, chooses the point by counterfactual validation,
estimates its reward on a part of the tuples that it has not seen, and publishes
the next version of the model only if the lower confidence bound of its
improvement over the newest version in the store is positive. All versions'
tuples train; only those that the newest version logged validate and test.
--action=labels learns from what convert wrote; its models are not served.

The other learners read queries with labelled candidates (LETOR/SVMlight with
qid) from --data, train each point of a grid of lambda, choose it by validation
queries, and publish a policy over an existing version only if its expected
measure on test queries is better with confidence. The policy draws by lot, so
that its log can be learned from: of --inverse_temperature the smallest is taken
that keeps 95 % of what going by score gains over chance (mpg: as trained).
--rank_policy says how orders are drawn. Each learner's options are a group of
its own below. --action=select has a learner of orders select one candidate.
ranksvm, hinge, listnet and regression can be pulled towards an order that is
trusted: --trusted_order.weight with one of --trusted_order.feature, .scores and
.version.

)";

constexpr char kTrainExamples[] = R"(
  sortition-trainer train --tuples=DIR --model_store=DIR [--model=NAME] ...
  sortition-trainer train --learner=mpg --data=FILE[,FILE] --model_store=DIR
      --game.measure=DCG|GRADED_DCG|PRECISION|F_BETA [--game.k=N] ...
  sortition-trainer train --learner=ranksvm --data=FILE --validation=FILE
      --test=FILE --model_store=DIR [--rank_svm.lambda=X,...]
      [--trusted_order.feature=N --trusted_order.weight=0,X,...] ...
  sortition-trainer train --config=FILE.textproto

deploy/examples has a configuration for each learner.

Exit status: 0 published (or would be, with --dry_run), 1 error, 3 the gate said
no.

)";

constexpr char kEvaluateHelp[] =
    R"(sortition-trainer evaluate: how good are the orders that a model makes?

Orders the candidates of labelled queries (LETOR/SVMlight with qid) by the
scores of a model in the store, or by scores in a file, and prints metrics, each
as one source defines it: by default all that LETOR 4.0's evaluation tool
prints. docs/metrics.md has the definitions.

  sortition-trainer evaluate --data=FILE[,FILE] --model_store=DIR [--model=NAME]
      [--metrics=letor,ndcg_linear@5,kendall,auc] [--per_query=FILE.tsv]
  sortition-trainer evaluate --data=FILE --scores=FILE ...

Exit status: 0 printed, 1 error.

)";

constexpr char kFitHelp[] =
    R"(sortition-trainer fit: a first model from a few labelled queries.

Fits a logistic regression of relevance on the features of each candidate and
publishes it as the next version: for --action=select as softmax selection that
can abstain (a candidate less likely relevant than not scores below abstaining),
for --action=rank as Plackett-Luce. The uniform mixture and the temperature make
it explore, so that its log can be learned from. Where the model has a version
already, only --force replaces it: nothing compares the two.

  sortition-trainer fit --data=FILE --model_store=DIR [--model=NAME] ...

Exit status: 0 published, 1 error.

)";

constexpr char kCalibrateHelp[] =
    R"(sortition-trainer calibrate: how random should the policy be?

For a version in the store and the queries of a log: prints, for some inverse
temperatures alpha, how often the policy abstains, how probable its best action
is, over how many actions it spreads, and its reward as estimated off-policy;
last, for always taking the best action (MAP). Finds the alpha at which the
policy, drawing by lot, abstains as often as its deterministic rule does. That
needs a policy that can abstain; for others, rankings among them, there is the
table only.

With --publish --force the calibrated policy becomes the next version. It needs
--force because no gate asks whether it earns as much: read the table.

  sortition-trainer calibrate --tuples=DIR --model_store=DIR [--model=NAME] ...

Exit status: 0 done, 1 error, or no alpha gives the rate (the table is printed).

)";

constexpr char kConvertHelp[] =
    R"(sortition-trainer convert: bandit tuples from multi-label data.

Fits a logging policy (per label a logistic regression, by L-BFGS) to a random
part of the contexts, draws labels for all of them from it, and writes what a
log would keep: context, labels drawn, their exact propensity, and as reward the
share of the labels that is right. 'sortition-trainer train' and 'sortition log'
read the segments. The output directory appears whole or not at all.

  sortition-trainer convert --data=FILE.svm --output=DIR [--test=FILE.svm] ...

A line of the data is "label,label feature:value feature:value", labels from 0,
features from 1. With --model_store the logging policy is published, so that
train compares with it; no server can load it.

Exit status: 0 written, 1 error.

)";

constexpr char kClusterHelp[] =
    R"(sortition-trainer cluster: which sources or queries disagree?

Groups score lists of a log that order candidates alike: k-means with a
Lovasz-Bregman divergence, which compares scores with an order, so that a source
that hardly tells candidates apart hardly counts. What is read are the decisions
of 'sortition aggregate' (or of --model=NAME, each feature as a source).

  --of=sources  groups sources (engines, raters) over all decisions
  --of=lists    groups the lists of all decisions; candidates need ids
  --of=queries  groups decisions by the weighted mean of their lists; ids, too

Prints how well the numbers of groups that were tried fit, each group's members,
joint order and how sure it is (queries: also their mean reward), how far groups
are from each other, and what they disagree about most. --picture draws it.

  sortition-trainer cluster --tuples=DIR [--of=sources|lists|queries]
      [--clusters=K[,K]] [--report=FILE.json] [--picture=FILE.svg]
      [--assignments=FILE.tsv]

Exit status: 0 printed, 1 error.

)";

// What `train` runs, or all, by what they learn from.
std::string LearnerTable(bool of_train) {
  std::string text;
  absl::string_view data;
  for (const LearnerInfo& learner : ListLearners()) {
    if (of_train && learner.make_labelled == nullptr &&
        learner.name != absl::string_view("poem")) {
      continue;
    }
    if (learner.data != data) {
      absl::StrAppendFormat(&text, "Learners from %s:\n", learner.data);
    }
    data = learner.data;
    absl::StrAppendFormat(&text, "  %-10s  %s\n", learner.name, learner.help);
  }
  return text;
}

std::string TrainHelp() {
  return absl::StrCat(kTrainHelp, LearnerTable(true), kTrainExamples);
}

std::string Usage() {
  const std::string text =
      "Usage: sortition-trainer COMMAND [options]\n\n"
      "  train      learn from tuple segments or labels, evaluate, gate, "
      "publish\n"
      "  evaluate   metrics of a model's orders on labelled queries\n"
      "  fit        first model from labelled queries (LETOR/SVMlight)\n"
      "  calibrate  temperature at which it abstains as its rule does\n"
      "  cluster    which sources or queries of a log disagree\n"
      "  convert    bandit tuples from multi-label data (SVMlight)\n\n"
      "'sortition-trainer COMMAND --help' lists the options, those of train "
      "the\ngroups of each learner.\n\n";
  return text + LearnerTable(false);
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "sortition-trainer: %s\n",
               std::string(status.message()).c_str());
  return kExitError;
}

// Parses into `options`; returns false where the command ends here, with
// `exit_status`.
bool Parse(const std::vector<std::string>& arguments, const std::string& help,
           google::protobuf::Message* options, int* exit_status) {
  CommandLine command_line;
  absl::Status status = ParseOptions(arguments, options, &command_line);
  if (status.ok() && command_line.help) {
    Print(absl::StrCat(help, OptionsHelp(options->GetDescriptor())));
    *exit_status = kExitOk;
    return false;
  }
  if (status.ok() && !command_line.positional.empty()) {
    status = absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", command_line.positional[0], "'"));
  }
  if (!status.ok()) {
    *exit_status = Fail(status);
    return false;
  }
  return true;
}

// Found out before hours of training and a published version.
absl::Status CheckWritable(absl::string_view option, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is '", path, "', a directory, must be a file"));
  }
  const std::string probe = path + ".probe";
  RETURN_IF_ERROR(WriteFile(probe, ""));
  std::filesystem::remove(probe, ignored);
  return absl::OkStatus();
}

absl::Status WriteReport(const std::string& path,
                         const google::protobuf::Message& report) {
  ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
  return WriteFile(path, json);
}

int RunTrain(const std::vector<std::string>& arguments) {
  config::v1::TrainOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, TrainHelp(), &options, &exit_status))
    return exit_status;
  if (!options.report().empty()) {
    const absl::Status writable = CheckWritable("report", options.report());
    if (!writable.ok()) return Fail(writable);
  }
  const auto report = Train(options);
  if (!report.ok()) return Fail(report.status());
  if (report->spilled_bytes() > 0) {
    Print(absl::StrFormat(
        "Features beyond memory_mb: %d bytes in a scratch file in %s\n",
        report->spilled_bytes(), report->scratch()));
  }
  Print(FormatReport(*report));
  if (!options.report().empty()) {
    const absl::Status written = WriteReport(options.report(), *report);
    if (!written.ok()) return Fail(written);
  }
  return report->gate_passed() || report->has_version() ? kExitOk
                                                        : kExitGateSaysNo;
}

int RunEvaluate(const std::vector<std::string>& arguments) {
  config::v1::EvaluateOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, kEvaluateHelp, &options, &exit_status)) {
    return exit_status;
  }
  const auto report = EvaluateOrders(options);
  if (!report.ok()) return Fail(report.status());
  if (options.output() == "json") {
    const auto json = ReportToJson(*report);
    if (!json.ok()) return Fail(json.status());
    Print(*json);
    return kExitOk;
  }
  Print(FormatOrderReport(*report));
  return kExitOk;
}

int RunFit(const std::vector<std::string>& arguments) {
  config::v1::FitOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, kFitHelp, &options, &exit_status)) return exit_status;
  const auto report = Fit(options);
  if (!report.ok()) return Fail(report.status());
  Print(absl::StrFormat(
      "%s version %d: logistic regression on %d queries, %d candidates (%d "
      "relevant), %d features; %d Newton steps%s\n",
      options.model(), report->version, report->queries, report->candidates,
      report->relevant, report->num_features, report->iterations,
      report->converged ? "" : ", not converged"));
  return kExitOk;
}

int RunCalibrate(const std::vector<std::string>& arguments) {
  config::v1::CalibrateOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, kCalibrateHelp, &options, &exit_status)) {
    return exit_status;
  }
  if (!options.report().empty()) {
    const absl::Status writable = CheckWritable("report", options.report());
    if (!writable.ok()) return Fail(writable);
  }
  const auto report = Calibrate(options);
  if (!report.ok()) return Fail(report.status());
  Print(FormatCalibration(*report));
  if (!options.report().empty()) {
    const absl::Status written = WriteReport(options.report(), *report);
    if (!written.ok()) return Fail(written);
  }
  return report->has_problem()
             ? Fail(absl::FailedPreconditionError(report->problem()))
             : kExitOk;
}

int RunCluster(const std::vector<std::string>& arguments) {
  config::v1::ClusterOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, kClusterHelp, &options, &exit_status)) {
    return exit_status;
  }
  const std::pair<absl::string_view, const std::string&> outputs[] = {
      {"report", options.report()},
      {"picture", options.picture()},
      {"assignments", options.assignments()}};
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    const absl::Status writable = CheckWritable(option, path);
    if (!writable.ok()) return Fail(writable);
  }
  const auto report = ClusterTuples(options);
  if (!report.ok()) return Fail(report.status());
  Print(FormatClusterReport(*report));
  if (!options.report().empty()) {
    const absl::Status written = WriteReport(options.report(), *report);
    if (!written.ok()) return Fail(written);
  }
  return kExitOk;
}

int RunConvert(const std::vector<std::string>& arguments) {
  config::v1::ConvertOptions options;
  int exit_status = kExitOk;
  if (!Parse(arguments, kConvertHelp, &options, &exit_status)) {
    return exit_status;
  }
  const auto report = Convert(options);
  if (!report.ok()) return Fail(report.status());
  Print(FormatConvertReport(options, *report));
  return kExitOk;
}

}  // namespace

int RunTrainer(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  const std::vector<std::string> rest(
      arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (command == "train") return RunTrain(rest);
  if (command == "evaluate") return RunEvaluate(rest);
  if (command == "fit") return RunFit(rest);
  if (command == "calibrate") return RunCalibrate(rest);
  if (command == "cluster") return RunCluster(rest);
  if (command == "convert") return RunConvert(rest);
  if (command == "help" || command == "--help" || command == "-h") {
    Print(Usage());
    return kExitOk;
  }
  std::fprintf(stderr, "sortition-trainer: %s\n\n%s",
               command.empty()
                   ? "no command given"
                   : absl::StrCat("unknown command '", command, "'").c_str(),
               Usage().c_str());
  return kExitError;
}

}  // namespace sortition
