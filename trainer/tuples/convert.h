#pragma once
// sortition-trainer convert: bandit tuples from supervised multi-label data
// [SwaminathanJoachims15, sec. 6], as tuple segments.
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
  uint32_t num_features = 0;  // With the intercept's.
  uint32_t num_labels = 0;
  uint64_t fitted_contexts = 0;  // To which the logging policy was fitted.
  uint64_t tuples = 0;
  uint64_t segments = 0;
  uint64_t version = 0;  // Of the logging policy, as the tuples name it.
  bool published = false;
  double mean_wrong_labels = 0;            // Of the tuples, in [0, q].
  std::optional<HammingLosses> test;       // Of h_{αw}, as it logs.
  std::array<double, 5> log_propensities;  // Percentiles of kPercentiles.
  double seconds = 0;

  static constexpr std::array<int, 5> kPercentiles = {0, 10, 50, 90, 100};
};

// Fits the logging policy to a part of the contexts, draws labels for all of
// them, writes the tuples: all or nothing. Deterministic but for times, and
// segment names and headers. Features and labels are as many as the larger of
// data and test has. InvalidArgument for bad options or data,
// FailedPrecondition where the output holds something or the model has a
// version already, but for `force` (see ConvertOptions).
absl::StatusOr<ConvertReport> Convert(
    const config::v1::ConvertOptions& options);

// For people.
std::string FormatConvertReport(const config::v1::ConvertOptions& options,
                                const ConvertReport& report);

}  // namespace sortition
