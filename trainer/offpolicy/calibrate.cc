#include "trainer/offpolicy/calibrate.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/calibration.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "core/policies/distribution_factory.h"
#include "io/models/model_store.h"
#include "process/log.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/offpolicy/option_checks.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::CalibrateOptions;
using config::v1::CalibrateReport;

absl::Status ValidateCalibrateOptions(const CalibrateOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(ValidatePartsAndRewards(options));
  if (options.publish() && !options.force()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "publish would replace the newest version of model '", options.model(),
        "' without a gate; read the table first, then add --force"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredModel> LoadVersion(const CalibrateOptions& options,
                                        const ModelStore& store) {
  uint64_t version = options.version();
  if (version == 0) {
    ASSIGN_OR_RETURN(const auto versions, store.ListVersions(options.model()));
    if (versions.empty()) {
      return absl::NotFoundError(absl::StrCat("model '", options.model(),
                                              "' has no version in ",
                                              options.model_store()));
    }
    version = versions.back();
  }
  ASSIGN_OR_RETURN(StoredModel stored, store.Load(options.model(), version));
  if (stored.model.policy().has_independent_labels() ||
      stored.model.policy().has_label_chain() ||
      stored.model.policy().has_sorted_ranking()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", version, " of model '", options.model(),
        "' has the policy ", PolicyKindName(stored.model.policy()),
        ", must have softmax_selection, plackett_luce or boltzmann_ranking"));
  }
  if (stored.model.policy().has_game_ranking() ||
      ActionKindOf(stored.model.policy()) == ActionKind::kSubset) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", version, " of model '", options.model(),
        "' plays a game or chooses subsets, must have softmax_selection, "
        "plackett_luce or boltzmann_ranking"));
  }
  if (options.publish() &&
      !stored.model.policy().softmax_selection().has_abstain_score()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", version, " of model '", options.model(),
        "' cannot abstain: there is no rate to calibrate to, and nothing to "
        "publish"));
  }
  return stored;
}

absl::StatusOr<TupleData> Read(const CalibrateOptions& options,
                               const model::v1::Model& model) {
  config::v1::TrainOptions read;
  read.set_tuples(options.tuples());
  read.set_allow_incomplete(options.allow_incomplete());
  read.set_mix_joins(options.mix_joins());
  read.set_model(options.model());
  read.set_validation_fraction(options.validation_fraction());
  read.set_test_fraction(options.test_fraction());
  read.set_reward_min(options.reward_min());
  read.set_reward_max(options.reward_max());
  read.set_clamp_rewards(options.clamp_rewards());
  read.set_memory_mb(options.memory_mb());
  read.set_scratch(options.scratch());
  read.set_scratch_mb(options.scratch_mb());
  read.set_versions(options.versions());
  read.set_overrides(options.overrides());
  read.set_ranks(options.ranks());
  read.set_since(options.since());
  read.set_until(options.until());
  read.set_warmup_queries(0);
  ASSIGN_OR_RETURN(const ModelFrame frame, FrameOf(model));
  ASSIGN_OR_RETURN(
      TupleData data,
      ReadTuples(read,
                 {.action_kind = ActionKindOf(model.policy()),
                  .num_features = SentFeatures(model),
                  .can_abstain =
                      model.policy().softmax_selection().has_abstain_score(),
                  .baseline_version = std::nullopt,
                  .evaluate_from_version = model.provenance().parent_version(),
                  .features = frame.features}));
  if (const uint64_t abstained = data.left_out(LeftOutReason::kAbstained) +
                                 data.abstained_validation.size() +
                                 data.abstained_test.size();
      abstained > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        abstained, " tuples abstained, which version ", model.version(),
        " of model '", options.model(),
        "' cannot: estimates without them would be too high; give the versions "
        "that could not abstain either by --versions"));
  }
  const std::optional<std::string> warning = data.overridden.Warning();
  if (warning.has_value() && options.overrides() == "intent_to_treat") {
    LogWarning(*warning);
  }
  if (std::min(data.validation.size(), data.test.size()) < kFewestTuples) {
    return absl::FailedPreconditionError(absl::StrCat(
        "too few tuples: ", data.validation.size(), " to validate, ",
        data.test.size(), " to test, logged by version ",
        model.provenance().parent_version(),
        " or later (the calibrated one may have been trained on older ones), "
        "must be at least ",
        kFewestTuples, " each (", data.DescribeExclusions(), ")"));
  }
  return data;
}

