#pragma once
// How random should a policy be whose scores say only which order is better?
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/data/labelled_items.h"
#include "core/learners/labelled/label_measure.h"
#include "sortition/config/v1/trainer.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The expected measure alone wants an inverse temperature without bound: going
// by score. Such a policy explores nothing, and nothing is learned from its
// log. So the smallest is taken that keeps this share of what going by score
// gains over chance.
inline constexpr double kKeptGain = 0.95;

// Queries that it is measured on, at most; more are taken at equal distances.
inline constexpr size_t kMostTemperatureQueries = 1000;

struct TemperatureTask {
  std::span<const LabelledItems> queries;
  LabelMeasure measure;
  const model::v1::Model& model;
  // Each within (0, 1e6]; none: 1, 2, .. 1024, and halves and doubles beyond,
  // until the smallest keeps less than is wanted and the largest keeps it.
  std::vector<double> grid;
  ParallelFor parallel_for;
};

// Chosen without the uniform mixture, which is given; where none keeps so much,
// the one of largest measure. One alone is not measured. Writes what it found.
// Those beyond what can be drawn exactly are left out; the error of the
// smallest, where all are.
absl::StatusOr<double> ChooseTemperature(const TemperatureTask& task,
                                         config::v1::LabelledReport* report);

}  // namespace sortition
