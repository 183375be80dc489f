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
#include "core/metrics/tied_ranking.h"
#include "trainer/frames/model_frame.h"
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
  LetorFigures letor;  // For the order by falling score.
  double measure = 0;
};

Quality QualityOf(const GateTask& task, const model::v1::Model& model,
                  std::span<const LabelledItems> queries,
                  const ExpectedMeasure& measure) {
  const bool has_order = HasOrder(task);
  const std::vector<double> weights = WeightsFor(model, queries);
  std::vector<LetorFigures> figures;
  std::vector<double> scores;
  double sum = 0;
  for (const LabelledItems& query : queries) {
    sum += measure.ByScore(query);
    if (!has_order) continue;
    scores.resize(query.relevances.size());
    ScoreAll(query.items, weights, scores);
    figures.push_back(LetorFiguresOf(TiedRanking(scores, query.relevances)));
  }
  return {has_order ? MeanOf(figures) : LetorFigures{},
          sum / static_cast<double>(queries.size())};
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

// Returns the queries as the old model takes them, copied to `other` if they
// are not those of the new one; else InvalidArgument, which says why the two
// cannot be compared.
absl::StatusOr<std::span<const LabelledItems>> QueriesOfOld(
    const GateTask& task, OtherRows* other) {
  const model::v1::Model& old = task.old->model;
  if (!old.has_features() && !task.model.has_features() &&
      old.num_features() != task.model.num_features()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", old.num_features(),
                     " features, the new one has ", task.model.num_features()));
  }
  if (!IsSameFrame(old, task.model)) {
    ASSIGN_OR_RETURN(*other, RowsFor(old, task.rows, task.data));
    return other->items;
  }
  if (old.weights_size() == task.model.weights_size()) return task.queries;
  return absl::InvalidArgumentError(absl::StrCat("it has ", old.weights_size(),
                                                 " weights, the new one has ",
                                                 task.model.weights_size()));
}

// What the old model earns.
struct OldResult {
  std::optional<Quality> quality;
  absl::StatusOr<std::vector<double>> values;
  uint32_t num_draws = 0;
};

OldResult MeasureOld(const GateTask& task) {
  OtherRows other;
  const auto queries = QueriesOfOld(task, &other);
  if (!queries.ok()) return {std::nullopt, queries.status()};
  const model::v1::Model& old = task.old->model;
  const auto measure = MeasureOf(old, *queries, task.measure);
  if (!measure.ok()) return {std::nullopt, measure.status()};
  const Quality quality = QualityOf(task, old, *queries, *measure);
  if (task.queries.size() < kFewestGateQueries) {
    return {quality, absl::FailedPreconditionError(absl::StrCat(
                         "there are ", task.queries.size(),
                         " queries to compare on, must be at least ",
                         kFewestGateQueries))};
  }
  return {quality, MeasureAll(*measure, *queries, task.parallel_for),
          measure->num_draws()};
}

}  // namespace

absl::StatusOr<bool> PassesGate(const GateTask& task, LabelledReport* report) {
  ASSIGN_OR_RETURN(const ExpectedMeasure measure,
                   MeasureOf(task.model, task.queries, task.measure));
  ASSIGN_OR_RETURN(const std::vector<double> values,
                   MeasureAll(measure, task.queries, task.parallel_for));
  SetMean(values, task.confidence, report->mutable_new_measure());
  report->set_new_draws(measure.num_draws());
  const Quality quality = QualityOf(task, task.model, task.queries, measure);
  report->set_old_version(task.old.has_value() ? task.old->model.version() : 0);
  if (!task.old.has_value()) {
    AddQuality(task, quality, std::nullopt, report);
    return true;
  }
  const OldResult old = MeasureOld(task);
  AddQuality(task, quality, old.quality, report);
  if (!old.values.ok()) {
    report->set_incomparable(std::string(old.values.status().message()));
    return false;
  }
  SetMean(*old.values, task.confidence, report->mutable_old_measure());
  report->set_old_draws(old.num_draws);
  std::vector<double> differences(values);
  for (size_t j = 0; j < values.size(); ++j) differences[j] -= (*old.values)[j];
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
