#include "core/counterfactual/reward_models/ridge_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "Eigen/Cholesky"
#include "core/base/check.h"

namespace sortition {
namespace {

constexpr Eigen::Index kBlock = 32;  // Examples that are added at once.

constexpr double kNoSlope = std::numeric_limits<double>::infinity();
// λ is a share of the variance of a standardised column: λ Σw is what usual
// ridge regression calls the penalty. A factor of 10 apart costs little against
// the best. The least keeps the problem solvable with columns that are equal.
constexpr double kPenalties[] = {1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, kNoSlope};
constexpr size_t kNumPenalties = std::size(kPenalties);

// A variance this far below the mean square is rounding.
constexpr double kLeastVariance = 1e-10;

double WeightOf(const Eigen::MatrixXd& moments) { return moments(0, 0); }

// The sum over all folds but `out` and `also_out`.
Eigen::MatrixXd SumWithout(std::span<const Eigen::MatrixXd> folds, size_t out,
                           size_t also_out) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(folds[0].rows(), folds[0].cols());
  for (size_t f = 0; f < folds.size(); ++f) {
    if (f != out && f != also_out) sum += folds[f];
  }
  return sum;
}

}  // namespace

RidgeSums::RidgeSums(Eigen::Index num_columns)
    : moments_(Eigen::MatrixXd::Zero(num_columns + 2, num_columns + 2)),
      pending_(num_columns + 2, kBlock) {}

void RidgeSums::Add(std::span<const float> row, double target, double weight) {
  DCHECK(static_cast<Eigen::Index>(row.size()) == num_columns());
  const double root = std::sqrt(weight);
  double* const u = pending_.col(num_pending_).data();
  u[0] = root;
  for (size_t j = 0; j < row.size(); ++j) u[j + 1] = root * row[j];
  u[row.size() + 1] = root * target;
  if (++num_pending_ == kBlock) Flush();
}

void RidgeSums::Flush() {
  if (num_pending_ == 0) return;
  moments_.selfadjointView<Eigen::Upper>().rankUpdate(
      pending_.leftCols(num_pending_));
  num_pending_ = 0;
}

void RidgeSums::Merge(const RidgeSums& other) {
  CHECK(other.num_columns() == num_columns());
  moments_ += other.Moments();
}

Eigen::MatrixXd RidgeSums::Moments() const {
  RidgeSums flushed = *this;
  flushed.Flush();
  return std::move(flushed.moments_);
}

std::span<const double> RidgePenalties() { return kPenalties; }

StandardisedRidge::StandardisedRidge(const Eigen::MatrixXd& moments) {
  const Eigen::Index d = moments.rows() - 2;
  const double weight = WeightOf(moments);
  means_ = Eigen::VectorXd::Zero(d);
  scales_ = Eigen::VectorXd::Zero(d);
  if (!(weight > 0)) return;
  means_ = moments.row(0).segment(1, d).transpose() / weight;
  mean_target_ = moments(0, d + 1) / weight;
  for (Eigen::Index j = 0; j < d; ++j) {
    const double mean_square = moments(j + 1, j + 1) / weight;
    const double variance = mean_square - means_[j] * means_[j];
    if (variance > kLeastVariance * mean_square) {
      scales_[j] = 1 / std::sqrt(variance);
    }
  }
  correlations_.resize(d, d);
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) {
      // Column j of the upper triangle is row j of the lower one.
      correlations_(j, i) =
          (moments(i + 1, j + 1) / weight - means_[i] * means_[j]) *
          scales_[i] * scales_[j];
    }
  }
  covariances_ =
      (moments.col(d + 1).segment(1, d) / weight - mean_target_ * means_)
          .cwiseProduct(scales_);
}

LinearModel StandardisedRidge::Solve(double penalty) const {
  LinearModel model;
  model.coefficients = Eigen::VectorXd::Zero(means_.size());
  if (std::isfinite(penalty) && correlations_.size() > 0) {
    Eigen::MatrixXd matrix = correlations_;
    matrix.diagonal().array() += penalty;
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factors(matrix);
    // Rounding may leave a matrix of next to no rank indefinite.
    if (factors.info() == Eigen::Success) {
      model.coefficients = factors.solve(covariances_).cwiseProduct(scales_);
    }
  }
  model.intercept = mean_target_ - model.coefficients.dot(means_);
  return model;
}

double SquaredError(const LinearModel& model, const Eigen::MatrixXd& moments) {
  const Eigen::Index d = moments.rows() - 2;
  Eigen::VectorXd residual(d + 2);  // t - a - b·z as a function of u.
  residual << -model.intercept, -model.coefficients, 1;
  const double error =
      residual.dot(moments.selfadjointView<Eigen::Upper>() * residual);
  return std::max(0.0, error);  // Rounding.
}

std::vector<CrossFittedRidge> FitCrossFittedRidge(
    std::span<const Eigen::MatrixXd> folds) {
  CHECK(folds.size() >= 3);
  const size_t n = folds.size();
  // errors(k, λ) of fold k's model, over the other folds.
  Eigen::MatrixXd errors = Eigen::MatrixXd::Zero(
      static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(kNumPenalties));
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < k; ++j) {
      const Eigen::MatrixXd rest = SumWithout(folds, j, k);
      const StandardisedRidge solver(rest);
      for (size_t p = 0; p < kNumPenalties; ++p) {
        const LinearModel model = solver.Solve(kPenalties[p]);
        const auto column = static_cast<Eigen::Index>(p);
        errors(static_cast<Eigen::Index>(k), column) +=
            SquaredError(model, folds[j]);
        errors(static_cast<Eigen::Index>(j), column) +=
            SquaredError(model, folds[k]);
      }
    }
  }
  std::vector<CrossFittedRidge> fitted;
  for (size_t k = 0; k < n; ++k) {
    const auto row = errors.row(static_cast<Eigen::Index>(k));
    // The first of the reversed row: of equal errors, the largest penalty.
    Eigen::Index from_last = 0;
    const double least = row.reverse().minCoeff(&from_last);
    const double constant = row[row.size() - 1];
    const size_t best = kNumPenalties - 1 - static_cast<size_t>(from_last);
    fitted.push_back(
        {.model =
             StandardisedRidge(SumWithout(folds, k, k)).Solve(kPenalties[best]),
         .penalty = kPenalties[best],
         .expected_r_squared = constant > 0 ? 1 - least / constant : 0});
  }
  return fitted;
}

}  // namespace sortition
