#include "trainer/clicks/model_fits.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_evaluation.h"
#include "core/clicks/click_fitter.h"
#include "core/clicks/click_intervals.h"
#include "core/clicks/fitted_clicks.h"
#include "process/log.h"
#include "process/threads.h"
#include "trainer/clicks/clicks_words.h"
#include "trainer/clicks/rank_links.h"

namespace sortition {
namespace {

using config::v1::ClicksOptions;
using config::v1::ClicksReport;
using Model = ClicksReport::Model;

ClickFitOptions FitOptionsOf(const ClicksOptions& options,
                             ClickModelKind kind) {
  ClickFitOptions fit;
  fit.kind = kind;
  fit.max_iterations = options.max_iterations();
  fit.prior_hits = options.prior_hits();
  fit.prior_misses = options.prior_misses();
  fit.first_offset = options.first_offset();
  if (options.has_first_slope()) fit.first_slope = options.first_slope();
  if (options.has_perseverance()) fit.perseverance = options.perseverance();
  fit.l2 = options.l2();
  return fit;
}

bool HasSeveralClicks(const ClickSessions& sessions) {
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    int clicks = 0;
    for (size_t r = 0; r < session.size(); ++r) clicks += session.clicked(r);
    if (clicks > 1) return true;
  }
  return false;
}

std::vector<double> LogLikelihoods(const FittedClicks& fitted,
                                   const ClickSessions& sessions) {
  std::vector<double> values(sessions.size());
  FittedList look;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ShownList list = look.Look(fitted, sessions[s]);
    values[s] = ClickLogLikelihood(fitted.model, list, look.clicks());
  }
  return values;
}

// Parameters and, where there are any, their intervals.
absl::Status AddParameters(const ClicksOptions& options,
                           const ClickFitter& fitter,
                           const FittedClicks& fitted, Model* model) {
  const std::vector<ClickParameter> parameters =
      ClickParametersOf(fitted, /*with_items=*/false);
  const bool is_exact = !fitter.has_features() &&
                        (fitted.model.kind == ClickModelKind::kPositionBased ||
                         fitted.model.kind == ClickModelKind::kTrustBias);
  std::vector<ClickInterval> intervals;
  model->set_interval_method("none");
  if (is_exact) {
    model->set_interval_method("information");
    ASSIGN_OR_RETURN(intervals, InformationClickIntervals(
                                    fitter, fitted, options.confidence()));
  } else if (options.draws() > 0 && !parameters.empty()) {
    model->set_interval_method("bootstrap");
    const ClickBootstrapOptions bootstrap = {.draws = options.draws(),
                                             .confidence = options.confidence(),
                                             .seed = options.seed()};
    ASSIGN_OR_RETURN(intervals,
                     BootstrapClickIntervals(fitter, fitted, bootstrap,
                                             OnThreads(options.threads())));
  }
  for (size_t k = 0; k < parameters.size(); ++k) {
    ClicksReport::Parameter* const added = model->add_parameters();
    added->set_name(std::string(ClickParameterName(parameters[k].kind)));
    added->set_index(parameters[k].index);
    added->set_value(parameters[k].value);
    // What is fixed or on a border has no interval.
    if (intervals.empty() || !(intervals[k].lower < intervals[k].upper)) {
      continue;
    }
    added->set_has_interval(true);
    added->set_lower(intervals[k].lower);
    added->set_upper(intervals[k].upper);
  }
  return absl::OkStatus();
}

// Fits one kind, and returns its log-likelihoods of the held-out sessions.
absl::StatusOr<std::vector<double>> FitOne(const ClicksOptions& options,
                                           ClickModelKind kind,
                                           const ClickData& data,
                                           Model* model) {
  const ClickFeatures features = data.features();
  // A cascade ends with its first click.
  std::optional<ClickSessions> first_clicks;
  if (kind == ClickModelKind::kCascade && HasSeveralClicks(data.train)) {
    first_clicks = UntilFirstClick(data.train);
  }
  ASSIGN_OR_RETURN(
      const ClickFitter fitter,
      ClickFitter::Create(first_clicks ? &*first_clicks : &data.train,
                          FitOptionsOf(options, kind), features));
  ASSIGN_OR_RETURN(const FittedClicks fitted, fitter.Fit());
  model->set_name(std::string(ClickModelName(kind)));
  model->set_iterations(fitted.iterations);
  model->set_converged(fitted.converged);
  model->set_training_log_likelihood(fitted.log_likelihood /
                                     static_cast<double>(data.train.size()));
  model->set_parameters_learned(
      ClickParametersOf(fitted, /*with_items=*/data.num_features == 0).size());
  std::vector<double> likelihoods = LogLikelihoods(fitted, data.held_out);
  double sum = 0;
  uint64_t impossible = 0;
  for (const double value : likelihoods) {
    sum += value;
    impossible += std::isfinite(value) ? 0 : 1;
  }
  model->set_impossible_sessions(impossible);
  if (impossible == 0) {
    model->set_held_out_log_likelihood(sum /
                                       static_cast<double>(likelihoods.size()));
  }
  const ClickEvaluation evaluation = EvaluateClicks(fitted, data.held_out);
  model->mutable_perplexity()->Add(evaluation.perplexity.begin(),
                                   evaluation.perplexity.end());
  model->mutable_conditional_perplexity()->Add(
      evaluation.conditional_perplexity.begin(),
      evaluation.conditional_perplexity.end());
  model->set_mean_perplexity(evaluation.mean_perplexity);
  model->set_mean_conditional_perplexity(
      evaluation.mean_conditional_perplexity);
  RETURN_IF_ERROR(AddParameters(options, fitter, fitted, model));
  return likelihoods;
}

