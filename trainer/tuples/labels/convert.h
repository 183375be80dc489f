#pragma once
// sortition-trainer convert: makes bandit tuples from supervised multi-label
// data [SwaminathanJoachims15, sec. 6] and writes them as tuple segments.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/learners/multilabel/label_conversion.h"
#include "sortition/config/v1/convert.pb.h"

namespace sortition {

struct ConvertReport {
  uint64_t contexts = 0;
  uint32_t num_features = 0;  // Includes the intercept.
  uint32_t num_labels = 0;
  uint64_t extreme_values = 0;  // Of all files; no finite floats.
  // Number that the logging policy was fitted to.
  uint64_t fitted_contexts = 0;
  uint64_t tuples = 0;
  uint64_t segments = 0;
  uint64_t version = 0;  // Version of the logging policy, as in the tuples.
  bool published = false;
  double mean_wrong_labels = 0;            // Per tuple, in [0, q].
  std::optional<HammingLosses> test;       // For the logging policy h_{αw}.
  std::array<double, 5> log_propensities;  // At kPercentiles.
  double seconds = 0;

  static constexpr std::array<int, 5> kPercentiles = {0, 10, 50, 90, 100};
};

// Fits the logging policy to a part of the contexts, draws labels for all of
// them, and writes all the tuples or none. Deterministic except for times and
// for names and headers of segments. Uses the larger number of features and of
// labels in data and test. InvalidArgument for bad options or data;
// FailedPrecondition if, without `force`, the output directory is not empty or
// the model already has a version (see ConvertOptions).
absl::StatusOr<ConvertReport> Convert(
    const config::v1::ConvertOptions& options);

// Returns the report as text for people.
std::string FormatConvertReport(const config::v1::ConvertOptions& options,
                                const ConvertReport& report);

}  // namespace sortition
