#include "trainer/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/features/schema/schema.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "google/protobuf/util/message_differencer.h"
#include "io/models/look_ledger.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/threads.h"
#include "trainer/frames/model_frame.h"
#include "trainer/gate.h"
#include "trainer/labelled/labelled_train.h"
#include "trainer/labelled/learner_choice.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/offpolicy/forecast.h"
#include "trainer/offpolicy/guardrails.h"
#include "trainer/offpolicy/learnable.h"
#include "trainer/offpolicy/learner_options.h"
#include "trainer/offpolicy/look_schedule.h"
#include "trainer/offpolicy/option_checks.h"
#include "trainer/offpolicy/train_data.h"
#include "trainer/rollout/rollout_train.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;

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

// Whether servers would do the same with both.
bool IsSamePolicy(const model::v1::Model& a, const model::v1::Model& b) {
  return IsSameFrame(a, b) &&
         std::equal(a.weights().begin(), a.weights().end(), b.weights().begin(),
                    b.weights().end()) &&
         google::protobuf::util::MessageDifferencer::Equals(a.policy(),
                                                            b.policy());
}

// Notes that the test part is about to be looked at. Returns 0 where a dry run
// may only read the store: what cannot be counted is not looked at.
absl::StatusOr<uint64_t> NoteLook(const TrainOptions& options,
                                  const TrainData& data) {
  LookLedger ledger(options.model_store(), options.model());
  const absl::StatusOr<uint64_t> look =
      ledger.Begin(data.counts().baseline_version, data.num_test());
  if (look.ok() || !options.dry_run()) return look;
  LogWarning("a look at the test part cannot be noted",
             {{"error", std::string(look.status().message())}});
  return 0;
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

// Reads the tuples again with the features of `served`. Returns null if `data`
// has these features.
absl::StatusOr<std::unique_ptr<TrainData>> ReadAs(const TrainOptions& options,
                                                  const StoredModel& served,
                                                  const TrainData& data) {
  if (data.ParametersOf(served.model).has_value()) return nullptr;
  TrainOptions plain = WithoutRankRewards(options);
  plain.clear_features();
  plain.clear_word_vectors();
  plain.clear_trees();
  plain.clear_hidden_units();
  return ReadTrainData(plain, served);
}

// Reads the tuples again as ReadAs(), for the version that logged them. If they
// do not fit that version, which is then of another kind, the missing mass is
// not known and guardrails have wider intervals. Returns null then; all other
// errors are returned.
absl::StatusOr<std::unique_ptr<TrainData>> ReadForMissingMass(
    const TrainOptions& options, const StoredModel& logging,
    const TrainData& data) {
  auto read = ReadAs(options, logging, data);
  if (!absl::IsFailedPrecondition(read.status()) &&
      !absl::IsInvalidArgument(read.status())) {
    return read;
  }
  LogWarning(
      "guardrails reckon without the probabilities of the version that logged",
      {{"version", logging.model.version()},
       {"reason", std::string(read.status().message())}});
  return nullptr;
}

// A version of the store on the test part, or why it cannot be compared.
struct ServedComparison {
  std::optional<WeightedParts> parts = {};
  std::string why_not = {};
};

// Weighs the tuples for a version of the store. Where it makes other features
// than what is learned, the tuples are read again with its own. `test` has the
// test part of `data`: other features may leave out other decisions, also as
// many of them.
absl::StatusOr<ServedComparison> WeighServed(const TrainOptions& options,
                                             const StoredModel& served,
                                             const TrainData& data,
                                             const WeightedTuples& test) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainData> read,
                   ReadAs(options, served, data));
  const TrainData* const own = read == nullptr ? &data : read.get();
  const std::optional<Eigen::VectorXd> parameters =
      own->ParametersOf(served.model);
  if (!parameters.has_value()) {
    return ServedComparison{
        .why_not =
            "its kind of policy is not one that is learned from tuples, "
            "so that its probabilities on the log are not known"};
  }
  if (!own->counts().absent_columns.empty()) {
    return ServedComparison{
        .why_not = absl::StrCat("decisions lack the column '",
                                own->counts().absent_columns.begin()->first,
                                "', which it reads")};
  }
  if (own->num_test() != data.num_test()) {
    return ServedComparison{
        .why_not =
            absl::StrCat("of the ", data.num_test(), " test decisions, ",
                         own->num_test(), " are usable with its features")};
  }
  ASSIGN_OR_RETURN(WeightedParts parts, own->Weigh(*parameters));
  RETURN_IF_ERROR(own->ReadStatus());
  if (!AreOfSameDecisions(parts.test, test)) {
    return ServedComparison{
        .why_not = absl::StrCat(
            "with its features other test decisions are usable, although ",
            "as many (", test.size(), ")")};
  }
  return ServedComparison{.parts = std::move(parts)};
}

