#include "core/counterfactual/rankings/pseudo_inverse.h"

#include <cmath>
#include <utility>

#include "Eigen/Eigenvalues"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

absl::Status CheckRanks(size_t num_candidates, size_t num_ranks) {
  if (num_ranks >= 1 && num_ranks <= num_candidates) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "num_ranks is ", num_ranks, ", must be in [1, ", num_candidates, "]"));
}

absl::Status CheckSum(absl::string_view field, double value, size_t most) {
  constexpr double kRounding = 1e-9;
  const double limit = static_cast<double>(most);
  if (value >= -kRounding && value <= limit + kRounding) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be in [0, ", most, "]"));
}

// Number of orders, or more than the limit.
size_t NumOrders(size_t num_candidates, size_t num_ranks) {
  size_t orders = 1;
  for (size_t k = 0; k < num_ranks && orders <= SlateMoments::kMaxEnumerated;
       ++k) {
    orders *= num_candidates - k;
  }
  return orders;
}

}  // namespace

absl::StatusOr<double> UniformPseudoInverseWeight(const UniformOrder& order) {
  RETURN_IF_ERROR(CheckRanks(order.num_candidates, order.num_ranks));
  RETURN_IF_ERROR(
      CheckSum("at_their_ranks", order.at_their_ranks, order.num_ranks));
  RETURN_IF_ERROR(CheckSum("anywhere", order.anywhere, order.num_ranks));
  const double n = static_cast<double>(order.num_candidates);
  const double ranks = static_cast<double>(order.num_ranks);
  double weight = 1 + (n - 1) * (order.at_their_ranks - order.anywhere / ranks);
  if (order.num_ranks < order.num_candidates) {
    weight += n * (n - 1) / (ranks * (n - ranks)) *
              (order.anywhere - ranks * ranks / n);
  }
  return weight;
}

SlateMoments::SlateMoments(size_t num_candidates, size_t num_ranks)
    : num_candidates_(num_candidates), num_ranks_(num_ranks) {
  const auto size = static_cast<Eigen::Index>(num_candidates * num_ranks);
  sums_ = Eigen::MatrixXd::Zero(size, size);
}

absl::StatusOr<SlateMoments> SlateMoments::Create(size_t num_candidates,
                                                  size_t num_ranks) {
  RETURN_IF_ERROR(CheckRanks(num_candidates, num_ranks));
  if (num_candidates > kMaxIndicators / num_ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_candidates times num_ranks is ", num_candidates, " times ",
        num_ranks, ", must be at most ", kMaxIndicators));
  }
  return SlateMoments(num_candidates, num_ranks);
}

absl::StatusOr<SlateMoments> SlateMoments::Enumerate(
    size_t num_candidates, size_t num_ranks, const Conditional& conditional) {
  ASSIGN_OR_RETURN(SlateMoments moments, Create(num_candidates, num_ranks));
  const size_t orders = NumOrders(num_candidates, num_ranks);
  if (orders > kMaxEnumerated) {
    return absl::InvalidArgumentError(
        absl::StrCat("orders of ", num_ranks, " of ", num_candidates,
                     " candidates are more than ", kMaxEnumerated,
                     ", the most that are enumerated"));
  }
  std::vector<int> above;
  absl::Status status;
  const std::function<void(double)> extend = [&](double probability) {
    if (above.size() == num_ranks) {
      moments.Add(above, probability);
      return;
    }
    std::vector<double> next(num_candidates);
    conditional(above, next);
    double sum = 0;
    for (const double p : next) sum += p;
    constexpr double kRounding = 1e-6;
    if (!(std::fabs(sum - 1) <= kRounding) && status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("probabilities of the items at rank ", above.size(),
                       " add up to ", sum, ", must add up to 1"));
    }
    for (size_t i = 0; i < num_candidates && status.ok(); ++i) {
      if (next[i] == 0) continue;
      above.push_back(static_cast<int>(i));
      // Also if an item is there twice or a probability is negative.
      status = next[i] > 0 ? moments.CheckOrder(above)
                           : absl::InvalidArgumentError(
                                 absl::StrCat("probability of item ", i, " is ",
                                              next[i], ", must be in [0, 1]"));
      if (status.ok()) extend(probability * next[i]);
      above.pop_back();
    }
  };
  extend(1);
  RETURN_IF_ERROR(status);
  return moments;
}

absl::Status SlateMoments::CheckOrder(std::span<const int> order) const {
  for (size_t k = 0; k < order.size() && k < num_ranks_; ++k) {
    if (order[k] < 0 || static_cast<size_t>(order[k]) >= num_candidates_) {
      return absl::InvalidArgumentError(
          absl::StrCat("order[", k, "] is ", order[k], ", must be in [0, ",
                       num_candidates_, ")"));
    }
    for (size_t m = 0; m < k; ++m) {
      if (order[m] != order[k]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("order[", k, "] is ", order[k], ", must not be at rank ",
                       m, " as well"));
    }
  }
  return absl::OkStatus();
}