class Calibrator {
 public:
  Calibrator(const CalibrateOptions& options, const model::v1::Model& model,
             const TupleData& data, ScoredQueries queries)
      : options_(options),
        model_(model),
        data_(data),
        queries_(std::move(queries)),
        family_{.action_kind = data.action_kind,
                .num_features = data.num_features,
                .can_abstain = queries_.can_abstain(),
                .uniform_mixture = model.policy().uniform_mixture()} {
    if (model.policy().has_boltzmann_ranking()) {
      family_.boltzmann = model.policy().boltzmann_ranking();
    }
    const auto& factors = model.policy().plackett_luce().rank_factors();
    family_.rank_factors.assign(factors.begin(), factors.end());
  }

  absl::StatusOr<CalibrateReport> Run() {
    CalibrateReport report;
    report.set_queries(queries_.size());
    report.set_can_abstain(queries_.can_abstain());
    if (queries_.can_abstain()) RETURN_IF_ERROR(FindAlpha(&report));
    for (const double alpha : Alphas(report)) {
      ASSIGN_OR_RETURN(*report.add_rows(), MakeRow(alpha));
      auto* row = report.mutable_rows(report.rows_size() - 1);
      row->set_calibrated(report.has_alpha() && alpha == report.alpha());
    }
    ASSIGN_OR_RETURN(*report.add_rows(), MakeMapRow());
    return report;
  }