// Returns true if a ranking or selection takes every candidate with the same
// probability: all scores are 0, and it cannot abstain.
bool IsUniform(const model::v1::Model& model) {
  const model::v1::Policy& policy = model.policy();
  const bool chooses_by_score =
      policy.has_plackett_luce() || policy.has_boltzmann_ranking() ||
      (policy.has_softmax_selection() &&
       !policy.softmax_selection().has_abstain_score());
  return chooses_by_score &&
         std::all_of(model.weights().begin(), model.weights().end(),
                     [](double weight) { return weight == 0; });
}

// Returns the effective sample size of the chosen point on the validation part.
double EffectiveValidation(const GridOutcome& grid) {
  const auto chosen =
      std::find_if(grid.points.begin(), grid.points.end(),
                   [](const auto& point) { return point.chosen(); });
  CHECK(chosen != grid.points.end());
  return chosen->effective_sample_size();
}

// A trained policy, and the weights of the tuples under it.
struct LearnedPolicy {
  const Eigen::VectorXd& parameters;
  const WeightedParts& parts;
};

// Adds the guardrails at the confidence of the improvement.
absl::Status AddGuardrails(const TrainOptions& options, const ModelStore& store,
                           const TrainData& data, const LearnedPolicy& learned,
                           TrainReport* report) {
  const std::vector<GuardedReward> guarded = data.guarded();
  if (guarded.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::optional<StoredModel> logging,
      LoadIfAny(options.model(), data.counts().baseline_version, store));
  std::optional<model::v1::Model> model;
  std::unique_ptr<TrainData> read;
  if (logging.has_value()) {
    model = logging->model;
    ASSIGN_OR_RETURN(read, ReadForMissingMass(options, *logging, data));
  }
  const TrainData* const logged = read == nullptr ? &data : read.get();
  const std::vector<MissingMass> missing =
      data.MissingMassOfTest(learned.parameters, model, *logged);
  RETURN_IF_ERROR(data.ReadStatus());
  RETURN_IF_ERROR(logged->ReadStatus());
  model::v1::Evaluation* const evaluation = report->mutable_evaluation();
  for (model::v1::Guardrail& guardrail : JudgeGuardrails(
           guarded, {.test = learned.parts.test,
                    .missing = missing,
                    .largest_unit = static_cast<double>(
                        LargestUnit(learned.parts.validation.units)),
                    .confidence = evaluation->improvement().confidence()})) {
    *evaluation->add_guardrails() = std::move(guardrail);
  }
  return absl::OkStatus();
}

