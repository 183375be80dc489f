#pragma once
// Ridge regression: linear least squares with an L2 penalty.
#include <memory>

#include "Eigen/Core"

namespace sortition {

// The rows zᵢ of a regression, as what is done with them: nothing is copied.
class RidgeRows {
 public:
  virtual ~RidgeRows() = default;
  virtual Eigen::Index rows() const = 0;
  virtual Eigen::Index columns() const = 0;
  // products[i] = zᵢ·v. Requires v.size() == columns(); resizes `products`.
  virtual void Multiply(const Eigen::VectorXd& v,
                        Eigen::VectorXd* products) const = 0;
  // sum += Σᵢ factors[i] zᵢ.
  virtual void AddTransposed(const Eigen::VectorXd& factors,
                             Eigen::VectorXd* sum) const = 0;
  // sum[j] += Σᵢ zᵢⱼ².
  virtual void AddSquares(Eigen::VectorXd* sum) const = 0;
};

// Up to so many columns by LDLᵀ, at the cost of columns() products; more by
// conjugate gradients.
inline constexpr Eigen::Index kMaxDirectColumns = 256;

//   min_v  Σᵢ (zᵢ·v - tᵢ)² + Σⱼ penaltiesⱼ vⱼ²
// for `targets` t and penalties >= 0. Deterministic. Conjugate gradients, with
// the diagonal as preconditioner, end where the residual is 1e-10 of the first
// or after 2 · columns() steps, 1000 at most: badly scaled columns may leave
// them short of the minimum.
Eigen::VectorXd SolveRidge(const RidgeRows& rows,
                           const Eigen::VectorXd& targets,
                           const Eigen::VectorXd& penalties);

// The same for many targets: what does not depend on them is done once.
class RidgeSolver {
 public:
  // `rows` must outlive it.
  RidgeSolver(const RidgeRows& rows, Eigen::VectorXd penalties);

  bool direct() const { return rows_.columns() <= kMaxDirectColumns; }
  Eigen::VectorXd Solve(const Eigen::VectorXd& targets) const;

 private:
  const RidgeRows& rows_;
  const Eigen::VectorXd penalties_;
  std::shared_ptr<const Eigen::LDLT<Eigen::MatrixXd>> factors_;  // If direct.
};

namespace internal {
Eigen::VectorXd SolveRidgeDirectly(const RidgeRows& rows,
                                   const Eigen::VectorXd& targets,
                                   const Eigen::VectorXd& penalties);
Eigen::VectorXd SolveRidgeByGradients(const RidgeRows& rows,
                                      const Eigen::VectorXd& targets,
                                      const Eigen::VectorXd& penalties);
}  // namespace internal

}  // namespace sortition
