#pragma once
// Classification into k labels (seed 001, sec. 17.1 and 17.2), either by
// reduction to binary learners or directly by the generalised hinge
//
//   min_W  λ/2 ‖W‖² + (1/n) Σ_i max_l [Δ(l, y_i) + (w_l - w_{y_i})·x_i]
//
// with a weight vector for each label (example 17.2) and the cost Δ of
// predicting l where y is right. A test has example 17.1, where one-against-all
// fails and the hinge does not.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/optim/one_slack.h"

namespace sortition {

struct MulticlassData {
  std::span<const float> features;   // Row-major, n × num_features, finite.
  std::span<const uint32_t> labels;  // n, below num_labels.
  uint32_t num_features = 0;
  uint32_t num_labels = 0;  // k, at least 2.
};

// Returns argmax_l of the scores, ties to the lowest label.
uint32_t PredictLabel(const Eigen::VectorXd& scores);

// A linear model with a row of weights for each label.
struct MulticlassModel {
  Eigen::MatrixXd weights;  // k × num_features.

  uint32_t Predict(std::span<const float> features) const;
};

// Returns the weights that a binary learner finds for features and their
// labels, 1 or 0.
using BinaryLearner = std::function<absl::StatusOr<Eigen::VectorXd>(
    std::span<const float> features, std::span<const uint8_t> labels)>;

// Learns w_l from label l against all others. InvalidArgument for the reasons
// of ValidateMulticlass(); errors of the learner.
absl::StatusOr<MulticlassModel> OneAgainstAll(const MulticlassData& data,
                                              const BinaryLearner& learner);

// Learns a binary model for every two labels i < j from their examples alone,
// where label i counts as 1. A label's score is the sum of the scores that its
// pairs give it, which is linear again. Leaves out pairs with a label that has
// no examples.
absl::StatusOr<MulticlassModel> AllPairs(const MulticlassData& data,
                                         const BinaryLearner& learner);

struct MulticlassHinge {
  // costs(l, y) >= 0 is Δ, the cost of predicting l for y; 0 for l = y. Empty:
  // 1 for every l ≠ y.
  Eigen::MatrixXd costs = {};
  config::v1::OneSlackOptions one_slack = {};
};

struct MulticlassResult {
  MulticlassModel model;
  OneSlackResult descent;
};

// Trains the hinge for one λ after another. Each starts where the last ended,
// and planes are kept.
class MulticlassHingeTrainer {
 public:
  // `data` must outlive it. InvalidArgument for the reasons of
  // ValidateMulticlass(), and where costs are not k × k, a cost is negative or
  // not finite, or one on the diagonal is not 0.
  static absl::StatusOr<std::unique_ptr<MulticlassHingeTrainer>> Create(
      const MulticlassData& data, const MulticlassHinge& options);

  // Deterministic. `on_step` may be empty. InvalidArgument where lambda is not
  // above 0 and finite.
  absl::StatusOr<MulticlassResult> Train(
      double lambda, const std::function<void()>& on_step = nullptr);

 private:
  MulticlassHingeTrainer(const MulticlassData& data, Eigen::MatrixXd costs,
                         const config::v1::OneSlackOptions& options);
  // Writes the hinge's mean at w as a plane that touches it there and is
  // nowhere above it.
  void Evaluate(const Eigen::VectorXd& w, RiskPlane* plane) const;

  const MulticlassData data_;
  const Eigen::MatrixXd costs_;
  const Eigen::MatrixXd rows_;     // Features.
  std::function<void()> on_step_;  // The callback of the current call.
  OneSlackSolver solver_;
  Eigen::VectorXd start_;
};

// InvalidArgument where sizes disagree, there is no example, a label is not
// below num_labels, num_labels is below 2, or a feature is not finite.
absl::Status ValidateMulticlass(const MulticlassData& data);

}  // namespace sortition