// Forecasts how much log the gate needs if it was not asked yet, or did not
// pass. Reads no reward of a test part that was not looked at.
void AddForecast(const TrainOptions& options, const TrainData& data,
                 const WeightedParts& parts, TrainReport* report) {
  const auto& evaluation = report->evaluation();
  const auto& deferred = report->deferred_look();
  const bool looked = report->test_looked_at();
  const uint64_t test_tuples =
      looked ? evaluation.decisions_needed() : deferred.likely_tuples();
  const uint64_t look = looked ? evaluation.look() : deferred.look();
  const double failure = (1 - options.confidence()) / 2;
  // Sets of labels have neither units nor times.
  Arrivals arrivals = data.counts().arrivals;
  if (arrivals.decisions == 0) {
    arrivals.decisions = arrivals.units =
        data.num_train() + data.num_validation() + data.num_test();
  }
  if (test_tuples > 0) {
    const double units_per_tuple =
        static_cast<double>(evaluation.test_units()) /
        static_cast<double>(data.num_test());
    *report->mutable_forecast() = MakeForecast(
        {.part = looked ? parts.test : parts.validation,
         .improvement = looked ? evaluation.improvement()
                               : report->validation_improvement(),
         .largest_unit =
             static_cast<double>(LargestUnit(parts.validation.units)),
         .reward_range = options.reward_max() - options.reward_min(),
         .failure_probability = failure * ShareOfLook(look + 1),
         .test_units = evaluation.test_units(),
         .min_test_units = static_cast<uint64_t>(
             std::ceil(units_per_tuple * static_cast<double>(test_tuples))),
         .test_fraction = options.test_fraction(),
         .arrivals = arrivals});
    return;
  }
  if (report->has_deferred_look() || ContradictsItself(evaluation) ||
      (looked && evaluation.improvement().lower() > 0)) {
    return;
  }
  double improvement = 0;
  const uint64_t units = UnitsToDouble(parts.validation, failure,
                                       options.test_fraction(), &improvement);
  if (units <= arrivals.units) return;
  report->set_units_to_double(units);
  report->set_improvement_to_show(
      improvement * (options.reward_max() - options.reward_min()));
}

// Learns and evaluates; fills the report except for the version.
absl::StatusOr<model::v1::Model> Learn(const TrainOptions& options,
                                       const ModelStore& store,
                                       const std::optional<StoredModel>& newest,
                                       const TrainData& data, RunTrace* trace,
                                       TrainReport* report) {
  trace->BeginPhase("fit");
  ASSIGN_OR_RETURN(const Eigen::VectorXd prior, PriorOf(options, store, data));
  absl::StatusOr<GridOutcome> learned =
      TrainGrid({.data = &data,
                 .options = LearnerOptions(options, data),
                 .parent_start = ParentStart(options, store, data),
                 .prior = prior,
                 .confidence = options.confidence(),
                 .parallel = OnThreads(options.poem().threads()),
                 .start_progress = ShowProgress});
  // If both failed, the read error is the cause.
  RETURN_IF_ERROR(data.ReadStatus());
  ASSIGN_OR_RETURN(const GridOutcome grid, std::move(learned));
  trace->BeginPhase("validate");
  ASSIGN_OR_RETURN(const WeightedParts parts, data.Weigh(grid.parameters));
  RETURN_IF_ERROR(data.ReadStatus());
  EvaluationTask task{.parts = parts,
                      .confidence = options.confidence(),
                      .reward_min = options.reward_min(),
                      .reward_max = options.reward_max(),
                      .train_clip = grid.clip,
                      .num_policies = grid.points.size()};
  *report->mutable_validation_improvement() = ValidationImprovement(task);
  report->set_keeps_parent(grid.keeps_parent);
  // What does not even convince validation would waste a look. What force
  // publishes has no looks yet itself.
  model::v1::Model model = MakeModel(options, data, grid.parameters);
  const bool is_unchanged =
      newest.has_value() && IsSamePolicy(model, newest->model);
  report->set_is_unchanged(is_unchanged);
  // A policy that chooses at random may earn more than a bad one, but whoever
  // published it would serve it to all users.
  const bool promises = !is_unchanged && !IsUniform(model) &&
                        !grid.keeps_parent && grid.moved &&
                        report->validation_improvement().value() > 0;
  report->set_validation_promises(promises);
  const bool forces = options.force() && !options.dry_run();
  if (promises && !forces) {
    const auto deferred = DeferLook(
        options, data.counts(),
        {data.num_validation(), data.num_test(), EffectiveValidation(grid)},
        report->validation_improvement());
    if (deferred.has_value()) *report->mutable_deferred_look() = *deferred;
  }
  trace->BeginPhase("gate");
  if (forces || (promises && !report->has_deferred_look())) {
    ASSIGN_OR_RETURN(task.look, NoteLook(options, data));
  }
  const bool looks = task.look > 0;
  report->set_test_looked_at(looks);
  *report->mutable_evaluation() =
      looks ? Evaluate(task) : EvaluateBeforeTest(task);
  // The mean reward of the test part is not that of the version which would be
  // replaced: another logged, or the caller's baseline had a part.
  if (looks && newest.has_value() &&
      (newest->model.version() != data.counts().baseline_version ||
       data.counts().judged_with_baseline > 0)) {
    ASSIGN_OR_RETURN(const ServedComparison served,
                     WeighServed(options, *newest, data, parts.test));
    if (served.parts.has_value()) {
      *report->mutable_improvement_over_newest() =
          ImprovementOver(task, served.parts->test);
    } else {
      report->set_why_not_compared(served.why_not);
    }
  }
  if (looks) {
    RETURN_IF_ERROR(
        AddGuardrails(options, store, data, {grid.parameters, parts}, report));
    for (const GuardedReward& reward : data.guarded()) {
      auto* const coverage = report->add_reward_coverage();
      coverage->set_reward(reward.name);
      coverage->set_judged(reward.num_judged());
      coverage->set_not_judged(reward.of_test.size() - reward.num_judged());
      coverage->set_period(reward.period);
    }
  }
  if (std::isfinite(grid.clip)) report->set_train_clip(grid.clip);
  model::v1::Evaluation* evaluation = report->mutable_evaluation();
  if (grid.left_log.has_value()) AddLeftLog(*grid.left_log, evaluation);
  if (looks) {
    evaluation->set_decisions_needed(
        DecisionsNeeded(*evaluation, options.confidence()));
  }
  AddForecast(options, data, parts, report);
  for (const auto& point : grid.points) {
    *evaluation->add_grid() =
        InRewardUnits(point, options.reward_min(), options.reward_max());
  }
  return model;
}

