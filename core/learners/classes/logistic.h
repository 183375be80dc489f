#pragma once
// L2-regularised logistic regression by Newton's method:
//
//   min_{w,b}  Σᵢ log(1 + exp(-yᵢ (w·xᵢ + b))) + (l2 / 2) ‖w‖²,  yᵢ = ±1,
//
// The intercept b is not penalised, and may be left out. Each candidate of the
// labelled queries is an example. This gives the first model, which is served
// with abstain score -b: a candidate whose probability of being relevant is
// below 1/2 scores below abstaining (the threshold rule of
// [SwaminathanJoachims15, sec. 7]).
//
// Newton steps are halved until the objective falls. A step costs O(n d² + d³).
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

struct LogisticData {
  std::span<const float> features;  // Row-major, n × num_features, finite.
  std::span<const uint8_t> labels;  // n; 1: relevant, 0: not.
  uint32_t num_features = 0;
  bool has_intercept = true;  // False: b = 0.
};

struct LogisticResult {
  std::vector<double> weights;
  double intercept = 0;
  double objective = 0;
  double gradient_norm = 0;  // Largest absolute entry at the end.
  uint32_t iterations = 0;
  // Rounding error prevents further progress in the gradient or the objective,
  // and max_iterations was not reached.
  bool converged = false;
};

// InvalidArgument where sizes disagree, or where there is an intercept and all
// labels are equal (the intercept would be infinite). Internal where a step is
// not finite: l2 = 0 and the features are linearly dependent or separate the
// labels.
absl::StatusOr<LogisticResult> FitLogistic(
    const LogisticData& data, const config::v1::LogisticOptions& options);

}  // namespace sortition
