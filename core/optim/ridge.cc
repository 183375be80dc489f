#include "core/optim/ridge.h"

#include <algorithm>
#include <utility>

#include "Eigen/Cholesky"
#include "core/base/check.h"

namespace sortition {
namespace {

// The matrix ZᵀZ + diag(penalties), given by its products with vectors.
class NormalMatrix {
 public:
  NormalMatrix(const RidgeRows& rows, const Eigen::VectorXd& penalties)
      : rows_(rows), penalties_(penalties) {}

  Eigen::VectorXd operator*(const Eigen::VectorXd& v) {
    rows_.Multiply(v, &products_);
    Eigen::VectorXd result = penalties_.cwiseProduct(v);
    rows_.AddTransposed(products_, &result);
    return result;
  }

 private:
  const RidgeRows& rows_;
  const Eigen::VectorXd& penalties_;
  Eigen::VectorXd products_;
};

Eigen::VectorXd RightSide(const RidgeRows& rows,
                          const Eigen::VectorXd& targets) {
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(rows.columns());
  rows.AddTransposed(targets, &sum);
  return sum;
}

Eigen::LDLT<Eigen::MatrixXd> Factor(const RidgeRows& rows,
                                    const Eigen::VectorXd& penalties) {
  Eigen::MatrixXd matrix = penalties.asDiagonal();
  rows.AddProducts(&matrix);
  return matrix.ldlt();  // Reads the lower triangle.
}

}  // namespace

void RidgeRows::AddProducts(Eigen::MatrixXd* matrix) const {
  Eigen::VectorXd products;
  for (Eigen::Index j = 0; j < columns(); ++j) {
    Multiply(Eigen::VectorXd::Unit(columns(), j), &products);
    Eigen::VectorXd column = matrix->col(j);
    AddTransposed(products, &column);
    matrix->col(j) = column;
  }
}

namespace internal {

Eigen::VectorXd SolveRidgeDirectly(const RidgeRows& rows,
                                   const Eigen::VectorXd& targets,
                                   const Eigen::VectorXd& penalties) {
  return Factor(rows, penalties).solve(RightSide(rows, targets));
}

// Preconditioned conjugate gradients [HestenesStiefel52].
Eigen::VectorXd SolveRidgeByGradients(const RidgeRows& rows,
                                      const Eigen::VectorXd& targets,
                                      const Eigen::VectorXd& penalties) {
  constexpr double kTolerance = 1e-10;
  constexpr Eigen::Index kMaxSteps = 1000;
  const Eigen::Index d = rows.columns();
  NormalMatrix normal(rows, penalties);
  Eigen::VectorXd diagonal = penalties;
  rows.AddSquares(&diagonal);
  // The coefficient of a column that is always 0 and not penalised stays 0.
  diagonal = (diagonal.array() > 0).select(diagonal, 1.0);
  Eigen::VectorXd solution = Eigen::VectorXd::Zero(d);
  Eigen::VectorXd residual = RightSide(rows, targets);
  Eigen::VectorXd scaled = residual.cwiseQuotient(diagonal);
  Eigen::VectorXd direction = scaled;
  double product = residual.dot(scaled);
  const double last = kTolerance * residual.norm();
  const Eigen::Index steps = std::min(2 * d, kMaxSteps);
  for (Eigen::Index k = 0; k < steps && residual.norm() > last; ++k) {
    const Eigen::VectorXd image = normal * direction;
    const double curvature = direction.dot(image);
    if (!(curvature > 0)) break;  // Rounding prevents any further progress.
    const double step = product / curvature;
    solution += step * direction;
    residual -= step * image;
    scaled = residual.cwiseQuotient(diagonal);
    const double next = residual.dot(scaled);
    direction = scaled + (next / product) * direction;
    product = next;
  }
  return solution;
}

}  // namespace internal

RidgeSolver::RidgeSolver(const RidgeRows& rows, Eigen::VectorXd penalties)
    : rows_(rows), penalties_(std::move(penalties)) {
  CHECK(penalties_.size() == rows.columns());
  if (!direct()) return;
  factors_ = std::make_shared<const Eigen::LDLT<Eigen::MatrixXd>>(
      Factor(rows_, penalties_));
}

Eigen::VectorXd RidgeSolver::Solve(const Eigen::VectorXd& targets) const {
  CHECK(targets.size() == rows_.rows());
  if (direct()) return factors_->solve(RightSide(rows_, targets));
  return internal::SolveRidgeByGradients(rows_, targets, penalties_);
}

Eigen::VectorXd SolveRidge(const RidgeRows& rows,
                           const Eigen::VectorXd& targets,
                           const Eigen::VectorXd& penalties) {
  return RidgeSolver(rows, penalties).Solve(targets);
}

}  // namespace sortition
