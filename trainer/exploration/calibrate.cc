#include "trainer/exploration/calibrate.h"

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
#include "io/models/model_store.h"
#include "trainer/exploration/calibrate_data.h"
#include "trainer/exploration/exploration_list.h"
#include "trainer/exploration/exploration_table.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/offpolicy/option_checks.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::CalibrateOptions;
using config::v1::CalibrateReport;

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
    // What the temperature of a sorted ranking does is a row of its other
    // table.
    if (model_.policy().has_sorted_ranking()) return report;
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

absl::StatusOr<CalibrateReport> WithExplorations(
    const CalibrateOptions& options, const model::v1::Model& model,
    const model::v1::Model* against, const TupleData& data,
    CalibrateReport report) {
  ASSIGN_OR_RETURN(*report.mutable_explorations(),
                   MeasureExplorations({.model = model,
                                        .against = against,
                                        .validation = data.validation,
                                        .test = data.test,
                                        .explorations = options.explorations(),
                                        .confidence = options.confidence(),
                                        .delta = options.delta(),
                                        .reward_min = options.reward_min(),
                                        .reward_max = options.reward_max()}));
  return report;
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

absl::StatusOr<CalibrateReport> Calibrate(const CalibrateOptions& options) {
  RETURN_IF_ERROR(ValidateCalibrateOptions(options));
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const StoredModel stored, LoadCalibrated(options, store));
  ASSIGN_OR_RETURN(const auto against,
                   LoadAgainst(options, store, stored.model));
  ASSIGN_OR_RETURN(const TupleData data,
                   ReadCalibrationData(options, stored.model));
  ASSIGN_OR_RETURN(ScoredQueries queries, ScoreQueries(stored.model, data));
  Calibrator calibrator(options, stored.model, data, std::move(queries));
  absl::StatusOr<CalibrateReport> calibrated = calibrator.Run();
  if (calibrated.ok() && RanksByScores(stored.model.policy())) {
    calibrated = WithExplorations(options, stored.model,
                                  against ? &against->model : nullptr, data,
                                  *std::move(calibrated));
  }
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