void SlateMoments::Add(std::span<const int> order, double weight) {
  const auto at = [&](size_t k) {
    return static_cast<Eigen::Index>(
        static_cast<size_t>(order[k]) * num_ranks_ + k);
  };
  for (size_t k = 0; k < num_ranks_; ++k) {
    for (size_t m = 0; m < num_ranks_; ++m) sums_(at(k), at(m)) += weight;
  }
  total_ += weight;
}

absl::Status SlateMoments::AddSampled(std::span<const int> order) {
  if (order.size() < num_ranks_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "order has ", order.size(), " ranks, must have at least ", num_ranks_));
  }
  RETURN_IF_ERROR(CheckOrder(order));
  Add(order, 1);
  for (size_t k = 0; k < num_ranks_; ++k) samples_.push_back(order[k]);
  return absl::OkStatus();
}

double SlateMoments::marginal(size_t item, size_t rank) const {
  const auto at = static_cast<Eigen::Index>(item * num_ranks_ + rank);
  return total_ > 0 ? sums_(at, at) / total_ : 0;
}

absl::StatusOr<SlateInverse> SlateMoments::Invert() const {
  if (!(total_ > 0)) {
    return absl::FailedPreconditionError(
        "there are no orders, must be at least 1");
  }
  // Relative to the largest eigenvalue: far above rounding, and far below those
  // of orders with probabilities that a log may have.
  constexpr double kZero = 1e-10;
  Eigen::MatrixXd gamma = sums_ / total_;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gamma);
  if (solver.info() != Eigen::Success) {
    return absl::InternalError("eigenvalues did not converge");
  }
  Eigen::VectorXd values = solver.eigenvalues();
  const double least = kZero * values.maxCoeff();
  for (double& value : values) value = value > least ? 1 / value : 0;
  const Eigen::MatrixXd& vectors = solver.eigenvectors();
  Eigen::MatrixXd inverse = vectors * values.asDiagonal() * vectors.transpose();
  return SlateInverse(*this, std::move(gamma), std::move(inverse));
}

SlateInverse::SlateInverse(const SlateMoments& moments,
                           Eigen::MatrixXd second_moments,
                           Eigen::MatrixXd inverse)
    : moments_(moments),
      second_moments_(std::move(second_moments)),
      inverse_(std::move(inverse)) {}

absl::StatusOr<PseudoInverseWeight> SlateInverse::WeightOf(
    std::span<const double> marginals, std::span<const int> order) const {
  const size_t ranks = moments_.num_ranks_;
  const size_t size = moments_.num_candidates_ * ranks;
  if (marginals.size() != size || order.size() < ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "marginals has ", marginals.size(), " numbers and order ", order.size(),
        " ranks, must have ", size, " and at least ", ranks));
  }
  RETURN_IF_ERROR(moments_.CheckOrder(order));
  Eigen::VectorXd policy(static_cast<Eigen::Index>(size));
  for (size_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(
        CheckSum(absl::StrCat("marginals[", i, "]"), marginals[i], 1));
    policy[static_cast<Eigen::Index>(i)] = marginals[i];
  }
  Eigen::VectorXd logged = Eigen::VectorXd::Zero(policy.size());
  for (size_t k = 0; k < ranks; ++k) {
    logged[static_cast<Eigen::Index>(static_cast<size_t>(order[k]) * ranks +
                                     k)] = 1;
  }
  const Eigen::VectorXd u = inverse_ * policy;
  const Eigen::VectorXd v = inverse_ * logged;
  constexpr double kOutside = 1e-6;
  if ((second_moments_ * u - policy).lpNorm<Eigen::Infinity>() > kOutside) {
    return absl::InvalidArgumentError(
        "marginals are outside of what the orders of the log span: the policy "
        "shows what the log does not; a larger sample may help");
  }
  if ((second_moments_ * v - logged).lpNorm<Eigen::Infinity>() > kOutside) {
    return absl::InvalidArgumentError(
        "order is outside of what the other orders of the log span; a larger "
        "sample may help");
  }
  PseudoInverseWeight result = {u.dot(logged)};
  const std::vector<int>& samples = moments_.samples_;
  const size_t num_samples = samples.size() / ranks;
  if (num_samples < 2) return result;
  double squares = 0;
  for (size_t s = 0; s < num_samples; ++s) {
    double by_policy = 0;
    double by_order = 0;
    for (size_t k = 0; k < ranks; ++k) {
      const auto at = static_cast<Eigen::Index>(
          static_cast<size_t>(samples[s * ranks + k]) * ranks + k);
      by_policy += u[at];
      by_order += v[at];
    }
    // Its mean over the sample is pᵀ Γ⁺ Γ Γ⁺ 1_a = γ.
    const double deviation = by_policy * by_order - result.weight;
    squares += deviation * deviation;
  }
  const double count = static_cast<double>(num_samples);
  result.standard_error = std::sqrt(squares / (count - 1) / count);
  return result;
}

}  // namespace sortition
