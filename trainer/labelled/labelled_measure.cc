#include "trainer/labelled/labelled_measure.h"

#include "absl/status/status.h"
#include "core/base/status_macros.h"

namespace sortition {

std::vector<double> WeightsFor(const model::v1::Model& model,
                               std::span<const LabelledItems> queries) {
  std::vector<double> weights(model.weights().begin(), model.weights().end());
  if (queries[0].items.num_features() == weights.size() + 1) {
    weights.push_back(0);
  }
  return weights;
}

absl::StatusOr<ExpectedMeasure> MeasureOf(
    const model::v1::Model& model, std::span<const LabelledItems> queries,
    const LabelMeasure& measure, uint32_t draws) {
  return ExpectedMeasure::Create(model.policy(), WeightsFor(model, queries),
                                 measure, draws);
}

absl::StatusOr<std::vector<double>> MeasureAll(
    const ExpectedMeasure& measure, std::span<const LabelledItems> queries,
    const ParallelFor& parallel_for) {
  std::vector<double> values(queries.size());
  std::vector<absl::Status> statuses(queries.size());
  parallel_for(values.size(), [&](size_t j) {
    const auto value = measure.Of(queries[j], j);
    statuses[j] = value.status();
    if (value.ok()) values[j] = *value;
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return values;
}

}  // namespace sortition
