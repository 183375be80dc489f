#include "core/aggregation/lovasz_mallows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "Eigen/Cholesky"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/policies/boltzmann_orders.h"

namespace sortition {
namespace {

constexpr size_t kMaxExactItems = 7;

absl::Status ValidateObserved(std::span<const ObservedOrder> orders,
                              std::span<const double> increments) {
  if (orders.empty()) {
    return absl::InvalidArgumentError("there are no orders, must be some");
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
      return absl::InvalidArgumentError(
          absl::StrCat("order ", q, " has ", lists.rows(), " lists, must have ",
                       orders[0].lists.rows(), " as the first, and not 0"));
    }
    if (!lists.allFinite()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "order ", q, " has a score that is not finite, must be"));
    }
    if (const absl::Status status = ValidateOrder(orders[q].order, n);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("order ", q, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Σ_r δ(r) x_σ(r) of each list.
Eigen::VectorXd Agreement(const ObservedOrder& observed,
                          std::span<const double> increments) {
  Eigen::VectorXd agreement = Eigen::VectorXd::Zero(observed.lists.rows());
  for (size_t r = 0; r < observed.order.size(); ++r) {
    agreement += increments[r] * observed.lists.col(observed.order[r]);
  }
  return agreement;
}

// The model of scores s = Σ_i θ_i x_i.
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

// The gradient by s of log Z; its Hessian by central differences of it along
// each list, which is enough for Newton's method on a concave function.
class Likelihood {
 public:
  Likelihood(std::span<const ObservedOrder> orders,
             std::span<const double> increments, double ridge,
             const ParallelFor& parallel_for)
      : orders_(orders),
        increments_(increments),
        ridge_(ridge),
        parallel_for_(parallel_for) {}

  double Value(const Eigen::VectorXd& theta) const {
    const Eigen::VectorXd sum =
        Sum(1, [&](const ObservedOrder& observed, BoltzmannOrders* orders) {
          return Eigen::VectorXd::Constant(
              1, LogProbability(observed, increments_, theta, orders));
        });
    return sum(0) - 0.5 * ridge_ * theta.squaredNorm();
  }

  Eigen::VectorXd Gradient(const Eigen::VectorXd& theta) const {
    return -ridge_ * theta +
           Sum(theta.size(),
               [&](const ObservedOrder& observed, BoltzmannOrders* orders) {
                 Build(observed, increments_, theta, orders);
                 Eigen::VectorXd expected(observed.lists.cols());
                 orders->ExpectedRankWeights(
                     {expected.data(), static_cast<size_t>(expected.size())});
                 return Eigen::VectorXd(Agreement(observed, increments_) -
                                        observed.lists * expected);
               });
  }

  Eigen::MatrixXd Information(const Eigen::VectorXd& theta) const {
    const double step = 1e-5 * std::max(1.0, theta.cwiseAbs().maxCoeff());
    Eigen::MatrixXd information(theta.size(), theta.size());
    for (Eigen::Index i = 0; i < theta.size(); ++i) {
      Eigen::VectorXd moved = theta;
      moved(i) = theta(i) + step;
      const Eigen::VectorXd above = Gradient(moved);
      moved(i) = theta(i) - step;
      information.col(i) = (Gradient(moved) - above) / (2 * step);
    }
    return 0.5 * (information + information.transpose());
  }

  uint32_t passes() const { return passes_; }

 private:
  // Orders that one worker adds up: the bits do not depend on how many workers
  // there are.
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
  const double ridge_;
  const ParallelFor& parallel_for_;
  mutable uint32_t passes_ = 0;
};

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
  const Likelihood likelihood(orders, increments, ridge, parallel_for);
  MallowsFit fit;
  fit.theta = Eigen::VectorXd::Zero(orders[0].lists.rows());
  fit.uniform_log_likelihood = likelihood.Value(fit.theta);
  double value = fit.uniform_log_likelihood;
  constexpr int kMaxSteps = 50;
  constexpr double kTolerance = 1e-9;  // Of a step, in standard errors.
  Eigen::MatrixXd information = likelihood.Information(fit.theta);
  for (int i = 0; i < kMaxSteps && !fit.converged; ++i) {
    const Eigen::LDLT<Eigen::MatrixXd> solver(information);
    const Eigen::VectorXd gradient = likelihood.Gradient(fit.theta);
    const Eigen::VectorXd step = solver.solve(gradient);
    const double decrement = gradient.dot(step);
    if (!(decrement >= 0)) break;  // No curvature: lists that say the same.
    fit.converged = decrement < kTolerance;
    double share = 1;
    double next = likelihood.Value(fit.theta + step);
    while (!(next >= value) && share > 1e-6) {
      share /= 2;
      next = likelihood.Value(fit.theta + share * step);
    }
    if (!(next >= value)) break;
    fit.theta += share * step;
    value = next;
    information = likelihood.Information(fit.theta);
  }
  fit.passes = likelihood.passes();
  fit.log_likelihood = value + 0.5 * ridge * fit.theta.squaredNorm();
  const Eigen::LDLT<Eigen::MatrixXd> solver(information);
  fit.standard_error =
      solver
          .solve(Eigen::MatrixXd::Identity(fit.theta.size(), fit.theta.size()))
          .diagonal()
          .cwiseMax(0)
          .cwiseSqrt();
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
  BoltzmannOrders scratch;
  return LogProbability(observed, increments, theta, &scratch);
}

// exp of the matrix with the nodes on its diagonal and ones above it has it in
// its corner [Opitz64]. Less the smallest node, the matrix has no negative
// entry, so that neither its series nor its squaring cancels.
double ExpDividedDifference(std::span<const double> nodes) {
  const auto n = static_cast<Eigen::Index>(nodes.size());
  const double least = *std::min_element(nodes.begin(), nodes.end());
  const double most = *std::max_element(nodes.begin(), nodes.end());
  const int halvings =
      std::max(0, static_cast<int>(std::ceil(std::log2(most - least + 1))));
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    matrix(i, i) = std::ldexp(nodes[i] - least, -halvings);
    if (i + 1 < n) matrix(i, i + 1) = std::ldexp(1, -halvings);
  }
  // Entries of the k-th power fall like 2^k / k!: enough for the corner, which
  // begins with the power n - 1.
  const int terms = 30 + static_cast<int>(n);
  Eigen::MatrixXd power = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixXd sum = power;
  for (int k = 1; k <= terms; ++k) {
    power = power * matrix / k;
    sum += power;
  }
  for (int i = 0; i < halvings; ++i) sum = sum * sum;
  return std::exp(least) * sum(0, n - 1);
}

absl::StatusOr<Normaliser> ScoreNormaliser(const CardinalityFunction& f,
                                           double theta, uint64_t samples,
                                           uint64_t seed) {
  const size_t n = f.num_items();
  if (n == 0) {
    return absl::InvalidArgumentError("num_items is 0, must be at least 1");
  }
  if (!(theta >= 0 && theta < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("theta is ", theta, ", must be at least 0 and finite"));
  }
  Order trusted(n);
  std::iota(trusted.begin(), trusted.end(), 0);
  if (n <= kMaxExactItems) {
    Normaliser exact;
    Order order = trusted;
    std::vector<double> nodes(n + 1);
    do {
      std::vector<double> corner(n);
      for (size_t j = 0; j < n; ++j) {
        nodes[j] = -theta * f.Divergence(corner, trusted);
        corner[order[j]] = 1;
      }
      nodes[n] = -theta * f.Divergence(corner, trusted);
      exact.value += ExpDividedDifference(nodes);
    } while (std::next_permutation(order.begin(), order.end()));
    return exact;
  }
  if (samples < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "samples is ", samples, ", must be at least 2 for ", n, " items"));
  }
  RandomSequence random(StableHash(HashDomain::kTraining,
                                   {"score_normaliser", absl::StrCat(seed)}));
  double sum = 0;
  double squares = 0;
  std::vector<double> x(n);
  for (uint64_t i = 0; i < samples; ++i) {
    for (double& score : x) score = random.Uniform();
    const double density = std::exp(-theta * f.Divergence(x, trusted));
    sum += density;
    squares += density * density;
  }
  const auto count = static_cast<double>(samples);
  const double mean = sum / count;
  const double variance =
      std::max(0.0, squares / count - mean * mean) * count / (count - 1);
  return Normaliser{mean, std::sqrt(variance / count)};
}

}  // namespace sortition
