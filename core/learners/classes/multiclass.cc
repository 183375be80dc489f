#include "core/learners/classes/multiclass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/example_checks.h"

namespace sortition {
namespace {

using FloatRows =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd Rows(const MulticlassData& data) {
  return Eigen::Map<const FloatRows>(
             data.features.data(),
             static_cast<Eigen::Index>(data.labels.size()), data.num_features)
      .cast<double>();
}

absl::Status ValidateCosts(const Eigen::MatrixXd& costs, uint32_t num_labels) {
  if (costs.rows() != num_labels || costs.cols() != num_labels) {
    return absl::InvalidArgumentError(
        absl::StrCat("costs are ", costs.rows(), " x ", costs.cols(),
                     ", must be ", num_labels, " x ", num_labels));
  }
  for (Eigen::Index y = 0; y < costs.cols(); ++y) {
    for (Eigen::Index l = 0; l < costs.rows(); ++l) {
      const double cost = costs(l, y);
      if (l == y ? cost == 0 : cost >= 0 && cost < HUGE_VAL) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("costs(", l, ", ", y, ") is ", cost, ", must be ",
                       l == y ? "0" : "at least 0 and finite"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Eigen::VectorXd> Learn(const MulticlassData& data,
                                      const BinaryLearner& learner,
                                      std::span<const float> features,
                                      std::span<const uint8_t> labels) {
  ASSIGN_OR_RETURN(Eigen::VectorXd weights, learner(features, labels));
  if (weights.size() == data.num_features) return weights;
  return absl::InvalidArgumentError(
      absl::StrCat("the binary learner gave ", weights.size(),
                   " weights, must be ", data.num_features));
}

}  // namespace

absl::Status ValidateMulticlass(const MulticlassData& data) {
  const size_t n = data.labels.size();
  RETURN_IF_ERROR(CheckExampleSizes(data.features, n, data.num_features));
  if (data.num_labels < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_labels is ", data.num_labels, ", must be at least 2"));
  }
  for (size_t i = 0; i < n; ++i) {
    if (data.labels[i] < data.num_labels) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("labels[", i, "] is ", data.labels[i], ", must be below ",
                     data.num_labels));
  }
  return CheckFiniteFeatures(data.features, data.num_features);
}

uint32_t PredictLabel(const Eigen::VectorXd& scores) {
  Eigen::Index best = 0;
  scores.maxCoeff(&best);
  return static_cast<uint32_t>(best);
}

uint32_t MulticlassModel::Predict(std::span<const float> features) const {
  const Eigen::Map<const Eigen::VectorXf> x(
      features.data(), static_cast<Eigen::Index>(features.size()));
  return PredictLabel(weights * x.cast<double>());
}

absl::StatusOr<MulticlassModel> OneAgainstAll(const MulticlassData& data,
                                              const BinaryLearner& learner) {
  RETURN_IF_ERROR(ValidateMulticlass(data));
  MulticlassModel model;
  model.weights.resize(data.num_labels, data.num_features);
  std::vector<uint8_t> labels(data.labels.size());
  for (uint32_t l = 0; l < data.num_labels; ++l) {
    std::transform(data.labels.begin(), data.labels.end(), labels.begin(),
                   [l](uint32_t label) { return label == l ? 1 : 0; });
    ASSIGN_OR_RETURN(const Eigen::VectorXd weights,
                     Learn(data, learner, data.features, labels));
    model.weights.row(l) = weights;
  }
  return model;
}

absl::StatusOr<MulticlassModel> AllPairs(const MulticlassData& data,
                                         const BinaryLearner& learner) {
  RETURN_IF_ERROR(ValidateMulticlass(data));
  MulticlassModel model;
  model.weights.setZero(data.num_labels, data.num_features);
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (uint32_t i = 0; i < data.num_labels; ++i) {
    for (uint32_t j = i + 1; j < data.num_labels; ++j) {
      features.clear();
      labels.clear();
      for (size_t e = 0; e < data.labels.size(); ++e) {
        if (data.labels[e] != i && data.labels[e] != j) continue;
        const std::span<const float> row =
            data.features.subspan(e * data.num_features, data.num_features);
        features.insert(features.end(), row.begin(), row.end());
        labels.push_back(data.labels[e] == i ? 1 : 0);
      }
      const auto ones = std::count(labels.begin(), labels.end(), 1);
      if (ones == 0 || static_cast<size_t>(ones) == labels.size()) continue;
      ASSIGN_OR_RETURN(const Eigen::VectorXd weights,
                       Learn(data, learner, features, labels));
      model.weights.row(i) += weights;
      model.weights.row(j) -= weights;
    }
  }
  return model;
}

absl::StatusOr<std::unique_ptr<MulticlassHingeTrainer>>
MulticlassHingeTrainer::Create(const MulticlassData& data,
                               const MulticlassHinge& options) {
  RETURN_IF_ERROR(ValidateMulticlass(data));
  const Eigen::Index k = data.num_labels;
  Eigen::MatrixXd costs = options.costs;
  if (costs.size() == 0) {
    costs = Eigen::MatrixXd::Ones(k, k) - Eigen::MatrixXd::Identity(k, k);
  }
  RETURN_IF_ERROR(ValidateCosts(costs, data.num_labels));
  return std::unique_ptr<MulticlassHingeTrainer>(
      new MulticlassHingeTrainer(data, std::move(costs), options.one_slack));
}

MulticlassHingeTrainer::MulticlassHingeTrainer(
    const MulticlassData& data, Eigen::MatrixXd costs,
    const config::v1::OneSlackOptions& options)
    : data_(data),
      costs_(std::move(costs)),
      rows_(Rows(data)),
      solver_(
          [this](const Eigen::VectorXd& w, double, RiskPlane* plane) {
            if (on_step_) on_step_();
            Evaluate(w, plane);
            return absl::OkStatus();
          },
          costs_.rows() * rows_.cols(), options),
      start_(Eigen::VectorXd::Zero(costs_.rows() * rows_.cols())) {}

void MulticlassHingeTrainer::Evaluate(const Eigen::VectorXd& w,
                                      RiskPlane* plane) const {
  const Eigen::Index n = rows_.rows();
  const Eigen::Map<const RowMatrix> weights(w.data(), costs_.rows(),
                                            rows_.cols());
  const Eigen::MatrixXd scores = weights * rows_.transpose();  // k × n.
  Eigen::MatrixXd moved = Eigen::MatrixXd::Zero(costs_.rows(), n);
  const double mean = 1 / static_cast<double>(n);
  plane->offset = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::Index y = data_.labels[static_cast<size_t>(i)];
    Eigen::Index worst = 0;
    (costs_.col(y) + scores.col(i)).maxCoeff(&worst);
    if (worst == y) continue;
    plane->offset += mean * costs_(worst, y);
    moved(worst, i) += mean;
    moved(y, i) -= mean;
  }
  plane->slope.resize(w.size());
  Eigen::Map<RowMatrix>(plane->slope.data(), costs_.rows(), rows_.cols()) =
      moved * rows_;
  plane->value = plane->offset + plane->slope.dot(w);
}

absl::StatusOr<MulticlassResult> MulticlassHingeTrainer::Train(
    double lambda, const std::function<void()>& on_step) {
  on_step_ = on_step;
  MulticlassResult result;
  ASSIGN_OR_RETURN(result.descent, solver_.Minimise(lambda, start_));
  on_step_ = nullptr;
  start_ = result.descent.weights;
  result.model.weights =
      Eigen::Map<const RowMatrix>(start_.data(), costs_.rows(), rows_.cols());
  return result;
}

}  // namespace sortition
