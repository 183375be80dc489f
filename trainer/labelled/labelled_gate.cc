#include "trainer/labelled/labelled_gate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/moments.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/expected_measure.h"
#include "core/metrics/letor_metrics.h"
#include "trainer/labelled/labelled_measure.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;

void SetMean(const std::vector<double>& values, double confidence,
             model::v1::Estimate* estimate) {
  Moments moments;
  for (const double value : values) moments.Add(value);
  // With fewer than two values the interval is unbounded.
  double slack = HUGE_VAL;
  if (values.size() > 1) {
    slack = StudentQuantile((1 + confidence) / 2, values.size() - 1) *
            std::sqrt(moments.variance() / static_cast<double>(values.size()));
  }
  estimate->set_value(moments.mean());
  estimate->set_lower(moments.mean() - slack);
  estimate->set_upper(moments.mean() + slack);
  estimate->set_confidence(confidence);
}

// Returns whether the policies order candidates; policies of labels do not.
bool HasOrder(const GateTask& task) {
  return task.measure.kind != LabelMeasure::Kind::kAccuracy;
}

// The quality of the deterministic policy.
struct Quality {
  LetorFigures letor;  // For the order by falling score, ties by index.
  double measure = 0;
};

Quality QualityOf(const GateTask& task, const model::v1::Model& model,
                  const ExpectedMeasure& measure) {
  const bool has_order = HasOrder(task);
  const LabelMeasure order{.kind = LabelMeasure::Kind::kDcg};
  const std::vector<double> weights = WeightsFor(model, task.queries);
  std::vector<LetorFigures> figures;
  std::vector<double> scores;
  double sum = 0;
  for (const LabelledItems& query : task.queries) {
    sum += measure.ByScore(query);
    if (!has_order) continue;
    scores.resize(query.relevances.size());
    ScoreAll(query.items, weights, scores);
    std::vector<int> ranked;
    for (const int32_t item : ActionByScore(order, scores)) {
      ranked.push_back(static_cast<int>(query.relevances[item]));
    }
    figures.push_back(LetorFiguresOf(ranked));
  }
  return {has_order ? MeanOf(figures) : LetorFigures{},
          sum / static_cast<double>(task.queries.size())};
}

void AddQuality(const GateTask& task, const Quality& quality,
                const std::optional<Quality>& old, LabelledReport* report) {
  const auto add = [&](const std::string& name, const auto& get) {
    LabelledReport::Quality* row = report->add_quality();
    row->set_name(name);
    row->set_value(get(quality));
    if (old.has_value()) row->set_old_value(get(*old));
  };
  add(absl::StrCat(task.measure.Name(), ", deterministic"),
      [](const Quality& of) { return of.measure; });
  if (!HasOrder(task)) return;
  for (size_t k = 1; k <= 10; ++k) {
    add(absl::StrCat("NDCG@", k),
        [k](const Quality& of) { return of.letor.ndcg[k - 1]; });
  }
  add("mean NDCG", [](const Quality& of) { return of.letor.mean_ndcg; });
  for (const size_t k : {1, 5, 10}) {
    add(absl::StrCat("P@", k),
        [k](const Quality& of) { return of.letor.precision[k - 1]; });
  }
  add("MAP", [](const Quality& of) { return of.letor.average_precision; });
}

// Returns why the policies cannot be compared; unset: they can.
std::string WhyIncomparable(const GateTask& task,
                            const absl::StatusOr<ExpectedMeasure>& old) {
  const uint32_t features = task.old->model.num_features();
  if (features != task.model.num_features()) {
    return absl::StrCat("it has ", features, " features, the new one has ",
                        task.model.num_features());
  }
  if (task.old->model.weights_size() != task.model.weights_size()) {
    return absl::StrCat("it has ", task.old->model.weights_size(),
                        " weights, the new one has ",
                        task.model.weights_size());
  }
  if (!old.ok()) return std::string(old.status().message());
  if (task.queries.size() < kFewestGateQueries) {
    return absl::StrCat("there are ", task.queries.size(),
                        " queries to compare on, must be at least ",
                        kFewestGateQueries);
  }
  return "";
}

}  // namespace

absl::StatusOr<bool> PassesGate(const GateTask& task, LabelledReport* report) {
  ASSIGN_OR_RETURN(const ExpectedMeasure measure,
                   MeasureOf(task.model, task.queries, task.measure));
  ASSIGN_OR_RETURN(const std::vector<double> values,
                   MeasureAll(measure, task.queries, task.parallel_for));
  SetMean(values, task.confidence, report->mutable_new_measure());
  report->set_new_draws(measure.num_draws());
  const Quality quality = QualityOf(task, task.model, measure);
  report->set_old_version(task.old.has_value() ? task.old->model.version() : 0);
  if (!task.old.has_value()) {
    AddQuality(task, quality, std::nullopt, report);
    return true;
  }
  const model::v1::Model& old = task.old->model;
  std::optional<Quality> old_quality;
  absl::StatusOr<ExpectedMeasure> old_measure =
      absl::FailedPreconditionError("");
  if (old.num_features() == task.model.num_features() &&
      old.weights_size() == task.model.weights_size()) {
    old_measure = MeasureOf(old, task.queries, task.measure);
    if (old_measure.ok()) old_quality = QualityOf(task, old, *old_measure);
  }
  AddQuality(task, quality, old_quality, report);
  std::string why = WhyIncomparable(task, old_measure);
  absl::StatusOr<std::vector<double>> old_values = std::vector<double>();
  if (why.empty()) {
    old_values = MeasureAll(*old_measure, task.queries, task.parallel_for);
    why = std::string(old_values.status().message());
  }
  if (!why.empty()) {
    report->set_incomparable(why);
    return false;
  }
  SetMean(*old_values, task.confidence, report->mutable_old_measure());
  report->set_old_draws(old_measure->num_draws());
  std::vector<double> differences(values);
  for (size_t j = 0; j < values.size(); ++j) differences[j] -= (*old_values)[j];
  SetMean(differences, task.confidence, report->mutable_difference());
  return report->difference().lower() > 0;
}

std::string LabelledVerdict(const config::v1::TrainOptions& options,
                            const LabelledReport& report, bool passed) {
  const std::string result = options.dry_run() ? "Nothing published (dry run)"
                             : passed          ? "Published"
                             : options.force() ? "Published by --force"
                                               : "Not published";
  if (report.old_version() == 0) {
    return absl::StrFormat(
        "%s: there is no version of model '%s' to compare with, so nothing was "
        "proved.",
        result, options.model());
  }
  if (report.has_incomparable()) {
    return absl::StrFormat("%s: version %d cannot be compared: %s.", result,
                           report.old_version(), report.incomparable());
  }
  const auto& difference = report.difference();
  const std::string verdict = absl::StrFormat(
      "%s: with %g %% confidence the new policy's %s per query is %s %.4g "
      "%s than that of version %d (difference %.4g, %s part).",
      result, 100 * options.confidence(), report.measure(),
      passed ? "at least" : "up to",
      passed ? difference.lower() : std::max(0., -difference.lower()),
      passed ? "more" : "less", report.old_version(), difference.value(),
      report.part());
  if (report.part() == "test") return verdict;
  return absl::StrCat(
      verdict,
      " The policy was chosen on these queries, as there is no test part: the "
      "confidence is that of a policy given beforehand, and is not proved for "
      "the chosen one.");
}

}  // namespace sortition