// Whoever overrides one policy otherwise than another breaks the premise of
// kIntentToTreat.
void AddOverrideFinding(const TrainOptions& options, const TupleCounts& counts,
                        model::v1::Evaluation* evaluation) {
  const std::optional<std::string> warning = counts.overridden.Warning();
  if (!warning.has_value() || options.overrides() != "intent_to_treat") return;
  model::v1::Finding* finding = evaluation->add_findings();
  finding->set_gravity(model::v1::Finding::UNSUPPORTED);
  finding->set_part("test");
  finding->set_kind("overrides_depend_on_version");
  finding->set_sentence(*warning);
  SortFindings(evaluation);
}

// A baseline that always does the same leaves nothing to learn from.
void AddBaselineFinding(const TupleCounts& counts,
                        model::v1::Evaluation* evaluation) {
  if (counts.certain_baseline == 0) return;
  const uint64_t all = evaluation->train_tuples() +
                       evaluation->validation_tuples() +
                       evaluation->test_tuples();
  model::v1::Finding* finding = evaluation->add_findings();
  finding->set_gravity(2 * counts.certain_baseline > all
                           ? model::v1::Finding::UNSUPPORTED
                           : model::v1::Finding::CAUTION);
  finding->set_part("test");
  finding->set_kind("certain_baseline");
  finding->set_sentence(absl::StrCat(
      "In ", counts.certain_baseline, " of ", all,
      " decisions the caller's baseline decided, and it gave no propensity of "
      "its own: nothing is known of any other action, and no policy can be "
      "shown to be better. Mode EXPLORE_ABOVE_BASELINE, or "
      "context.baseline.log_propensity of a caller that draws, logs what can "
      "be learned from."));
  SortFindings(evaluation);
}

