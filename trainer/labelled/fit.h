#pragma once
// sortition-trainer fit: makes a first model from a few labelled queries.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/fit.pb.h"

namespace sortition {

struct FitReport {
  uint64_t version = 0;  // The published version.
  uint32_t queries = 0;
  uint32_t queries_left_out = 0;  // By FitOptions.max_queries.
  uint64_t candidates = 0;
  uint64_t relevant = 0;
  uint64_t extreme_values = 0;  // No finite floats, and read by an option.
  uint32_t num_features = 0;
  uint32_t iterations = 0;
  bool converged = false;
  std::string drafted_features;  // As in ModelFrame.
};

// InvalidArgument for options that are out of range whatever the data are.
absl::Status ValidateFitOptions(const config::v1::FitOptions& options);

// Fits a logistic regression of relevance on the features of every candidate,
// those of the data or those that options.features makes of its columns.
// Features are scaled for training (core/learners/labelled/feature_scale.h), so
// that l2 does not depend on their units; the published weights are for the
// original features. Publishes the model as softmax selection that abstains if
// no candidate reaches probability 1/2 (select) or as Plackett-Luce (rank).
// InvalidArgument for bad options or data, or if the drawn queries have no
// relevant or only relevant candidates; FailedPrecondition if the model has a
// version already, unless `force`.
absl::StatusOr<FitReport> Fit(const config::v1::FitOptions& options);

}  // namespace sortition
