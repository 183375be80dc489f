#pragma once
// Ridge regression: linear least squares with an L2 penalty.
#include <memory>

#include "Eigen/Core"

namespace sortition {

// The rows zᵢ of a regression, given by the operations that the solver needs,
// so that they are never copied.
class RidgeRows {
 public:
  virtual ~RidgeRows() = default;
  virtual Eigen::Index rows() const = 0;
  virtual Eigen::Index columns() const = 0;
  // Sets products[i] = zᵢ·v. Requires v.size() == columns(); resizes
  // `products`.
  virtual void Multiply(const Eigen::VectorXd& v,
                        Eigen::VectorXd* products) const = 0;
  // Adds Σᵢ factors[i] zᵢ to `sum`.
  virtual void AddTransposed(const Eigen::VectorXd& factors,
                             Eigen::VectorXd* sum) const = 0;
  // Adds Σᵢ zᵢⱼ² to sum[j] for each j.
  virtual void AddSquares(Eigen::VectorXd* sum) const = 0;
  // Adds Σᵢ zᵢ zᵢᵀ to `matrix`, of which only the lower triangle counts. This
  // one goes through the rows twice for each column; override it where there
  // are many rows.
  virtual void AddProducts(Eigen::MatrixXd* matrix) const;
};

// Problems with at most this many columns are solved by LDLᵀ, at the cost of
// columns() products; larger ones by conjugate gradients.
inline constexpr Eigen::Index kMaxDirectColumns = 256;

// Returns the solution of
//   min_v  Σᵢ (zᵢ·v - tᵢ)² + Σⱼ penaltiesⱼ vⱼ²
// for `targets` t and penalties >= 0. Deterministic. Conjugate gradients, with
// the diagonal as preconditioner, end when the residual is 1e-10 of the first
// one, or after 2 · columns() but at most 1000 steps: with badly scaled columns
// they may end before the minimum.
Eigen::VectorXd SolveRidge(const RidgeRows& rows,
                           const Eigen::VectorXd& targets,
                           const Eigen::VectorXd& penalties);

// Solves the same problem for many targets: what does not depend on them is
// computed once.
class RidgeSolver {
 public:
  // `rows` must outlive this object.
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
