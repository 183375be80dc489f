#pragma once
// Attraction as a logistic function of features: the M-step of regression-EM
// [WangEtAl18].
#include <cstdint>
#include <span>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clicks/expected_counts.h"

namespace sortition {

// One row of features per item, row-major. A view. For features of impressions
// every impression is an item of its own.
struct ClickFeatures {
  std::span<const float> rows = {};
  uint32_t num_features = 0;  // 0: attractions are free.
};

// InvalidArgument if there are features and not one finite row for each item.
absl::Status CheckClickFeatures(const ClickFeatures& features,
                                uint32_t num_items);

// Writes 1 / (1 + e^-z), z = w·x_i + c, where `weights` is w followed by the
// intercept c.
void LogisticProbabilities(const ClickFeatures& features,
                           const Eigen::VectorXd& weights,
                           std::span<double> probabilities);

struct LogisticTask {
  const ClickFeatures& features;
  const ExpectedOutcomes& outcomes;  // By item.
  double l2;
};

// Returns weights for which
//   Σ_i hits_i log p_i + misses_i log(1 - p_i) - l2/2 ‖w‖²
// is at least what it is at `start`, and after some calls the largest: each
// makes a few steps of L-BFGS. Internal if the sum becomes infinite.
absl::StatusOr<Eigen::VectorXd> ImproveLogisticWeights(
    const LogisticTask& task, const Eigen::VectorXd& start);

}  // namespace sortition
