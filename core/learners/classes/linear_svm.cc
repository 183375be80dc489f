#include "core/learners/classes/linear_svm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/example_checks.h"

namespace sortition {
namespace {

using FloatRowMap =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic,
                                   Eigen::RowMajor>>;

absl::Status Validate(const BinaryData& data, const LinearSvmOptions& options) {
  RETURN_IF_ERROR(
      CheckExampleSizes(data.features, data.labels.size(), data.num_features));
  RETURN_IF_ERROR(CheckFiniteFeatures(data.features, data.num_features));
  if (!(options.lambda > 0 && options.lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lambda is ", options.lambda, ", must be above 0 and finite"));
  }
  if (!(options.gap_tolerance > 0) || options.max_passes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "gap_tolerance is ", options.gap_tolerance, " and max_passes ",
        options.max_passes, ", must be above 0 and at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LinearSvmResult> TrainLinearSvm(
    const BinaryData& data, const LinearSvmOptions& options) {
  RETURN_IF_ERROR(Validate(data, options));
  const auto n = static_cast<Eigen::Index>(data.labels.size());
  const FloatRowMap rows(data.features.data(), n, data.num_features);
  const Eigen::MatrixXd x = rows.cast<double>();
  const Eigen::VectorXd curvatures = x.rowwise().squaredNorm() / options.lambda;
  const double most = 1 / static_cast<double>(n);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    y(i) = data.labels[static_cast<size_t>(i)] != 0 ? 1 : -1;
  }
  Eigen::VectorXd alpha = Eigen::VectorXd::Zero(n);
  Eigen::VectorXd w = Eigen::VectorXd::Zero(x.cols());
  std::vector<Eigen::Index> order(data.labels.size());
  std::iota(order.begin(), order.end(), 0);
  RandomSequence random(StableHash(HashDomain::kTraining,
                                   {"linear_svm", absl::StrCat(options.seed)}));
  LinearSvmResult result;
  do {
    ++result.passes;
    std::shuffle(order.begin(), order.end(), random);
    for (const Eigen::Index i : order) {
      const double slope = 1 - y(i) * x.row(i).dot(w);
      const double step = curvatures(i) > 0 ? slope / curvatures(i) : most;
      const double moved = std::clamp(alpha(i) + step, 0.0, most);
      w += (moved - alpha(i)) * y(i) / options.lambda * x.row(i).transpose();
      alpha(i) = moved;
    }
    const double penalty = options.lambda / 2 * w.squaredNorm();
    const Eigen::ArrayXd margins = y.array() * (x * w).array();
    result.objective = penalty + (1 - margins).cwiseMax(0).mean();
    result.dual_bound = alpha.sum() - penalty;
  } while (result.gap() > options.gap_tolerance &&
           result.passes < options.max_passes);
  result.weights.assign(w.begin(), w.end());
  return result;
}

}  // namespace sortition
