#include "trainer/labelled/labelled_train.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "process/progress.h"
#include "process/threads.h"
#include "trainer/frames/model_frame.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/labelled/labelled_gate.h"
#include "trainer/labelled/labelled_report.h"
#include "trainer/labelled/labelled_temperature.h"
#include "trainer/labelled/labelled_warmup.h"
#include "trainer/labelled/learner_choice.h"
#include "trainer/labelled/tree_checks.h"
#include "trainer/labelled/trusted_order.h"
#include "trainer/trees/tree_training.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kDefaultThreads = 2;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<ActionKind> ActionOf(const TrainOptions& options,
                                    const LabelledLearner& learner) {
  if (options.action().empty()) return learner.default_action();
  if (options.action() == "select") return ActionKind::kSelect;
  if (options.action() == "rank") return ActionKind::kRank;
  if (options.action() == "label") return ActionKind::kSubset;
  return absl::InvalidArgumentError(absl::StrCat(
      "action is '", options.action(),
      "', must be select, rank or label for learner ", options.learner()));
}

// The state of a run, in the order in which it is filled.
struct Run {
  TrainOptions options;  // The options in force.
  std::unique_ptr<LabelledLearner> learner = nullptr;
  ActionKind action = ActionKind::kRank;
  LabelledData data = {};
  std::vector<LabelledItems> training = {};
  std::vector<LabelledItems> validation = {};
  std::vector<LabelledItems> test = {};
  std::optional<TrustedOrders> trusted = {};
  LabelledReport::TrustedOrder trusted_report = {};

  LabelledPolicyTask PolicyTask() const {
    return {.action_kind = action,
            .uniform_mixture = options.uniform_mixture(),
            .game = options.game_policy(),
            .rank = options.rank_policy()};
  }
};

// Checks before training that all policies of the options can be made.
absl::Status CheckPolicies(const Run& run) {
  LabelledPolicyTask task = run.PolicyTask();
  RETURN_IF_ERROR(run.learner->MakePolicy(task).status());
  if (run.options.inverse_temperature_size() > 0 &&
      !run.learner->has_temperature()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inverse_temperature is set, must be unset for learner ",
        run.options.learner(), ": training calibrates its scores"));
  }
  for (const double alpha : run.options.inverse_temperature()) {
    task.inverse_temperature = alpha;
    RETURN_IF_ERROR(run.learner->MakePolicy(task).status());
  }
  return absl::OkStatus();
}

// Returns the measure that compares policies. It depends on the action, since a
// learner of rankings may also select.
LabelMeasure MeasureOfAction(const Run& run) {
  LabelMeasure measure = run.learner->measure();
  if (run.action == ActionKind::kSelect &&
      (measure.kind == LabelMeasure::Kind::kDcg ||
       measure.kind == LabelMeasure::Kind::kPrecision)) {
    return {.kind = LabelMeasure::Kind::kGain,
            .gains = std::move(measure.gains)};
  }
  return measure;
}

// Learners of classes and of labels make features of their own of an item's.
absl::Status CheckFrame(const Run& run) {
  if (run.data.frame.features == nullptr ||
      run.learner->measure().kind != LabelMeasure::Kind::kAccuracy) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has a schema, trees or hidden units (features and trees, or "
      "the version to be replaced), must have none for learner ",
      run.options.learner(), ", which makes features of its own"));
}

void MakeViews(Run* run) {
  run->training = ViewsOf(run->data.training, run->data);
  run->validation = ViewsOf(run->data.validation, run->data);
  run->test = ViewsOf(run->data.test, run->data);
}

// Reads the data and makes every check that does not need training.
absl::StatusOr<Run> Prepare(const TrainOptions& options,
                            const LearnerInfo& info,
                            const std::optional<StoredModel>& baseline) {
  Run run{.options = options};
  ASSIGN_OR_RETURN(run.data, ReadLabelledData(options, baseline));
  ASSIGN_OR_RETURN(run.learner, info.make_labelled(options, run.data.shape));
  SetOwnOptions(info, run.learner->options(), &run.options);
  RETURN_IF_ERROR(CheckFrame(run));
  ASSIGN_OR_RETURN(run.action, ActionOf(options, *run.learner));
  RETURN_IF_ERROR(CheckPolicies(run));
  if (options.has_trusted_order() && !run.learner->trusts_orders()) {
    return absl::InvalidArgumentError(
        absl::StrCat("trusted_order is set, must be unset for learner ",
                     options.learner(), ", which is not pulled by one"));
  }
  TrustedSource trusted;
  if (options.has_trusted_order()) {
    ASSIGN_OR_RETURN(trusted, ReadTrustedOrders(options, run.data));
    if (trusted.version > 0) {  // Records the number, not "newest".
      run.options.mutable_trusted_order()->set_version(trusted.version);
    }
  }
  if (run.learner->needs_constant()) AppendConstant(&run.data);
  MakeViews(&run);
  if (options.has_trusted_order()) {
    ASSIGN_OR_RETURN(run.trusted, TrustedOrders::Create(
                                      run.training, std::move(trusted.orders),
                                      options.trusted_order().divergence(),
                                      options.trusted_order().cutoff()));
    run.trusted_report = std::move(trusted.report);
  }
  return run;
}

