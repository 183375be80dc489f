#pragma once
// Is a policy from labelled queries better than the one it would replace?
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/learners/labelled/label_measure.h"
#include "core/learners/labelled/labelled_learner.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/trainer.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Fewer have no interval that one could trust.
inline constexpr size_t kFewestGateQueries = 10;

struct GateTask {
  std::span<const LabelledItems> queries;  // That nothing was learned from.
  LabelMeasure measure;
  const model::v1::Model& model;
  const std::optional<StoredModel>& old;  // Unset: the first version.
  double confidence = 0.95;
  ParallelFor parallel_for;
};

// Writes the measures of both, their paired difference, the quality of their
// orders, or why they cannot be compared. Intervals are of the mean over
// queries like these, by Student's t, and include the error of draws where the
// measure is estimated by them; the same draws whenever it is asked. Returns
// whether the lower end of the difference is above 0; true for a first version.
// The queries may have a constant feature beyond those of the models.
absl::StatusOr<bool> PassesGate(const GateTask& task,
                                config::v1::LabelledReport* report);

}  // namespace sortition
