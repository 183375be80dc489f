#include "core/learners/classes/logistic.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Cholesky"
#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Training stops where no entry of the gradient exceeds this times Σᵢ |xᵢⱼ|.
// The rounding error of such a sum is about 1e-16 times that, whatever the
// scale.
constexpr double kRelativeTolerance = 1e-12;

// The same tolerance for when no step lowers the objective any more. Near the
// optimum the objective, rounded to 1e-16, is flat where the gradient is some
// 1e-8 of its largest possible value. If the gradient is larger, the run has
// failed.
constexpr double kStalledTolerance = 1e-6;

// 2^-60 of a Newton step is below the rounding error of every point but 0.
constexpr int kMaxHalvings = 60;

using RowMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Returns log(1 + exp(z)) without overflow.
double LogOnePlusExp(double z) {
  return std::fmax(z, 0) + std::log1p(std::exp(-std::fabs(z)));
}

absl::Status Validate(const LogisticData& data) {
  if (data.num_features == 0 || data.labels.empty() ||
      data.features.size() !=
          data.labels.size() * static_cast<size_t>(data.num_features)) {
    return absl::InvalidArgumentError(
        absl::StrCat("features: there are ", data.features.size(),
                     " values, must be ", data.labels.size(), " rows of ",
                     data.num_features, ", none of them 0"));
  }
  const auto positives =
      std::count_if(data.labels.begin(), data.labels.end(),
                    [](uint8_t label) { return label != 0; });
  if (!data.has_intercept) return absl::OkStatus();
  if (positives == 0 || static_cast<size_t>(positives) == data.labels.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "labels: ", positives, " of ", data.labels.size(),
        " candidates are relevant, must be at least one and not all"));
  }
  return absl::OkStatus();
}

bool IsSmall(const Eigen::VectorXd& gradient, double tolerance,
             const Eigen::VectorXd& scale) {
  return (gradient.array().abs() <= tolerance * scale.array()).all();
}

// The problem. The intercept, if there is one, is the last column, all ones.
struct Problem {
  RowMatrix rows;
  Eigen::VectorXd labels;   // 0 or 1.
  Eigen::VectorXd penalty;  // l2 per coordinate; 0 for the intercept.

  double Value(const Eigen::VectorXd& point) const {
    const Eigen::VectorXd scores = rows * point;
    double value = 0.5 * penalty.dot(point.cwiseAbs2());
    for (Eigen::Index i = 0; i < scores.size(); ++i) {
      value += LogOnePlusExp(labels[i] > 0.5 ? -scores[i] : scores[i]);
    }
    return value;
  }

  // Returns the gradient and, unless it is null, writes the Hessian.
  Eigen::VectorXd Gradient(const Eigen::VectorXd& point,
                           Eigen::MatrixXd* hessian) const {
    const Eigen::ArrayXd scores = (rows * point).array();
    const Eigen::ArrayXd probability = 1 / (1 + (-scores).exp());
    if (hessian != nullptr) {
      const Eigen::VectorXd curvature = probability * (1 - probability);
      *hessian = rows.transpose() * curvature.asDiagonal() * rows;
      *hessian += penalty.asDiagonal();
    }
    return rows.transpose() * (probability.matrix() - labels) +
           penalty.cwiseProduct(point);
  }
};

Problem MakeProblem(const LogisticData& data, double l2) {
  const auto n = static_cast<Eigen::Index>(data.labels.size());
  const auto d = static_cast<Eigen::Index>(data.num_features);
  const Eigen::Index width = d + (data.has_intercept ? 1 : 0);
  Problem problem{RowMatrix::Ones(n, width), Eigen::VectorXd(n),
                  Eigen::VectorXd::Constant(width, l2)};
  if (data.has_intercept) problem.penalty[d] = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    problem.labels[i] = data.labels[i] != 0 ? 1 : 0;
    for (Eigen::Index j = 0; j < d; ++j) {
      problem.rows(i, j) = data.features[i * d + j];
    }
  }
  return problem;
}

}  // namespace

absl::StatusOr<LogisticResult> FitLogistic(
    const LogisticData& data, const config::v1::LogisticOptions& options) {
  RETURN_IF_ERROR(Validate(data));
  const Problem problem = MakeProblem(data, options.l2());
  const Eigen::Index d = data.num_features;
  const Eigen::VectorXd scale = problem.rows.cwiseAbs().colwise().sum();
  Eigen::VectorXd point = Eigen::VectorXd::Zero(problem.rows.cols());
  LogisticResult result;
  result.objective = problem.Value(point);
  Eigen::MatrixXd hessian;
  while (true) {
    const Eigen::VectorXd gradient = problem.Gradient(point, &hessian);
    result.gradient_norm = gradient.cwiseAbs().maxCoeff();
    result.converged = IsSmall(gradient, kRelativeTolerance, scale);
    if (result.converged || result.iterations >= options.max_iterations()) {
      break;
    }
    ++result.iterations;
    Eigen::VectorXd step = hessian.ldlt().solve(gradient);
    if (!step.allFinite()) {
      return absl::InternalError(absl::StrCat(
          "logistic regression: a Newton step is not finite at l2 ",
          options.l2(), "; try a larger l2"));
    }
    double value = problem.Value(point - step);
    for (int i = 0; i < kMaxHalvings && !(value < result.objective); ++i) {
      step /= 2;
      value = problem.Value(point - step);
    }
    if (!(value < result.objective)) {
      result.converged = IsSmall(gradient, kStalledTolerance, scale);
      break;
    }
    point -= step;
    result.objective = value;
  }
  result.weights.assign(point.data(), point.data() + d);
  if (data.has_intercept) result.intercept = point[d];
  return result;
}

}  // namespace sortition