ParallelFor ThreadsOf(const Run& run) {
  return OnThreads(run.options.has_threads() ? run.options.threads()
                                             : kDefaultThreads);
}

// Shows the progress of training and measures the time of each point.
class PointClock {
 public:
  PointClock(const LabelledLearner& learner, size_t num_points)
      : most_steps_(learner.most_steps()),
        progress_("training", "steps", most_steps_ * num_points),
        last_(Clock::now()) {}

  void Step(size_t point) {
    seconds_.resize(std::max(seconds_.size(), point + 1));
    seconds_[point] += SecondsSince(last_);
    last_ = Clock::now();
    // Steps saved by early stopping count as done.
    const uint64_t done =
        most_steps_ * point + std::min(++steps_[point], most_steps_);
    progress_.Add(done - std::min(done, shown_));
    shown_ = std::max(shown_, done);
  }
  double seconds(size_t point) const {
    return point < seconds_.size() ? seconds_[point] : 0;
  }

 private:
  const uint64_t most_steps_;
  Progress progress_;
  Clock::time_point last_;
  std::vector<double> seconds_;
  std::map<size_t, uint64_t> steps_;
  uint64_t shown_ = 0;
};

absl::StatusOr<LabelledResult> Learn(const Run& run, LabelledReport* report) {
  LabelledTask task{.training = run.training,
                    .validation = run.validation,
                    .parallel_for = ThreadsOf(run),
                    .train_trees = &TrainTrees};
  if (run.trusted.has_value()) {
    const auto& weights = run.options.trusted_order().weight();
    task.trusted_orders = &*run.trusted;
    task.trusted_weights = {weights.begin(), weights.end()};
    *report->mutable_trusted_order() = run.trusted_report;
  }
  PointClock clock(*run.learner,
                   run.learner->num_points() *
                       std::max(size_t{1}, task.trusted_weights.size()));
  task.on_step = [&clock](size_t point) { clock.Step(point); };
  ASSIGN_OR_RETURN(LabelledResult result, run.learner->Train(task));
  for (size_t p = 0; p < result.points.size(); ++p) {
    AddPoint(result.points[p], clock.seconds(p), report);
  }
  report->mutable_points(static_cast<int>(result.chosen))->set_chosen(true);
  if (!result.note.empty()) report->set_note(result.note);
  report->set_gap_tolerance(result.points[result.chosen].gap_tolerance.value_or(
      run.learner->gap_tolerance()));
  if (!result.standard_errors.empty()) {
    report->mutable_weights()->Add(result.weights.begin(),
                                   result.weights.end());
    report->mutable_standard_errors()->Add(result.standard_errors.begin(),
                                           result.standard_errors.end());
  }
  return result;
}

// Makes the model. The constant's weight is the negated threshold, except that
// in a label_chain each label has its own weights.
absl::StatusOr<model::v1::Model> MakeModel(const Run& run,
                                           LabelledResult result,
                                           LabelledReport* report) {
  double threshold = 0;
  if (run.data.has_constant) {
    threshold = -result.weights.back();
    result.weights.pop_back();
    report->set_threshold(threshold);
  }
  const std::string setting = result.points[result.chosen].setting;
  LabelledPolicyTask task = run.PolicyTask();
  task.threshold = threshold;
  task.transitions = std::move(result.transitions);
  model::v1::Model model;
  model.set_name(run.options.model());
  ASSIGN_OR_RETURN(*model.mutable_policy(), run.learner->MakePolicy(task));
  PutIntoFrame(run.data.frame,
               model.policy().has_label_chain()
                   ? run.data.shape.num_features
                   : static_cast<uint32_t>(result.weights.size()),
               &model);
  model.mutable_weights()->Add(result.weights.begin(), result.weights.end());
  if (run.learner->has_temperature()) {
    const auto& grid = run.options.inverse_temperature();
    ASSIGN_OR_RETURN(const double alpha,
                     ChooseTemperature({.queries = run.validation,
                                        .measure = MeasureOfAction(run),
                                        .model = model,
                                        .grid = {grid.begin(), grid.end()},
                                        .parallel_for = ThreadsOf(run)},
                                       report));
    model.mutable_policy()->set_inverse_temperature(alpha);
  }
  model::v1::Provenance* provenance = model.mutable_provenance();
  provenance->set_learner(run.options.learner());
  provenance->set_options(run.options.ShortDebugString());
  provenance->set_created_time_us(absl::ToUnixMicros(absl::Now()));
  provenance->set_num_tuples(run.training.size());
  provenance->set_comment(setting);
  return model;
}