 private:
  absl::Status FindAlpha(CalibrateReport* report) const {
    const auto calibration =
        CalibrateInverseTemperature(queries_, model_.policy(),
                                    {.alpha_min = options_.alpha_min(),
                                     .alpha_max = options_.alpha_max(),
                                     .tolerance = options_.tolerance()});
    report->set_map_abstention_rate(MapAbstentionRate(queries_));
    if (absl::IsFailedPrecondition(calibration.status())) {
      report->set_problem(std::string(calibration.status().message()));
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(calibration.status());
    report->set_alpha(calibration->inverse_temperature);
    report->set_exact(calibration->exact);
    report->mutable_roots()->Add(calibration->roots.begin(),
                                 calibration->roots.end());
    return absl::OkStatus();
  }

  std::vector<double> Alphas(const CalibrateReport& report) const {
    std::vector<double> alphas(options_.alphas().begin(),
                               options_.alphas().end());
    if (alphas.empty()) {
      const double present = model_.policy().inverse_temperature();
      for (const double factor : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
        alphas.push_back(std::min(1e6, factor * present));
      }
    }
    if (report.has_alpha()) alphas.push_back(report.alpha());
    std::sort(alphas.begin(), alphas.end());
    alphas.erase(std::unique(alphas.begin(), alphas.end()), alphas.end());
    return alphas;
  }

  // Returns the evaluation on the test part with the weights that `weigh`
  // returns.
  absl::StatusOr<model::v1::Evaluation> EvaluateBy(
      absl::StatusOr<WeightedTuples> (*weigh)(const LinearFamily&,
                                              const Eigen::VectorXd&,
                                              std::span<const BanditTuple>),
      const model::v1::Model& model) const {
    // This has a value: the model is in the family by construction.
    const Eigen::VectorXd parameters = *ParametersOf(family_, model);
    WeightedParts parts;
    ASSIGN_OR_RETURN(parts.validation,
                     weigh(family_, parameters, data_.validation));
    ASSIGN_OR_RETURN(parts.test, weigh(family_, parameters, data_.test));
    return Evaluate({.parts = parts,
                     .confidence = options_.confidence(),
                     .reward_min = options_.reward_min(),
                     .reward_max = options_.reward_max()});
  }

  absl::StatusOr<CalibrateReport::Row> MakeRow(double alpha) const {
    model::v1::Model model = model_;
    model.mutable_policy()->set_inverse_temperature(alpha);
    CalibrateReport::Row row;
    row.set_alpha(alpha);
    ASSIGN_OR_RETURN(const PolicyShape shape,
                     MeasureShape(queries_, model.policy()));
    row.set_abstention_rate(shape.abstention_rate);
    row.set_map_probability(shape.map_probability);
    row.set_entropy(shape.entropy);
    ASSIGN_OR_RETURN(*row.mutable_evaluation(), EvaluateBy(WeighLinear, model));
    return row;
  }

  absl::StatusOr<CalibrateReport::Row> MakeMapRow() const {
    CalibrateReport::Row row;
    row.set_abstention_rate(MapAbstentionRate(queries_));
    row.set_map_probability(1);
    row.set_entropy(0);
    ASSIGN_OR_RETURN(*row.mutable_evaluation(), EvaluateBy(WeighMap, model_));
    return row;
  }

  const CalibrateOptions& options_;
  const model::v1::Model& model_;
  const TupleData& data_;
  const ScoredQueries queries_;
  LinearFamily family_;
};

absl::StatusOr<ScoredQueries> ScoreQueries(const model::v1::Model& model,
                                           const TupleData& data) {
  // The test part stays unseen, so that its intervals hold for the calibrated
  // policy too.
  return ScoredQueries::Create(model, {data.train, data.validation});
}

absl::StatusOr<uint64_t> Publish(const ModelStore& store,
                                 const StoredModel& stored,
                                 const TupleData& data,
                                 const CalibrateReport& report) {
  const auto row = std::find_if(report.rows().begin(), report.rows().end(),
                                [](const auto& r) { return r.calibrated(); });
  model::v1::Model model = stored.model;
  model.mutable_policy()->set_inverse_temperature(report.alpha());
  const std::string comment = absl::StrFormat(
      "version %d with the inverse temperature %.6g instead of %.6g",
      report.version(), report.alpha(), report.present_alpha());
  model.mutable_provenance()->set_comment(comment);
  model.mutable_provenance()->set_created_time_us(
      absl::ToUnixMicros(absl::Now()));
  model::v1::Evaluation evaluation = row->evaluation();
  evaluation.set_excluded_tuples(data.excluded_tuples());
  evaluation.set_promoted(true);
  evaluation.set_verdict(WithReservation(
      absl::StrFormat("Published by --force: %s; no gate compared them "
                      "(improvement over the log %.4g, at least %.4g).",
                      comment, evaluation.improvement().value(),
                      evaluation.improvement().lower()),
      evaluation));
  return store.Publish(std::move(model), &evaluation, stored.warmup);
}

}  // namespace

absl::StatusOr<CalibrateReport> Calibrate(const CalibrateOptions& options) {
  RETURN_IF_ERROR(ValidateCalibrateOptions(options));
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const StoredModel stored, LoadVersion(options, store));
  ASSIGN_OR_RETURN(const TupleData data, Read(options, stored.model));
  ASSIGN_OR_RETURN(ScoredQueries queries, ScoreQueries(stored.model, data));
  Calibrator calibrator(options, stored.model, data, std::move(queries));
  absl::StatusOr<CalibrateReport> calibrated = calibrator.Run();
  RETURN_IF_ERROR(data.ReadStatus());
  ASSIGN_OR_RETURN(CalibrateReport report, std::move(calibrated));
  report.set_model(options.model());
  report.set_version(stored.model.version());
  report.set_present_alpha(stored.model.policy().inverse_temperature());
  report.set_uniform_mixture(stored.model.policy().uniform_mixture());
  report.set_read_tuples(data.read_tuples);
  report.set_kept_fraction(data.kept_fraction);
  report.set_corrupt_records(data.damage.corrupt_records);
  for (const auto& [reason, count] : data.excluded) {
    (*report.mutable_excluded())[reason] = count;
  }
  if (options.publish() && report.has_alpha()) {
    ASSIGN_OR_RETURN(const uint64_t version,
                     Publish(store, stored, data, report));
    report.set_published_version(version);
  }
  return report;
}

}  // namespace sortition