// NotFound if no tuple has a column that the features read: its name is
// misspelt, or callers no longer send it.
absl::Status CheckColumnsAreThere(const TupleCounts& counts) {
  for (const auto& [column, count] : counts.absent_columns) {
    if (count < counts.tuples_with_columns) continue;
    return absl::NotFoundError(absl::StrCat(
        "features: none of the ", count, " decisions has the column '", column,
        "'; correct its name, remove it (--features), or declare what its "
        "absence means (if_absent, such as missing: true)"));
  }
  return absl::OkStatus();
}

// Declares in the schema of `model` what training assumed of columns that the
// log lacks, so that the version serves as it was trained. Fewer than one
// decision in a hundred change nothing: requests must keep the column.
void DeclareAbsentColumns(const TupleCounts& counts, model::v1::Model* model) {
  constexpr double kShare = 0.01;
  if (counts.absent_columns.empty()) return;
  model::v1::Features& features = *model->mutable_features();
  model::v1::Schema& schema = *features.mutable_spec()->mutable_schema();
  for (model::v1::ColumnSchema& column : *schema.mutable_column()) {
    const auto found = counts.absent_columns.find(column.name());
    if (found == counts.absent_columns.end()) continue;
    if (static_cast<double>(found->second) >
        kShare * static_cast<double>(counts.tuples_with_columns)) {
      column.set_missing(true);
    }
  }
  const absl::StatusOr<Schema> declared = Schema::Create(schema);
  CHECK(declared.ok());
  features.set_schema_hash(declared->hash());
}

void FillCounts(const TrainOptions& options, const TrainData& data,
                TrainReport* report) {
  const TupleCounts& counts = data.counts();
  report->set_parent_version(counts.newest_version);
  report->set_overrides(options.overrides());
  if (counts.orders > 0) {
    report->set_logged_ranks(counts.mean_logged_ranks());
    report->set_counted_ranks(counts.mean_counted_ranks());
    report->set_ranks(counts.ranks);
  }
  if (NeedsOf(options.poem()).any()) {
    report->set_rank_rewards(RankOptionText(options.poem()));
    report->set_with_rank_rewards(counts.with_rank_rewards);
    report->set_orders_as_one(counts.orders_as_one);
  }
  if (!data.drafted_features().empty()) {
    report->set_drafted_features(data.drafted_features());
  } else if (options.features().empty()) {
    for (std::string& column : UnreadColumns(counts)) {
      report->add_unread_columns(std::move(column));
    }
  }
  report->set_read_tuples(counts.read_tuples);
  report->set_kept_fraction(counts.kept_fraction);
  report->set_spilled_bytes(counts.spilled_bytes);
  if (counts.spilled_bytes > 0) report->set_scratch(counts.scratch);
  report->set_baseline_version(counts.baseline_version);
  report->set_shown_otherwise(counts.overridden.count());
  report->set_corrupt_records(counts.damage.corrupt_records);
  for (const auto& [reason, count] : counts.excluded) {
    (*report->mutable_excluded())[reason] = count;
  }
  for (const auto& [policy, count] : counts.without_full_support) {
    (*report->mutable_without_full_support())[policy] = count;
  }
  for (const auto& [column, count] : counts.absent_columns) {
    (*report->mutable_absent_columns())[column] = count;
  }
}

// Reads the tuples, with rewards by rank if these are to be learned from. If
// the options leave that open, and the rewards cannot be ascribed to ranks
// after all, they are read as those of whole orders. Sets rank_weights.
absl::StatusOr<std::unique_ptr<TrainData>> ReadForLearning(
    const std::optional<StoredModel>& newest, TrainOptions* options) {
  ASSIGN_OR_RETURN(const bool from_prefixes,
                   LearnsFromPrefixes(*options, newest));
  if (!from_prefixes) return ReadTrainData(*options, newest);
  TrainOptions by_rank = *options;
  by_rank.mutable_poem()->set_rank_weights(config::v1::PoemOptions::PREFIXES);
  auto read = ReadTrainData(by_rank, newest);
  if (absl::IsInvalidArgument(read.status()) ||
      absl::IsFailedPrecondition(read.status())) {
    auto as_one = ReadTrainData(*options, newest);
    if (!as_one.ok()) return as_one;
    LogWarning("rewards are not learned from by rank",
               {{"reason", std::string(read.status().message())}});
    return as_one;
  }
  if (read.ok()) *options = by_rank;
  return read;
}