void FillCounts(const Run& run, TrainReport* report) {
  report->set_model(run.options.model());
  if (!run.data.drafted_features.empty()) {
    report->set_drafted_features(run.data.drafted_features);
  }
  LabelledReport* labelled = report->mutable_labelled();
  labelled->set_learner(run.options.learner());
  labelled->set_action(run.action == ActionKind::kSelect ? "select"
                       : run.action == ActionKind::kRank ? "rank"
                                                         : "label");
  labelled->set_measure(MeasureOfAction(run).Name());
  labelled->set_validation_measure(run.learner->validation_name());
  labelled->set_training_queries(run.training.size());
  labelled->set_validation_queries(run.validation.size());
  labelled->set_test_queries(run.test.size());
  labelled->set_candidates(run.data.num_candidates);
  labelled->set_num_features(run.data.shape.num_features);
  labelled->set_part(run.test.empty() ? "validation" : "test");
  labelled->mutable_assumptions()->Add(run.data.assumptions.begin(),
                                       run.data.assumptions.end());
}

// Checks trees that were imported: against their library, and against chance.
absl::Status CheckImport(const Run& run, LabelledReport* report) {
  if (!run.options.check_scores().empty()) {
    ASSIGN_OR_RETURN(std::string equal, CheckTreeScores(run.options, run.data));
    LabelledReport::Assumption& checked = *report->add_assumptions();
    checked.set_option("check_scores");
    checked.set_sentence(std::move(equal));
  }
  std::string warning = WarnIfNoBetterThanChance(run.options, run.data);
  if (!warning.empty()) report->add_warnings(std::move(warning));
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateLabelledTraining(const TrainOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  if (options.rollout()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rollout is true, must be false for learner ", options.learner(),
        "; begin one with `sortition-trainer rollout --start` instead"));
  }
  const double held =
      (options.validation_size() > 0 ? 0 : options.validation_fraction()) +
      (options.test_size() > 0 ? 0 : options.test_fraction());
  if (held >= 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "validation_fraction + test_fraction is ", held, ", must be below 1"));
  }
  return options.has_trusted_order() ? CheckTrustedOrder(options)
                                     : absl::OkStatus();
}

absl::StatusOr<TrainReport> TrainLabelled(const TrainOptions& options,
                                          const LearnerInfo& learner,
                                          RunTrace* trace) {
  const auto start = Clock::now();
  trace->BeginPhase("read");
  RETURN_IF_ERROR(ValidateLabelledTraining(options));
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const Incumbent incumbent,
                   FindIncumbent(options.model(), store));
  ASSIGN_OR_RETURN(const std::optional<StoredModel> serving,
                   LoadIfAny(options.model(), incumbent.serving, store));
  ASSIGN_OR_RETURN(Run run, Prepare(options, learner, serving));
  TrainReport report;
  FillCounts(run, &report);
  LabelledReport* labelled = report.mutable_labelled();
  RETURN_IF_ERROR(CheckImport(run, labelled));
  trace->BeginPhase("fit");
  ASSIGN_OR_RETURN(LabelledResult learned, Learn(run, labelled));
  if (learned.trees.has_value()) {
    RETURN_IF_ERROR(AppendTrees(*learned.trees, &run.data));
    MakeViews(&run);
  }
  ASSIGN_OR_RETURN(const model::v1::Model model,
                   MakeModel(run, std::move(learned), labelled));
  trace->BeginPhase("gate");
  ASSIGN_OR_RETURN(
      const bool passed,
      PassesGate(
          {.queries = run.test.empty() ? run.validation : run.test,
           .rows = run.test.empty() ? run.data.validation : run.data.test,
           .data = run.data,
           .measure = MeasureOfAction(run),
           .model = model,
           .old = serving,
           .confidence = options.confidence(),
           .parallel_for = ThreadsOf(run)},
          labelled));
  const bool publish = !options.dry_run() && (passed || options.force());
  report.set_gate_passed(passed);
  model::v1::Evaluation* evaluation = report.mutable_evaluation();
  *evaluation = ToEvaluation(*labelled);
  evaluation->set_promoted(publish);
  std::string verdict = LabelledVerdict(options, *labelled, passed);
  if (const std::string why = WhyNotServing(options.model(), incumbent);
      publish && !why.empty()) {
    absl::StrAppend(&verdict, " ", why);
  }
  evaluation->set_verdict(std::move(verdict));
  if (publish) {
    trace->BeginPhase("publish");
    if (!options.force()) {
      RETURN_IF_ERROR(CheckUnchanged(options.model(), store, incumbent));
    }
    ASSIGN_OR_RETURN(
        const uint64_t version,
        store.Publish(
            model, evaluation,
            WarmupQueries(run.data, model, run.options.warmup_queries())));
    report.set_version(version);
  }
  report.set_seconds(SecondsSince(start));
  return report;
}

}  // namespace sortition
