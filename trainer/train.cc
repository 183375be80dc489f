#include "trainer/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "io/models/look_ledger.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/threads.h"
#include "trainer/labelled/labelled_train.h"
#include "trainer/labelled/learner_choice.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/offpolicy/option_checks.h"
#include "trainer/offpolicy/train_data.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;

absl::Status ValidateTrainOptions(const TrainOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(ValidatePartsAndRewards(options));
  constexpr double kLeastFraction = 0.01;
  if (options.test_fraction() < kLeastFraction) {
    return absl::InvalidArgumentError(absl::StrCat(
        "test_fraction is ", options.test_fraction(), ", must be at least ",
        kLeastFraction, " for learner ", options.learner()));
  }
  RETURN_IF_ERROR(ValidatePoemOptions(options.poem()));
  if (!options.action().empty() && options.action() != "select" &&
      options.action() != "rank" && options.action() != "label" &&
      options.action() != "labels") {
    return absl::InvalidArgumentError(
        absl::StrCat("action is '", options.action(),
                     "', must be select, rank, label or labels"));
  }
  return absl::OkStatus();
}

absl::Status CheckRewardsDiffer(const TrainOptions& options,
                                const TrainData& data) {
  const std::vector<double> shown = data.ShownLosses();
  const std::set<double> losses(shown.begin(), shown.end());
  if (losses.size() > 1) return absl::OkStatus();
  if (losses.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("none of the ", data.num_train(),
                     " training tuples has an action that was shown: nothing "
                     "can be learned"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "all ", data.num_train(), " training tuples have the reward ",
      LossToReward(*losses.begin(), options.reward_min(), options.reward_max()),
      ": nothing tells a good action from a bad one; is feedback reported?"));
}

absl::Status CheckLearnable(const TrainOptions& options, uint64_t baseline,
                            const TrainData& data) {
  const size_t train = data.num_train();
  const size_t validation = data.num_validation();
  const size_t test = data.num_test();
  const size_t usable = train + validation + test;
  if (usable == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no tuple of model '", options.model(), "' in ", options.tuples(),
        " can be used (", data.counts().DescribeExclusions(), ")"));
  }
  if (std::min({train, validation, test}) < kFewestTuples) {
    return absl::FailedPreconditionError(absl::StrCat(
        "too few tuples: ", train, " to train and, of version ", baseline, ", ",
        validation, " to validate, ", test, " to test, must be at least ",
        kFewestTuples, " each (", data.counts().DescribeExclusions(),
        "); version ", baseline, " of model '", options.model(),
        "' is the one to be replaced: a new "
        "one is compared on its tuples only, but for --force"));
  }
  return CheckRewardsDiffer(options, data);
}

// Returns the parameters of the newest policy that logged; empty if it is not
// in the store or not of the family.
Eigen::VectorXd ParentStart(const TrainOptions& options,
                            const ModelStore& store, const TrainData& data) {
  const uint64_t version = data.counts().newest_version;
  if (version == 0) return {};
  const absl::StatusOr<StoredModel> parent =
      store.Load(options.model(), version);
  if (!parent.ok()) return {};
  return data.ParametersOf(parent->model).value_or(Eigen::VectorXd());
}

std::string Verdict(const TrainOptions& options, uint64_t baseline,
                    const TupleCounts& data,
                    const model::v1::Evaluation& evaluation, bool passed) {
  const auto& improvement = evaluation.improvement();
  const std::string odds =
      absl::StrFormat("%g %% confidence", 100 * options.confidence());
  const std::string result = options.dry_run() ? "Nothing published (dry run)"
                             : passed          ? "Published"
                             : options.force() ? "Published by --force"
                                               : "Not published";
  if (!data.evaluates_baseline) {
    return absl::StrFormat(
        "%s: there are too few tuples of version %d, which would be replaced; "
        "the estimates compare with all versions that logged (improvement "
        "%.4g, at least %.4g with %s).",
        result, baseline, improvement.value(), improvement.lower(), odds);
  }
  if (ContradictsItself(evaluation)) {
    return absl::StrFormat(
        "%s: no interval of this log holds (improvement %.4g, at least %.4g "
        "with %s, were its propensities right).",
        result, improvement.value(), improvement.lower(), odds);
  }
  if (passed) {
    return absl::StrFormat(
        "%s: with %s the new policy earns at least %.4g more per decision than "
        "the logging policy (estimate %.4g).",
        result, odds, improvement.lower(), improvement.value());
  }
  return absl::StrFormat(
      "%s: with %s the new policy could earn %.4g less per decision than the "
      "logging policy (estimate %.4g); more tuples narrow the interval.",
      result, odds, -improvement.lower(), improvement.value());
}

model::v1::Model MakeModel(const TrainOptions& options, const TrainData& data,
                           const Eigen::VectorXd& parameters) {
  model::v1::Model model;
  model.set_name(options.model());
  data.SetPolicy(parameters, &model);
  model::v1::Provenance* provenance = model.mutable_provenance();
  provenance->set_learner("poem");
  provenance->set_options(options.ShortDebugString());
  provenance->set_created_time_us(absl::ToUnixMicros(absl::Now()));
  provenance->set_num_tuples(data.num_train());
  provenance->set_parent_version(data.counts().newest_version);
  return model;
}

// Notes that the test part is about to be looked at.
absl::StatusOr<uint64_t> NoteLook(const TrainOptions& options,
                                  uint64_t baseline) {
  LookLedger ledger(options.model_store(), options.model());
  const absl::StatusOr<uint64_t> look = ledger.Begin(baseline);
  if (look.ok() || !options.dry_run()) return look;
  // Nothing is published: who may only read the store may look all the same.
  LogWarning("this look at the test part cannot be noted",
             {{"error", std::string(look.status().message())}});
  return ledger.NextNumber(baseline);
}

