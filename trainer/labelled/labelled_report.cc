#include "trainer/labelled/labelled_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/labelled/labelled_temperature.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainReport;

// Appends what was assumed of the files, each behind the option that settles
// it.
void AppendAssumptions(const LabelledReport& report, std::string* text) {
  if (report.assumptions_size() > 0) absl::StrAppend(text, "Assumed:\n");
  for (const LabelledReport::Assumption& assumption : report.assumptions()) {
    absl::StrAppendFormat(text, "  %-20s %s\n", assumption.option(),
                          assumption.sentence());
  }
  for (const std::string& warning : report.warnings()) {
    absl::StrAppend(text, "  Warning: ", warning, "\n");
  }
}

void AppendPoints(const LabelledReport& report, std::string* text) {
  size_t width = 0;  // Of the column of settings; 0: no point has one.
  for (const LabelledReport::Point& point : report.points()) {
    width = std::max(width, point.setting().size() + 2);
  }
  if (report.points(0).setting().empty()) width = 0;
  absl::StrAppendFormat(text, "\n  %10s%*s %12s %12s %9s %7s %8s %10s  %s\n",
                        "lambda", width, width > 0 ? "setting" : "",
                        "objective", "dual bound", "gap", "passes", "seconds",
                        "validation", "ended by");
  const LabelledReport::Point* chosen = nullptr;
  for (const LabelledReport::Point& point : report.points()) {
    if (point.chosen()) chosen = &point;
    absl::StrAppendFormat(
        text, "%c %10.4g%*s %12.6f %12s %9s %7d %8.2f %10.5f  %s\n",
        point.chosen() ? '*' : ' ', point.lambda(), width, point.setting(),
        point.objective(),
        point.has_gap() ? absl::StrFormat("%.6f", point.dual_bound()) : "",
        point.has_gap() ? absl::StrFormat("%.2e", point.gap()) : "",
        point.passes(), point.seconds(), point.validation(),
        point.termination());
  }
  absl::StrAppendFormat(text, "  validation: mean %s; the largest is chosen\n",
                        report.validation_measure());
  if (report.has_note()) absl::StrAppend(text, "  ", report.note(), "\n");
  if (chosen == nullptr || !chosen->has_gap()) return;
  absl::StrAppendFormat(
      text, "  The chosen objective is proved within %.2e of the minimum\n",
      chosen->gap());
  if (report.gap_tolerance() > 0 && chosen->gap() > report.gap_tolerance()) {
    absl::StrAppendFormat(
        text,
        "  Warning: that is above gap_tolerance, %g; raise the limits of "
        "iterations, or lambda, or scale the features\n",
        report.gap_tolerance());
  }
}

void AppendWeights(const LabelledReport& report, std::string* text) {
  if (report.standard_errors_size() == 0) return;
  absl::StrAppendFormat(text, "\n  %10s %12s %14s\n", "feature", "weight",
                        "standard error");
  for (int j = 0; j < report.standard_errors_size(); ++j) {
    const double error = report.standard_errors(j);
    absl::StrAppendFormat(
        text, "  %10d %12.5g %14s\n", j + 1, report.weights(j),
        std::isfinite(error) ? absl::StrFormat("%.2g", error) : "unknown");
  }
  absl::StrAppend(text,
                  "  standard error: from the training orders alone; unknown: "
                  "they do not determine the weight. lambda shrinks weights "
                  "towards 0\n");
}

// Share of tied pairs above which their random order dominates.
constexpr double kManyTied = 0.5;