absl::StatusOr<TrainReport> TrainFromTuples(TrainOptions options,
                                            RunTrace* trace) {
  const auto start = std::chrono::steady_clock::now();
  trace->BeginPhase("read");
  RETURN_IF_ERROR(ValidateTupleTraining(options));
  RETURN_IF_ERROR(CheckTrainRollout(options));
  const ModelStore store(options.model_store());
  RETURN_IF_ERROR(CheckPrior(options, store));
  ASSIGN_OR_RETURN(const Incumbent incumbent,
                   FindIncumbent(options.model(), store));
  const uint64_t baseline =
      options.baseline() == "newest" ? incumbent.newest : incumbent.serving;
  ASSIGN_OR_RETURN(const std::optional<StoredModel> newest,
                   LoadIfAny(options.model(), baseline, store));
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainData> read,
                   ReadForLearning(newest, &options));
  const TrainData& data = *read;
  const TupleCounts& counts = data.counts();
  RETURN_IF_ERROR(CheckColumnsAreThere(counts));
  RETURN_IF_ERROR(CheckLearnable(options, data));

  TrainReport report;
  report.set_model(options.model());
  FillCounts(options, data, &report);
  ASSIGN_OR_RETURN(model::v1::Model model,
                   Learn(options, store, newest, data, trace, &report));
  DeclareAbsentColumns(counts, &model);
  model::v1::Evaluation* evaluation = report.mutable_evaluation();
  evaluation->set_train_tuples(data.num_train());
  evaluation->set_excluded_tuples(counts.excluded_tuples());
  const TupleGate gate{options,
                       baseline,
                       counts,
                       report,
                       WhyNotServing(options.model(), incumbent),
                       IsUniform(model),
                       absl::ToUnixMicros(absl::Now())};
  AddOverrideFinding(options, counts, evaluation);
  AddBaselineFinding(counts, evaluation);
  const bool passed = Passes(gate);
  const bool publishes = !options.dry_run() && (passed || options.force());
  report.set_gate_passed(passed);
  report.set_needs_more_data(!publishes && NeedsMoreData(gate));
  evaluation->set_promoted(publishes);
  evaluation->set_verdict(WithReservation(Verdict(gate), *evaluation));
  if (publishes) {
    trace->BeginPhase("publish");
    if (!options.force()) {
      RETURN_IF_ERROR(CheckUnchanged(options.model(), store, incumbent));
    }
    const auto publish_model = [&] {
      return store.Publish(model, evaluation, data.Warmup(),
                           {.logged = data.counts().newest_version});
    };
    ASSIGN_OR_RETURN(
        const uint64_t version,
        PublishWithRollout(options, publish_model, report.mutable_rollout()));
    report.set_version(version);
  }
  if (report.test_looked_at()) {
    RETURN_IF_ERROR(NoteOutcome(options, counts.baseline_version, *evaluation));
  }
  report.set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  return report;
}

}  // namespace

absl::StatusOr<TrainReport> Train(const TrainOptions& given, RunTrace* trace) {
  RunTrace none;
  if (trace == nullptr) trace = &none;
  ASSIGN_OR_RETURN(const LearnerInfo learner, ChooseLearner(given));
  if (learner.make_labelled != nullptr) {
    return TrainLabelled(given, learner, trace);
  }
  TrainOptions options = given;
  if (options.has_threads() && !options.poem().has_threads()) {
    options.mutable_poem()->set_threads(options.threads());
  }
  return TrainFromTuples(options, trace);
}

}  // namespace sortition
