#pragma once
// Chooses how random a policy is whose scores only say which order is better.
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/data/labelled_items.h"
#include "core/learners/labelled/label_measure.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The expected measure alone would choose the largest inverse temperature, that
// is, the deterministic policy. Such a policy explores nothing, so nothing
// could be learned from its log. We take the smallest inverse temperature that
// keeps this share of the deterministic policy's gain over chance.
inline constexpr double kKeptGain = 0.95;

// Maximum number of queries to measure on. If there are more, takes an evenly
// spaced sample.
inline constexpr size_t kMostTemperatureQueries = 1000;

struct TemperatureTask {
  std::span<const LabelledItems> queries;
  LabelMeasure measure;
  const model::v1::Model& model;
  // Each must be in (0, 1e6]. If there are none, tries 1, 2, ... 1024, and
  // halves and doubles further until the smallest keeps less than the share and
  // the largest keeps it.
  std::vector<double> grid;
  ParallelFor parallel_for;
};

// Chooses without the uniform mixture, which is given. If no value keeps the
// share, takes the one with the largest measure. A single value is not
// measured. Writes the figures to the report. Leaves out values that cannot be
// drawn exactly; if that is all of them, returns the error of the smallest.
absl::StatusOr<double> ChooseTemperature(const TemperatureTask& task,
                                         config::v1::LabelledReport* report);

}  // namespace sortition