// Appends a row for each weight of the trusted order, at the chosen lambda.
void AppendTrusted(const LabelledReport& report, std::string* text) {
  if (!report.has_trusted_order()) return;
  const LabelledReport::TrustedOrder& trusted = report.trusted_order();
  absl::StrAppendFormat(
      text,
      "\n  Trusted order: %s, %s divergence. It has %.1f %% of the training "
      "pairs of different relevance right,\n  and ties in %.1f %% of all "
      "pairs, taken in random order. Training scores at the chosen lambda:\n"
      "\n  %-28s %12s %16s %10s\n",
      trusted.source(), trusted.divergence(), 100 * trusted.right_pairs(),
      100 * trusted.tied_pairs(), "", "divergence", "inverted pairs",
      "validation");
  const auto chosen =
      std::find_if(report.points().begin(), report.points().end(),
                   [](const auto& point) { return point.chosen(); });
  for (const LabelledReport::Point& point : report.points()) {
    if (chosen == report.points().end() || point.lambda() != chosen->lambda()) {
      continue;
    }
    absl::StrAppendFormat(text, "%c %-28s %12.6g %14.2f %% %10.5f\n",
                          point.chosen() ? '*' : ' ', point.setting(),
                          point.trusted_divergence(),
                          100 * point.trusted_inversions(), point.validation());
  }
  if (trusted.tied_pairs() > kManyTied) {
    absl::StrAppend(text,
                    "  Warning: most pairs are tied, and were pulled towards "
                    "a random order\n");
  }
}

// Returns how much of the deterministic policy's gain over chance is kept, as a
// share.
std::string KeptOf(const LabelledReport& report, double measure) {
  const double gain = report.measure_by_score() - report.measure_by_chance();
  if (!(gain > 0)) return "";
  return absl::StrFormat("%.1f %%",
                         100 * (measure - report.measure_by_chance()) / gain);
}

void AppendTemperatures(const LabelledReport& report, std::string* text) {
  if (report.temperatures_size() == 0) {
    if (report.has_inverse_temperature()) {
      absl::StrAppendFormat(text, "  Inverse temperature, as given: %g\n",
                            report.inverse_temperature());
    }
    return;
  }
  absl::StrAppendFormat(text, "\n  %10s %12s %10s %9s\n", "inverse",
                        report.measure(), "kept gain", "entropy");
  for (const LabelledReport::Temperature& row : report.temperatures()) {
    absl::StrAppendFormat(
        text, "%c %10g %12.5f %10s %9s\n", row.chosen() ? '*' : ' ',
        row.inverse_temperature(), row.measure(), KeptOf(report, row.measure()),
        row.has_entropy() ? absl::StrFormat("%.4f", row.entropy()) : "");
  }
  absl::StrAppendFormat(text, "  %10s %12.5f\n  %10s %12.5f\n", "by score",
                        report.measure_by_score(), "by chance",
                        report.measure_by_chance());
  absl::StrAppendFormat(
      text,
      "  inverse: inverse temperature with which actions are drawn, without "
      "uniform mixture, on validation\n  queries. The smallest is chosen that "
      "keeps %g %% of what the policy by score gains over chance, or\n  else "
      "the best. entropy: of what is first (of subsets: of membership), in "
      "nats\n",
      100 * kKeptGain);
}

void AppendMean(const std::string& name, const model::v1::Estimate& estimate,
                uint32_t draws, std::string* text) {
  absl::StrAppendFormat(
      text, "  %-36s %9.5f   [%.5f, %.5f]%s\n", name, estimate.value(),
      estimate.lower(), estimate.upper(),
      draws > 0 ? absl::StrFormat("   mean of %d draws a query", draws) : "");
}

void AppendGate(const LabelledReport& report, std::string* text) {
  absl::StrAppendFormat(text, "\n  %-36s %9s   %g %% interval (Student's t)\n",
                        absl::StrCat(report.measure(), " in expectation, ",
                                     report.part(), " part"),
                        "mean", 100 * report.new_measure().confidence());
  AppendMean("new policy", report.new_measure(), report.new_draws(), text);
  if (report.has_difference()) {
    AppendMean(absl::StrCat("version ", report.old_version()),
               report.old_measure(), report.old_draws(), text);
    AppendMean("difference, paired by query", report.difference(), 0, text);
  }
  if (report.part() == "validation") {
    absl::StrAppend(text,
                    "  There is no test part: lambda was chosen on these "
                    "queries, which flatters the new policy\n");
  }
}

