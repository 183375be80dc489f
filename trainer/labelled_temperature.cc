#include "trainer/labelled_temperature.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "core/base/status_macros.h"
#include "trainer/labelled_measure.h"
#include "trainer/progress.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;

constexpr int kDefaultDoublings = 10;

// Boltzmann rankings take 0.1 ms a draw. Of 100 queries the mean is still exact
// to some 0.005.
constexpr uint32_t kBoltzmannDraws = 32;

std::vector<double> GridOf(std::vector<double> grid) {
  if (grid.empty()) {
    for (int power = 0; power <= kDefaultDoublings; ++power) {
      grid.push_back(std::exp2(power));
    }
  }
  std::sort(grid.begin(), grid.end());
  return grid;
}

std::vector<LabelledItems> Some(std::span<const LabelledItems> queries) {
  const size_t count = std::min(queries.size(), kMostTemperatureQueries);
  std::vector<LabelledItems> some;
  for (size_t i = 0; i < count; ++i) {
    some.push_back(queries[i * queries.size() / count]);
  }
  return some;
}

double MeanOf(std::span<const LabelledItems> queries,
              const std::function<double(const LabelledItems&)>& value) {
  double sum = 0;
  for (const LabelledItems& query : queries) sum += value(query);
  return sum / static_cast<double>(queries.size());
}

std::optional<double> MeanEntropy(const ExpectedMeasure& measure,
                                  std::span<const LabelledItems> queries) {
  if (!measure.Entropy(queries[0]).has_value()) return std::nullopt;
  return MeanOf(queries, [&](const LabelledItems& query) {
    return *measure.Entropy(query);
  });
}

absl::Status AddRows(const TemperatureTask& task,
                     const std::vector<double>& grid, LabelledReport* report) {
  const std::vector<LabelledItems> queries = Some(task.queries);
  model::v1::Model model = task.model;
  model.mutable_policy()->set_uniform_mixture(0);
  const uint32_t draws = model.policy().has_boltzmann_ranking()
                             ? kBoltzmannDraws
                             : ExpectedMeasure::kDraws;
  Progress progress("choosing the inverse temperature", "values", grid.size());
  for (const double alpha : grid) {
    model.mutable_policy()->set_inverse_temperature(alpha);
    ASSIGN_OR_RETURN(const ExpectedMeasure measure,
                     MeasureOf(model, queries, task.measure, draws));
    const auto values = MeasureAll(measure, queries, task.parallel_for);
    if (absl::IsInvalidArgument(values.status()) &&
        report->temperatures_size() > 0) {
      break;
    }
    RETURN_IF_ERROR(values.status());
    if (report->temperatures_size() == 0) {
      report->set_measure_by_score(MeanOf(
          queries, std::bind_front(&ExpectedMeasure::ByScore, &measure)));
      report->set_measure_by_chance(MeanOf(
          queries, [&](const auto& query) { return measure.ByChance(query); }));
    }
    LabelledReport::Temperature* row = report->add_temperatures();
    row->set_inverse_temperature(alpha);
    double sum = 0;
    for (const double value : *values) sum += value;
    row->set_measure(sum / static_cast<double>(values->size()));
    const std::optional<double> entropy = MeanEntropy(measure, queries);
    if (entropy.has_value()) row->set_entropy(*entropy);
    progress.Add(1);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ChooseTemperature(const TemperatureTask& task,
                                         LabelledReport* report) {
  const std::vector<double> grid = GridOf(task.grid);
  if (grid.size() == 1) {
    report->set_inverse_temperature(grid[0]);
    return grid[0];
  }
  RETURN_IF_ERROR(AddRows(task, grid, report));
  const double wanted =
      report->measure_by_chance() +
      kKeptGain * (report->measure_by_score() - report->measure_by_chance());
  auto* rows = report->mutable_temperatures();
  auto chosen = std::find_if(
      rows->begin(), rows->end(),
      [wanted](const auto& row) { return row.measure() >= wanted; });
  if (chosen == rows->end()) {
    chosen = std::max_element(
        rows->begin(), rows->end(),
        [](const auto& a, const auto& b) { return a.measure() < b.measure(); });
  }
  chosen->set_chosen(true);
  report->set_inverse_temperature(chosen->inverse_temperature());
  return chosen->inverse_temperature();
}

}  // namespace sortition