// Notes what came of it.
absl::Status NoteOutcome(const TrainOptions& options, uint64_t baseline,
                         const model::v1::Evaluation& evaluation) {
  model::v1::Look look;
  look.set_baseline_version(baseline);
  look.set_number(evaluation.look());
  look.set_test_tuples(evaluation.test_tuples());
  look.set_test_units(evaluation.test_units());
  *look.mutable_improvement() = evaluation.improvement();
  look.set_verdict(evaluation.verdict());
  const absl::Status status =
      LookLedger(options.model_store(), options.model()).End(look);
  return options.dry_run() ? absl::OkStatus() : status;
}

// Learns and evaluates; fills the report except for the version.
absl::StatusOr<model::v1::Model> Learn(const TrainOptions& options,
                                       const ModelStore& store,
                                       uint64_t baseline, const TrainData& data,
                                       TrainReport* report) {
  absl::StatusOr<GridOutcome> learned =
      TrainGrid({.data = &data,
                 .options = options.poem(),
                 .parent_start = ParentStart(options, store, data),
                 .confidence = options.confidence(),
                 .parallel = OnThreads(options.poem().threads()),
                 .start_progress = ShowProgress});
  // If both failed, the read error is the cause.
  RETURN_IF_ERROR(data.ReadStatus());
  ASSIGN_OR_RETURN(const GridOutcome grid, std::move(learned));
  ASSIGN_OR_RETURN(const WeightedParts parts, data.Weigh(grid.parameters));
  RETURN_IF_ERROR(data.ReadStatus());
  ASSIGN_OR_RETURN(const uint64_t look, NoteLook(options, baseline));
  *report->mutable_evaluation() = Evaluate({.parts = parts,
                                            .confidence = options.confidence(),
                                            .reward_min = options.reward_min(),
                                            .reward_max = options.reward_max(),
                                            .train_clip = grid.clip,
                                            .num_policies = grid.points.size(),
                                            .look = look});
  if (std::isfinite(grid.clip)) report->set_train_clip(grid.clip);
  model::v1::Evaluation* evaluation = report->mutable_evaluation();
  for (const auto& point : grid.points) {
    *evaluation->add_grid() =
        InRewardUnits(point, options.reward_min(), options.reward_max());
  }
  return MakeModel(options, data, grid.parameters);
}

void FillCounts(const TrainData& data, TrainReport* report) {
  const TupleCounts& counts = data.counts();
  report->set_parent_version(counts.newest_version);
  report->set_read_tuples(counts.read_tuples);
  report->set_kept_fraction(counts.kept_fraction);
  report->set_spilled_bytes(counts.spilled_bytes);
  if (counts.spilled_bytes > 0) report->set_scratch(counts.scratch);
  report->set_shown_otherwise(data.shown_otherwise());
  report->set_corrupt_records(counts.damage.corrupt_records);
  for (const auto& [reason, count] : counts.excluded) {
    (*report->mutable_excluded())[reason] = count;
  }
  for (const auto& [policy, count] : counts.without_full_support) {
    (*report->mutable_without_full_support())[policy] = count;
  }
}

absl::StatusOr<TrainReport> TrainFromTuples(const TrainOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(ValidateTrainOptions(options));
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const std::optional<StoredModel> newest,
                   LoadNewest(options.model(), store));
  const uint64_t baseline = newest.has_value() ? newest->model.version() : 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainData> read,
                   ReadTrainData(options, newest));
  const TrainData& data = *read;
  const TupleCounts& counts = data.counts();
  RETURN_IF_ERROR(CheckLearnable(options, baseline, data));

  TrainReport report;
  report.set_model(options.model());
  FillCounts(data, &report);
  ASSIGN_OR_RETURN(const model::v1::Model model,
                   Learn(options, store, baseline, data, &report));
  model::v1::Evaluation* evaluation = report.mutable_evaluation();
  evaluation->set_train_tuples(data.num_train());
  evaluation->set_excluded_tuples(counts.excluded_tuples());
  // The bound accounts for small overlap, but not for wrong propensities.
  const bool passed = counts.evaluates_baseline &&
                      evaluation->improvement().lower() > 0 &&
                      !ContradictsItself(*evaluation);
  const bool publish = !options.dry_run() && (passed || options.force());
  report.set_gate_passed(passed);
  evaluation->set_promoted(publish);
  evaluation->set_verdict(WithReservation(
      Verdict(options, baseline, counts, *evaluation, passed), *evaluation));
  if (publish) {
    if (!options.force()) {
      RETURN_IF_ERROR(CheckStillNewest(options.model(), store, baseline));
    }
    ASSIGN_OR_RETURN(const uint64_t version,
                     store.Publish(model, evaluation, data.Warmup()));
    report.set_version(version);
  }
  RETURN_IF_ERROR(NoteOutcome(options, baseline, *evaluation));
  report.set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  return report;
}

}  // namespace

absl::StatusOr<TrainReport> Train(const TrainOptions& given) {
  ASSIGN_OR_RETURN(const LearnerInfo learner, ChooseLearner(given));
  if (learner.make_labelled != nullptr) return TrainLabelled(given, learner);
  TrainOptions options = given;
  if (options.has_threads() && !options.poem().has_threads()) {
    options.mutable_poem()->set_threads(options.threads());
  }
  return TrainFromTuples(options);
}

}  // namespace sortition
