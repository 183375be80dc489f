#include "trainer/labelled/labelled_temperature.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "core/base/status_macros.h"
#include "process/progress.h"
#include "trainer/labelled/labelled_measure.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using Row = LabelledReport::Temperature;

// The default grid is 1 to 2^10, extended up to these limits if needed.
constexpr int kDefaultDoublings = 10;
constexpr double kSmallest = 0x1p-19;
constexpr double kLargest = 0x1p19;

// Boltzmann rankings take 0.1 ms per draw. Over 100 queries the mean is still
// accurate to about 0.005.
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

// Computes rows of the table, on a sample of the queries.
class Trials {
 public:
  explicit Trials(const TemperatureTask& task)
      : task_(task), queries_(Some(task.queries)), model_(task.model) {
    model_.mutable_policy()->set_uniform_mixture(0);
  }

  absl::StatusOr<Row> Try(double alpha) {
    ASSIGN_OR_RETURN(const ExpectedMeasure measure, At(alpha));
    ASSIGN_OR_RETURN(const std::vector<double> values,
                     MeasureAll(measure, queries_, task_.parallel_for));
    Row row;
    row.set_inverse_temperature(alpha);
    double sum = 0;
    for (const double value : values) sum += value;
    row.set_measure(sum / static_cast<double>(values.size()));
    if (measure.Entropy(queries_[0]).has_value()) {
      row.set_entropy(
          Mean([&](const auto& query) { return *measure.Entropy(query); }));
    }
    return row;
  }

  // Returns the measure that must be kept.
  absl::StatusOr<double> Wanted(LabelledReport* report) {
    ASSIGN_OR_RETURN(const ExpectedMeasure measure, At(1));
    const double score =
        Mean([&](const auto& query) { return measure.ByScore(query); });
    const double chance =
        Mean([&](const auto& query) { return measure.ByChance(query); });
    report->set_measure_by_score(score);
    report->set_measure_by_chance(chance);
    return chance + kKeptGain * (score - chance);
  }

 private:
  absl::StatusOr<ExpectedMeasure> At(double alpha) {
    model_.mutable_policy()->set_inverse_temperature(alpha);
    return MeasureOf(model_, queries_, task_.measure,
                     model_.policy().has_boltzmann_ranking()
                         ? kBoltzmannDraws
                         : ExpectedMeasure::kDraws);
  }
  double Mean(const std::function<double(const LabelledItems&)>& value) const {
    double sum = 0;
    for (const LabelledItems& query : queries_) sum += value(query);
    return sum / static_cast<double>(queries_.size());
  }

  const TemperatureTask& task_;
  const std::vector<LabelledItems> queries_;
  model::v1::Model model_;
};

// Returns rows for the grid in rising order, without values that cannot be
// drawn.
absl::StatusOr<std::vector<Row>> TryAll(const std::vector<double>& grid,
                                        Trials* trials) {
  Progress progress("choosing the inverse temperature", "values", grid.size());
  std::vector<Row> rows;
  for (const double alpha : grid) {
    absl::StatusOr<Row> row = trials->Try(alpha);
    if (absl::IsInvalidArgument(row.status()) && !rows.empty()) break;
    RETURN_IF_ERROR(row.status());
    rows.push_back(*std::move(row));
    progress.Add(1);
  }
  return rows;
}

// Halves and doubles until the smallest value does not keep enough and the
// largest does, because no fixed grid knows the scale of the scores.
absl::Status Extend(const std::function<bool(const Row&)>& keeps,
                    Trials* trials, std::vector<Row>* rows) {
  while (keeps(rows->front()) &&
         rows->front().inverse_temperature() > kSmallest) {
    ASSIGN_OR_RETURN(Row row,
                     trials->Try(rows->front().inverse_temperature() / 2));
    rows->insert(rows->begin(), std::move(row));
  }
  while (std::none_of(rows->begin(), rows->end(), keeps) &&
         rows->back().inverse_temperature() < kLargest) {
    absl::StatusOr<Row> row =
        trials->Try(2 * rows->back().inverse_temperature());
    if (absl::IsInvalidArgument(row.status())) break;
    RETURN_IF_ERROR(row.status());
    rows->push_back(*std::move(row));
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
  Trials trials(task);
  ASSIGN_OR_RETURN(const double wanted, trials.Wanted(report));
  const auto keeps = [wanted](const Row& row) {
    return row.measure() >= wanted;
  };
  ASSIGN_OR_RETURN(std::vector<Row> rows, TryAll(grid, &trials));
  if (task.grid.empty() &&
      report->measure_by_score() > report->measure_by_chance()) {
    RETURN_IF_ERROR(Extend(keeps, &trials, &rows));
  }
  auto chosen = std::find_if(rows.begin(), rows.end(), keeps);
  if (chosen == rows.end()) {
    chosen = std::max_element(
        rows.begin(), rows.end(),
        [](const Row& a, const Row& b) { return a.measure() < b.measure(); });
  }
  chosen->set_chosen(true);
  report->set_inverse_temperature(chosen->inverse_temperature());
  for (const Row& row : rows) *report->add_temperatures() = row;
  return report->inverse_temperature();
}

}  // namespace sortition
