#include "trainer/labelled_gate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/moments.h"
#include "core/learners/expected_measure.h"
#include "core/metrics/letor_metrics.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;

// With 0 for a constant feature, which policies do not have.
std::vector<double> WeightsOf(const GateTask& task,
                              const model::v1::Model& model) {
  std::vector<double> weights(model.weights().begin(), model.weights().end());
  weights.resize(task.queries[0].items.num_features(), 0);
  return weights;
}

absl::StatusOr<ExpectedMeasure> MeasureOf(const GateTask& task,
                                          const model::v1::Model& model) {
  return ExpectedMeasure::Create(model.policy(), WeightsOf(task, model),
                                 task.measure);
}

// Of every query.
absl::StatusOr<std::vector<double>> Measure(const GateTask& task,
                                            const ExpectedMeasure& measure) {
  std::vector<double> values(task.queries.size());
  std::vector<absl::Status> statuses(task.queries.size());
  task.parallel_for(values.size(), [&](size_t j) {
    const auto value = measure.Of(task.queries[j], j);
    statuses[j] = value.status();
    if (value.ok()) values[j] = *value;
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return values;
}

void SetMean(const std::vector<double>& values, double confidence,
             model::v1::Estimate* estimate) {
  Moments moments;
  for (const double value : values) moments.Add(value);
  // Of fewer than two values nothing is known.
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

double ThresholdOf(const model::v1::Policy& policy) {
  return policy.has_independent_subset()
             ? policy.independent_subset().threshold()
             : policy.game_subset().threshold();
}

// Of what would be done without lot.
struct Quality {
  LetorFigures letor;  // Of the order by falling score, ties by index.
  double measure = 0;  // Of that order, or the scores above the threshold.
};

Quality QualityOf(const GateTask& task, const model::v1::Model& model) {
  const std::vector<double> weights = WeightsOf(task, model);
  const bool is_set = task.measure.kind == LabelMeasure::Kind::kFBeta;
  std::vector<LetorFigures> figures;
  double sum = 0;
  for (const LabelledItems& query : task.queries) {
    const size_t n = query.relevances.size();
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::vector<double> scores(n);
    query.items.Scores(order, weights, scores);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return scores[a] > scores[b];
    });
    std::vector<int> ranked;
    std::vector<int32_t> action;
    for (const uint32_t item : order) {
      ranked.push_back(static_cast<int>(query.relevances[item]));
      if (is_set && scores[item] <= ThresholdOf(model.policy())) continue;
      action.push_back(static_cast<int32_t>(item));
    }
    figures.push_back(LetorFiguresOf(ranked));
    sum += EvaluateAction(task.measure, query.relevances, action);
  }
  return {MeanOf(figures), sum / static_cast<double>(task.queries.size())};
}

void AddQuality(const GateTask& task, const Quality& quality,
                const std::optional<Quality>& old, LabelledReport* report) {
  const auto add = [&](const std::string& name, const auto& get) {
    LabelledReport::Quality* row = report->add_quality();
    row->set_name(name);
    row->set_value(get(quality));
    if (old.has_value()) row->set_old_value(get(*old));
  };
  add(absl::StrCat(task.measure.Name(), " without lot"),
      [](const Quality& of) { return of.measure; });
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

// Unset where it is all right.
std::string WhyIncomparable(const GateTask& task,
                            const absl::StatusOr<ExpectedMeasure>& old) {
  const uint32_t features = task.old->model.num_features();
  if (features != task.model.num_features()) {
    return absl::StrCat("it has ", features, " features, the new one has ",
                        task.model.num_features());
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
  ASSIGN_OR_RETURN(const ExpectedMeasure measure, MeasureOf(task, task.model));
  ASSIGN_OR_RETURN(const std::vector<double> values, Measure(task, measure));
  SetMean(values, task.confidence, report->mutable_new_measure());
  report->set_new_draws(measure.num_draws());
  const Quality quality = QualityOf(task, task.model);
  report->set_old_version(task.old.has_value() ? task.old->model.version() : 0);
  if (!task.old.has_value()) {
    AddQuality(task, quality, std::nullopt, report);
    return true;
  }
  const model::v1::Model& old = task.old->model;
  std::optional<Quality> old_quality;
  absl::StatusOr<ExpectedMeasure> old_measure =
      absl::FailedPreconditionError("");
  if (old.num_features() == task.model.num_features()) {
    old_measure = MeasureOf(task, old);
    if (old_measure.ok()) old_quality = QualityOf(task, old);
  }
  AddQuality(task, quality, old_quality, report);
  std::string why = WhyIncomparable(task, old_measure);
  absl::StatusOr<std::vector<double>> old_values = std::vector<double>();
  if (why.empty()) {
    old_values = Measure(task, *old_measure);
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

}  // namespace sortition
