#pragma once
// Computes the expected measure of a model's policy on labelled queries.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/data/labelled_items.h"
#include "core/learners/labelled/expected_measure.h"
#include "core/learners/labelled/label_measure.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns the model's weights, followed by 0 if the queries have a constant
// feature that the model does not have. Requires a query.
std::vector<double> WeightsFor(const model::v1::Model& model,
                               std::span<const LabelledItems> queries);

// Errors as ExpectedMeasure::Create(). Requires a query.
absl::StatusOr<ExpectedMeasure> MeasureOf(
    const model::v1::Model& model, std::span<const LabelledItems> queries,
    const LabelMeasure& measure, uint32_t draws = ExpectedMeasure::kDraws);

// Returns the expected measure of each query by ExpectedMeasure::Of(), with the
// query's index as seed: all policies get the same random numbers.
absl::StatusOr<std::vector<double>> MeasureAll(
    const ExpectedMeasure& measure, std::span<const LabelledItems> queries,
    const ParallelFor& parallel_for);

}  // namespace sortition
