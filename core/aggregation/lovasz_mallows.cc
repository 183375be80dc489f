#include "core/aggregation/lovasz_mallows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "Eigen/Eigenvalues"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/policies/distributions/boltzmann_orders.h"

namespace sortition {
namespace {

absl::Status ValidateObserved(std::span<const ObservedOrder> orders,
                              std::span<const double> increments) {
  if (orders.empty()) {
    return absl::InvalidArgumentError(
        "there are no orders, must be at least one");
  }
  for (size_t q = 0; q < orders.size(); ++q) {
    const ScoreMatrix& lists = orders[q].lists;
    const auto n = static_cast<size_t>(lists.cols());
    if (n < 1 || n > BoltzmannOrders::kMaxItems || n > increments.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "order ", q, " has ", n, " items, must have 1 to ",
          std::min(BoltzmannOrders::kMaxItems, increments.size())));
    }
    if (lists.rows() != orders[0].lists.rows() || lists.rows() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "order ", q, " has ", lists.rows(), " lists, must have ",
          orders[0].lists.rows(), " like the first order, and at least 1"));
    }
    if (!lists.allFinite()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "order ", q, " has a score that is not finite; all must be finite"));
    }
    if (const absl::Status status = ValidateOrder(orders[q].order, n);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("order ", q, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Returns Σ_r δ(r) x_σ(r) for each list x.
Eigen::VectorXd Agreement(const ObservedOrder& observed,
                          std::span<const double> increments) {
  Eigen::VectorXd agreement = Eigen::VectorXd::Zero(observed.lists.rows());
  for (size_t r = 0; r < observed.order.size(); ++r) {
    agreement += increments[r] * observed.lists.col(observed.order[r]);
  }
  return agreement;
}

// Sets `orders` to the model with the scores s = Σ_i θ_i x_i.
void Build(const ObservedOrder& observed, std::span<const double> increments,
           const Eigen::VectorXd& theta, BoltzmannOrders* orders) {
  const Eigen::VectorXd scores = observed.lists.transpose() * theta;
  const auto n = static_cast<size_t>(scores.size());
  orders->Build(increments.first(n), {scores.data(), n});
}

double LogProbability(const ObservedOrder& observed,
                      std::span<const double> increments,
                      const Eigen::VectorXd& theta, BoltzmannOrders* orders) {
  Build(observed, increments, theta, orders);
  return Agreement(observed, increments).dot(theta) - orders->LogPartition();
}

// The orders with centred and scaled lists. The mean of each list is subtracted
// within each order, which changes no probability. Then each list is divided by
// its largest absolute score, so that step sizes do not depend on units.
struct ScaledOrders {
  ScaledOrders(std::span<const ObservedOrder> observed)
      : orders(observed.begin(), observed.end()),
        scale(Eigen::VectorXd::Zero(observed[0].lists.rows())) {
    for (ObservedOrder& order : orders) {
      order.lists.colwise() -= order.lists.rowwise().mean().eval();
      scale = scale.cwiseMax(order.lists.cwiseAbs().rowwise().maxCoeff());
    }
    scale = (scale.array() > 0).select(scale, 1);
    for (ObservedOrder& order : orders) {
      order.lists.array().colwise() /= scale.array();
    }
  }

  std::vector<ObservedOrder> orders;
  Eigen::VectorXd scale;  // The divisor of each list.
};

// The log-likelihood of the orders minus Σ_i ridge_i θ_i² / 2. The gradient
// uses the exact gradient of log Z with respect to s. The Hessian is computed
// by central differences of the gradient along each list, which is accurate
// enough for Newton's method on a concave function.
class Likelihood {
 public:
  Likelihood(std::span<const ObservedOrder> orders,
             std::span<const double> increments, Eigen::VectorXd ridge,
             const ParallelFor& parallel_for)
      : orders_(orders),
        increments_(increments),
        ridge_(std::move(ridge)),
        parallel_for_(parallel_for) {}

  const Eigen::VectorXd& ridge() const { return ridge_; }
  double Penalty(const Eigen::VectorXd& theta) const {
    return 0.5 * ridge_.dot(theta.cwiseAbs2());
  }

  double Value(const Eigen::VectorXd& theta) const {
    const Eigen::VectorXd sum =
        Sum(1, [&](const ObservedOrder& observed, BoltzmannOrders* orders) {
          return Eigen::VectorXd::Constant(
              1, LogProbability(observed, increments_, theta, orders));
        });
    return sum(0) - Penalty(theta);
  }

  Eigen::VectorXd Gradient(const Eigen::VectorXd& theta) const {
    return OrdersGradient(theta) - ridge_.cwiseProduct(theta);
  }

  // Returns the negative Hessian of the log-likelihood, without the ridge.
  Eigen::MatrixXd Information(const Eigen::VectorXd& theta) const {
    const double step = 1e-5 * std::max(1.0, theta.cwiseAbs().maxCoeff());
    Eigen::MatrixXd information(theta.size(), theta.size());
    for (Eigen::Index i = 0; i < theta.size(); ++i) {
      Eigen::VectorXd moved = theta;
      moved(i) = theta(i) + step;
      const Eigen::VectorXd above = OrdersGradient(moved);
      moved(i) = theta(i) - step;
      information.col(i) = (OrdersGradient(moved) - above) / (2 * step);
    }
    return 0.5 * (information + information.transpose());
  }

  uint32_t passes() const { return passes_; }

 private:
  Eigen::VectorXd OrdersGradient(const Eigen::VectorXd& theta) const {
    return Sum(theta.size(),
               [&](const ObservedOrder& observed, BoltzmannOrders* orders) {
                 Build(observed, increments_, theta, orders);
                 Eigen::VectorXd expected(observed.lists.cols());
                 orders->ExpectedRankWeights(
                     {expected.data(), static_cast<size_t>(expected.size())});
                 return Eigen::VectorXd(Agreement(observed, increments_) -
                                        observed.lists * expected);
               });
  }

  // Number of orders that one worker adds up. It is fixed, so that the results
  // are bit-identical for any number of workers.
  static constexpr size_t kBlock = 32;

  using Term = std::function<Eigen::VectorXd(const ObservedOrder& observed,
                                             BoltzmannOrders* scratch)>;
  Eigen::VectorXd Sum(Eigen::Index size, const Term& term) const {
    std::vector<Eigen::VectorXd> sums((orders_.size() + kBlock - 1) / kBlock);
    ++passes_;
    parallel_for_(sums.size(), [&](size_t block) {
      sums[block] = Eigen::VectorXd::Zero(size);
      BoltzmannOrders scratch;
      const size_t end = std::min(orders_.size(), (block + 1) * kBlock);
      for (size_t q = block * kBlock; q < end; ++q) {
        sums[block] += term(orders_[q], &scratch);
      }
    });
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(size);
    for (const Eigen::VectorXd& part : sums) sum += part;
    return sum;
  }

  const std::span<const ObservedOrder> orders_;
  const std::span<const double> increments_;
  const Eigen::VectorXd ridge_;
  const ParallelFor& parallel_for_;
  mutable uint32_t passes_ = 0;
};

// Eigenvalues below this share of the largest count as 0. The matrix is
// positive semidefinite; smaller and negative eigenvalues are rounding errors.
constexpr double kNoCurvature = 1e-9;

struct Curvature {
  explicit Curvature(const Eigen::MatrixXd& matrix) : solver(matrix) {
    const Eigen::VectorXd& values = solver.eigenvalues();
    const double least = kNoCurvature * values.maxCoeff();
    inverse = (values.array() > std::max(least, 0.0))
                  .select(values.cwiseInverse(), 0);
  }
  Eigen::VectorXd Solve(const Eigen::VectorXd& v) const {
    const Eigen::MatrixXd& vectors = solver.eigenvectors();
    return vectors * inverse.cwiseProduct(vectors.transpose() * v);
  }

  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  Eigen::VectorXd inverse;  // 1 / eigenvalue; 0: no curvature.
};

Eigen::VectorXd StandardErrors(const Eigen::MatrixXd& information) {
  // A θ_i is undetermined if more than this share of its unit vector lies in
  // directions without curvature.
  constexpr double kShare = 1e-6;
  const Curvature curvature(information);
  const Eigen::MatrixXd squares = curvature.solver.eigenvectors().cwiseAbs2();
  const Eigen::VectorXd unknown =
      squares * (curvature.inverse.array() == 0).matrix().cast<double>();
  return (unknown.array() > kShare)
      .select(HUGE_VAL, (squares * curvature.inverse).cwiseSqrt());
}

// Maximises the likelihood, starting at θ = 0, and fills in all of `fit` except
// the standard errors.
void MaximiseByNewton(const Likelihood& likelihood, MallowsFit* fit) {
  constexpr int kMaxSteps = 50;
  constexpr double kTolerance = 1e-9;  // In squared standard errors.
  Eigen::VectorXd& theta = fit->theta;
  theta = Eigen::VectorXd::Zero(likelihood.ridge().size());
  double value = likelihood.Value(theta);
  fit->uniform_log_likelihood = value;
  fit->termination = absl::StrCat("not converged in ", kMaxSteps, " steps");
  for (int i = 0; i < kMaxSteps && !fit->converged; ++i) {
    Eigen::MatrixXd information = likelihood.Information(theta);
    information.diagonal() += likelihood.ridge();
    const Eigen::VectorXd gradient = likelihood.Gradient(theta);
    const Eigen::VectorXd step = Curvature(information).Solve(gradient);
    fit->converged = gradient.dot(step) < kTolerance;
    double share = 1;
    double next = likelihood.Value(theta + step);
    while (!(next >= value) && share > 1e-6) {
      share /= 2;
      next = likelihood.Value(theta + share * step);
    }
    if (!(next >= value)) {
      fit->termination = "not converged: no step improves the likelihood";
      break;
    }
    theta += share * step;
    value = next;
  }
  if (fit->converged) fit->termination = "converged";
  fit->log_likelihood = value + likelihood.Penalty(theta);
}

absl::Status ValidateModel(std::span<const ObservedOrder> orders,
                           std::span<const double> increments) {
  RETURN_IF_ERROR(
      CardinalityFunction::Create({increments.begin(), increments.end()})
          .status());
  return ValidateObserved(orders, increments);
}

}  // namespace

absl::StatusOr<MallowsFit> FitMallows(std::span<const ObservedOrder> orders,
                                      std::span<const double> increments,
                                      double ridge,
                                      const ParallelFor& parallel_for) {
  RETURN_IF_ERROR(ValidateModel(orders, increments));
  if (!(ridge >= 0 && ridge < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ridge is ", ridge, ", must be at least 0 and finite"));
  }
  const ScaledOrders scaled(orders);
  const Likelihood likelihood(scaled.orders, increments,
                              ridge * scaled.scale.cwiseAbs2().cwiseInverse(),
                              parallel_for);
  MallowsFit fit;
  MaximiseByNewton(likelihood, &fit);
  fit.standard_error = StandardErrors(likelihood.Information(fit.theta))
                           .cwiseQuotient(scaled.scale);
  fit.theta = fit.theta.cwiseQuotient(scaled.scale);
  fit.passes = likelihood.passes();
  return fit;
}

absl::StatusOr<double> MallowsLogProbability(const ObservedOrder& observed,
                                             std::span<const double> increments,
                                             const Eigen::VectorXd& theta) {
  RETURN_IF_ERROR(ValidateModel(std::span(&observed, 1), increments));
  if (theta.size() != observed.lists.rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat("theta has ", theta.size(), " entries, must have ",
                     observed.lists.rows(), ", one for each list"));
  }
  const ScaledOrders scaled({&observed, 1});
  BoltzmannOrders scratch;
  return LogProbability(scaled.orders[0], increments,
                        theta.cwiseProduct(scaled.scale), &scratch);
}

}  // namespace sortition
