#pragma once
// Converts supervised multi-label data to bandit tuples [SwaminathanJoachims15,
// sec. 6]. A logging policy fitted to a part of the data draws labels for each
// context. Of the right labels, the tuples keep only how many of the drawn ones
// are wrong.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/data/multilabel_data.h"
#include "core/learners/multilabel/label_tuples.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

// Contexts with their right labels.
struct LabelledContexts {
  LabelContexts contexts;
  std::vector<uint8_t> labels;  // y*: contexts.size() × q, row-major, 0 or 1.
};

struct ContextShape {
  uint32_t num_features = 0;  // At least as many as in the data.
  uint32_t num_labels = 0;    // At least as many as in the data.
  bool intercept = true;      // Adds a last feature, 1 in every context.
  bool keep_zeros = false;    // False: values of 0 are dropped.
};
LabelledContexts ToLabelledContexts(const MultilabelData& data,
                                    const ContextShape& shape);

// Fits the conditional random field without edges, which is a logistic
// regression for each label:
//   min_w -(1/m) Σ_{i in rows} log h_w(y*_i|x_i) + μ ‖w‖²,  m = rows.size(),
// with h_w of core/learners/multilabel/labels_policy.h. InvalidArgument if
// there are no rows, or a row or label is out of range.
absl::StatusOr<Eigen::VectorXd> FitLabels(
    const LabelledContexts& data, std::span<const uint32_t> rows, double l2,
    const config::v1::LbfgsOptions& options);

struct LabelConversion {
  double inverse_temperature = 1;  // α: draws from h_{αw}; finite, >= 0.
  uint32_t replays = 1;            // Passes over the contexts; >= 1.
  uint64_t seed = 1;
};

// Returns tuples for every context, `replays` times: labels drawn from h_{αw},
// their exact log-propensity, and the loss δ = (wrong labels) / q - 1. Random
// only in the seed.
LabelTuples DrawTuples(const LabelledContexts& data,
                       const Eigen::VectorXd& parameters,
                       const LabelConversion& conversion);

// Means of the wrong labels per context, in [0, q].
struct HammingLosses {
  double expected = 0;  // For labels drawn from h_w: Σ_l |y*_l - σ(s_l)|.
  double map = 0;       // For the most probable labels: y_l = 1 where s_l > 0.
};
HammingLosses MeanHammingLosses(const LabelledContexts& data,
                                const Eigen::VectorXd& parameters);

}  // namespace sortition
