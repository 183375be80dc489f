#include "core/games/ranking/ndcg_certificate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {
namespace {

// Returns min_y Σ_{i in y} (d_i / Z_|y| - ψ_i), including the score of the
// empty set.
double LowerBound(std::span<const double> psi, const Discounts& discounts,
                  std::optional<double> empty_score,
                  std::span<const double> expected_discounts) {
  double lower = empty_score.value_or(HUGE_VAL);
  std::vector<double> costs(psi.size());
  double normaliser = 0;
  for (size_t s = 1; s <= psi.size(); ++s) {
    normaliser += discounts[s - 1];
    for (size_t i = 0; i < psi.size(); ++i) {
      costs[i] = expected_discounts[i] / normaliser - psi[i];
    }
    const auto end = costs.begin() + static_cast<std::ptrdiff_t>(s);
    std::nth_element(costs.begin(), end - 1, costs.end());
    lower = std::min(lower, std::accumulate(costs.begin(), end, 0.0));
  }
  return lower;
}

// Returns by how much the positives violate the conditions on sets of that size
// and probability.
double Violation(const NdcgSets& sets) {
  double violation = std::max(0.0, -sets.probability);
  double sum = 0;
  for (const double positive : sets.positives) {
    sum += positive;
    violation = std::max({violation, -positive, positive - sets.probability});
  }
  const auto size = static_cast<double>(sets.num_positives);
  return std::max(violation, std::abs(sum - size * sets.probability));
}

}  // namespace

RankingCertificate CertifyNdcg(std::span<const double> psi,
                               const Discounts& discounts,
                               std::optional<double> empty_score,
                               std::span<const double> expected_discounts,
                               std::span<const NdcgSets> sets) {
  RankingCertificate certificate;
  certificate.lower =
      LowerBound(psi, discounts, empty_score, expected_discounts);
  certificate.predictor_violation =
      HullViolation(discounts, expected_discounts);
  std::vector<double> weights(psi.size(), 0);  // E[y / Z].
  double probability = 0;
  for (const NdcgSets& of_size : sets) {
    certificate.adversary_violation =
        std::max(certificate.adversary_violation, Violation(of_size));
    probability += of_size.probability;
    if (of_size.num_positives == 0) {
      certificate.upper += of_size.probability * empty_score.value_or(HUGE_VAL);
      continue;
    }
    double normaliser = 0;
    for (size_t r = 0; r < of_size.num_positives; ++r) {
      normaliser += discounts[r];
    }
    for (size_t i = 0; i < psi.size(); ++i) {
      const double positive = of_size.positives[i];
      weights[i] += positive / normaliser;
      if (positive != 0) certificate.upper -= psi[i] * positive;
    }
  }
  certificate.upper += BestOrderScore(discounts, weights);
  certificate.adversary_violation =
      std::max(certificate.adversary_violation, std::abs(probability - 1));
  return certificate;
}

}  // namespace sortition
