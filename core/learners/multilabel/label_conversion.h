#pragma once
// From supervised multi-label data to bandit tuples [SwaminathanJoachims15,
// sec. 6]: a logging policy fitted to a part of the data draws labels for each
// context, and all that is kept of the right ones is how many are wrong.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/data/multilabel_data.h"
#include "core/learners/multilabel/label_tuples.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

// Contexts with the labels that are right.
struct LabelledContexts {
  LabelContexts contexts;
  std::vector<uint8_t> labels;  // contexts.size() × q, row-major, 0 or 1: y*.
};

struct ContextShape {
  uint32_t num_features = 0;  // No fewer than the data's.
  uint32_t num_labels = 0;    // No fewer than the data's.
  bool intercept = true;      // A last feature on top, 1 in every context.
  bool keep_zeros = false;    // Values of 0 are dropped but for this.
};
LabelledContexts ToLabelledContexts(const MultilabelData& data,
                                    const ContextShape& shape);

// The conditional random field without edges: logistic regression per label,
//   min_w -(1/m) Σ_{i in rows} log h_w(y*_i|x_i) + μ ‖w‖²,  m = rows.size(),
// with h_w of core/learners/multilabel/labels_policy.h. InvalidArgument where
// there are no rows or a row or label is out of range.
absl::StatusOr<Eigen::VectorXd> FitLabels(
    const LabelledContexts& data, std::span<const uint32_t> rows, double l2,
    const config::v1::LbfgsOptions& options);

struct LabelConversion {
  double inverse_temperature = 1;  // α: logs by h_{αw}; finite, >= 0.
  uint32_t replays = 1;            // Passes over the contexts; >= 1.
  uint64_t seed = 1;
};

// Every context, `replays` times: labels drawn from h_{αw}, their exact
// log-propensity, and the loss δ = (wrong labels) / q - 1. A function of the
// seed alone.
LabelTuples DrawTuples(const LabelledContexts& data,
                       const Eigen::VectorXd& parameters,
                       const LabelConversion& conversion);

// Wrong labels per context, in [0, q].
struct HammingLosses {
  double expected = 0;  // Of labels drawn from h_w: Σ_l |y*_l - σ(s_l)|.
  double map = 0;       // Of the most probable labels: y_l = 1 where s_l > 0.
};
HammingLosses MeanHammingLosses(const LabelledContexts& data,
                                const Eigen::VectorXd& parameters);

}  // namespace sortition
