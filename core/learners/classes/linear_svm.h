#pragma once
// Linear support vector machine of binary labels y = ±1 by dual coordinate
// descent [HsiehEtAl08]:
//
//   min_w  λ/2 ‖w‖² + (1/n) Σ_i max(0, 1 - y_i w·x_i)
//
// There is no intercept: append a feature of 1 for one, which is then
// penalised, too. The dual variables α_i in [0, 1/n] give w = Σ α_i y_i x_i /
// λ, and Σ α_i - λ/2 ‖w‖² bounds the minimum from below.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct BinaryData {
  std::span<const float> features;  // Row-major, n × num_features, finite.
  std::span<const uint8_t> labels;  // n; 1: y = 1, 0: y = -1.
  uint32_t num_features = 0;
};

struct LinearSvmOptions {
  double lambda = 1e-3;         // Above 0.
  double gap_tolerance = 1e-4;  // Absolute gap of the objective, above 0.
  uint32_t max_passes = 1000;   // At least 1.
  uint64_t seed = 1;  // Seed of the order in which examples are visited.
};

struct LinearSvmResult {
  std::vector<double> weights;
  double objective = 0;
  double dual_bound = 0;  // The minimum is not below it.
  uint32_t passes = 0;
  double gap() const { return objective - dual_bound; }
};

// Costs O(n d) per pass. Deterministic. InvalidArgument where sizes disagree,
// there is no example or no feature, a feature is not finite, or an option is
// out of its range.
absl::StatusOr<LinearSvmResult> TrainLinearSvm(const BinaryData& data,
                                               const LinearSvmOptions& options);

}  // namespace sortition