void AppendQuality(const LabelledReport& report, std::string* text) {
  if (report.quality_size() == 0) return;
  const bool has_old = report.quality(0).has_old_value();
  absl::StrAppendFormat(
      text, "\n  %-36s %9s%s\n",
      report.quality_size() > 1 ? "By score; NDCG .. MAP as LETOR's tool"
                                : "By score",
      "new",
      has_old ? absl::StrFormat("  version %d", report.old_version()) : "");
  for (const LabelledReport::Quality& row : report.quality()) {
    absl::StrAppendFormat(
        text, "  %-36s %9.4f%s\n", row.name(), row.value(),
        has_old ? absl::StrFormat("  %9.4f", row.old_value()) : "");
  }
}

}  // namespace

void AddPoint(const LabelledPoint& point, double seconds,
              LabelledReport* report) {
  LabelledReport::Point* row = report->add_points();
  row->set_lambda(point.lambda);
  row->set_objective(point.objective);
  if (point.dual_bound.has_value()) {
    row->set_dual_bound(*point.dual_bound);
    row->set_gap(point.objective - *point.dual_bound);
  }
  row->set_passes(point.passes);
  row->set_seconds(seconds);
  row->set_validation(point.validation);
  if (!point.setting.empty()) row->set_setting(point.setting);
  row->set_termination(point.termination);
  if (point.from_trusted.has_value()) {
    row->set_trusted_divergence(point.from_trusted->divergence);
    row->set_trusted_inversions(point.from_trusted->inverted_pairs);
  }
}

model::v1::Evaluation ToEvaluation(const LabelledReport& report) {
  model::v1::Evaluation evaluation;
  evaluation.set_measure(report.measure());
  evaluation.set_train_tuples(report.training_queries());
  evaluation.set_validation_tuples(report.validation_queries());
  evaluation.set_test_tuples(report.test_queries());
  *evaluation.mutable_measured_reward() = report.new_measure();
  if (report.has_difference()) {
    *evaluation.mutable_logging_reward() = report.old_measure();
    *evaluation.mutable_improvement() = report.difference();
  }
  for (const LabelledReport::Point& point : report.points()) {
    auto* row = evaluation.add_grid();
    row->set_lambda(point.lambda());
    row->set_validation_reward(point.validation());
    row->set_train_objective(point.objective());
    row->set_iterations(point.passes());
    row->set_chosen(point.chosen());
    row->set_termination(point.termination());
    row->set_objective(report.measure());
    if (point.has_gap()) row->set_gap(point.gap());
  }
  return evaluation;
}

std::string FormatLabelledReport(const TrainReport& report) {
  const LabelledReport& labelled = report.labelled();
  std::string text = absl::StrFormat(
      "Labelled queries for model '%s': %d to train, %d to validate, %d to "
      "test; %d candidates, %d features\nLearner %s, measure %s, action %s\n",
      report.model(), labelled.training_queries(),
      labelled.validation_queries(), labelled.test_queries(),
      labelled.candidates(), labelled.num_features(), labelled.learner(),
      labelled.measure(), labelled.action());
  AppendAssumptions(labelled, &text);
  AppendPoints(labelled, &text);
  AppendTrusted(labelled, &text);
  if (labelled.has_threshold()) {
    absl::StrAppendFormat(&text, "  Threshold of relevance: score %.6g\n",
                          labelled.threshold());
  }
  AppendWeights(labelled, &text);
  AppendTemperatures(labelled, &text);
  AppendGate(labelled, &text);
  AppendQuality(labelled, &text);
  absl::StrAppend(&text, "\n", report.evaluation().verdict(), "\n");
  if (report.has_version()) {
    absl::StrAppendFormat(&text, "%s version %d, %.1f s\n", report.model(),
                          report.version(), report.seconds());
  }
  return text;
}

}  // namespace sortition