// Compares all models with the best.
void Compare(const ClicksOptions& options, const ClickData& data,
             const std::vector<std::vector<double>>& likelihoods,
             ClicksReport* report) {
  int best = -1;
  int possible = 0;
  for (int m = 0; m < report->models_size(); ++m) {
    const Model& model = report->models(m);
    if (!model.has_held_out_log_likelihood()) continue;
    ++possible;
    if (best < 0 || model.held_out_log_likelihood() >
                        report->models(best).held_out_log_likelihood()) {
      best = m;
    }
  }
  if (best < 0) return;
  report->set_best(report->models(best).name());
  const double bound =
      NoiseBound(options.confidence(), std::max(1, possible - 1));
  int simplest = best;
  for (int m = 0; m < report->models_size(); ++m) {
    Model* const model = report->mutable_models(m);
    if (!model->has_held_out_log_likelihood()) continue;
    const UnitDifference difference =
        DifferenceByUnits(likelihoods[static_cast<size_t>(m)],
                          likelihoods[static_cast<size_t>(best)],
                          data.held_out_units, data.num_held_out_units);
    model->set_difference(difference.difference);
    model->set_standard_error(difference.standard_error);
    model->set_is_best(m == best);
    model->set_is_as_good(m == best || std::abs(difference.difference) <=
                                           bound * difference.standard_error);
    if (model->is_as_good() &&
        model->parameters_learned() <
            report->models(simplest).parameters_learned()) {
      simplest = m;
    }
  }
  report->set_simplest(report->models(simplest).name());
}

}  // namespace

absl::StatusOr<std::vector<ClickModelKind>> ParseClickModels(
    const ClicksOptions& options) {
  std::vector<ClickModelKind> kinds;
  for (const std::string& name : options.models()) {
    const absl::StatusOr<ClickModelKind> kind = ParseClickModelKind(name);
    if (!kind.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("models: ", kind.status().message()));
    }
    if (std::find(kinds.begin(), kinds.end(), *kind) != kinds.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "models has '", name, "' twice, must have each at most once"));
    }
    kinds.push_back(*kind);
  }
  if (kinds.empty()) {
    const auto all = AllClickModelKinds();
    kinds.assign(all.begin(), all.end());
  }
  return kinds;
}

UnitDifference DifferenceByUnits(const std::vector<double>& a,
                                 const std::vector<double>& b,
                                 const std::vector<uint32_t>& units,
                                 uint32_t num_units) {
  const auto n = static_cast<double>(a.size());
  UnitDifference result;
  for (size_t s = 0; s < a.size(); ++s) result.difference += a[s] - b[s];
  result.difference /= n;
  if (num_units < 2) return result;
  std::vector<double> sums(num_units, 0);
  for (size_t s = 0; s < a.size(); ++s) {
    sums[units[s]] += a[s] - b[s] - result.difference;
  }
  double squares = 0;
  for (const double sum : sums) squares += sum * sum;
  const auto count = static_cast<double>(num_units);
  result.standard_error = std::sqrt(count / (count - 1) * squares) / n;
  return result;
}

absl::Status FitClickModels(const ClicksOptions& options,
                            const std::vector<ClickModelKind>& kinds,
                            const ClickData& data, ClicksReport* report) {
  const RankLinks links(data.train);
  report->set_moved_items(links.moved_items());
  std::vector<std::vector<double>> likelihoods;
  for (const ClickModelKind kind : kinds) {
    LogInfo("fitting a click model", {{"model", ClickModelName(kind)}});
    Model* const model = report->add_models();
    ASSIGN_OR_RETURN(std::vector<double> values,
                     FitOne(options, kind, data, model));
    likelihoods.push_back(std::move(values));
    links.AppendUnidentified(kind, data.num_features == 0,
                             model->mutable_unidentified());
  }
  Compare(options, data, likelihoods, report);
  report->set_verdict(ClicksVerdict(*report));
  return absl::OkStatus();
}

}  // namespace sortition
