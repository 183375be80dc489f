#include "core/aggregation/score_normaliser.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/aggregation/order.h"
#include "core/base/random.h"

namespace sortition {
namespace {

constexpr size_t kMaxExactItems = 7;

}  // namespace

// The divided difference is the upper right entry of the exponential of the
// matrix with the nodes on its diagonal and ones directly above it [Opitz64].
// With the smallest node subtracted from the diagonal, the matrix has no
// negative entry, so that neither the series nor the repeated squaring suffers
// from cancellation.
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
  // The entries of the k-th term fall like 2^k / k!, so these terms are enough
  // for the corner entry, to which only powers from n - 1 on contribute.
  const int terms = 30 + static_cast<int>(n);
  Eigen::MatrixXd power = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixXd sum = power;
  for (int k = 1; k <= terms; ++k) {
    power = power * matrix / k;
    sum += power;
  }
  // Logarithm of the factor taken out of `sum`, to keep its entries in range.
  double log_scale = 0;
  for (int i = 0; i < halvings; ++i) {
    const double largest = sum.maxCoeff();
    sum /= largest;
    sum = sum * sum;
    log_scale = 2 * (log_scale + std::log(largest));
  }
  return std::exp(least + log_scale + std::log(sum(0, n - 1)));
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
