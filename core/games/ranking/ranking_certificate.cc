#include "core/games/ranking/ranking_certificate.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace sortition {
namespace {

std::vector<double> Falling(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted;
}

double Outside(double value, double low, double high) {
  return std::max({low - value, value - high, 0.0});
}

}  // namespace

double BestOrderScore(const Discounts& discounts,
                      std::span<const double> values) {
  const std::vector<double> sorted = Falling(values);
  double score = 0;
  for (size_t r = 0; r < sorted.size(); ++r) score += discounts[r] * sorted[r];
  return score;
}

double HullViolation(const Discounts& discounts,
                     std::span<const double> expected_discounts) {
  double violation = 0;
  double excess = 0;
  const std::vector<double> sorted = Falling(expected_discounts);
  for (size_t r = 0; r < sorted.size(); ++r) {
    excess += sorted[r] - discounts[r];
    violation = std::max(violation, excess);
  }
  return std::max(violation, -excess);
}

RankingCertificate CertifyRanking(std::span<const double> psi,
                                  const Discounts& discounts,
                                  const PositivesBound& positives,
                                  std::span<const double> expected_discounts,
                                  std::span<const double> q) {
  const size_t n = psi.size();
  RankingCertificate certificate;
  std::vector<double> costs(n);
  for (size_t i = 0; i < n; ++i) costs[i] = expected_discounts[i] - psi[i];
  std::sort(costs.begin(), costs.end());
  // Takes the cheapest items first: all that pay, but at least `fewest` and at
  // most `most`, the last one possibly in part.
  double room = positives.most;
  double owed = positives.fewest;
  for (const double cost : costs) {
    const double share = std::clamp(cost < 0 ? room : owed, 0.0, 1.0);
    if (share > 0) certificate.lower += share * cost;
    room -= share;
    owed -= share;
  }
  certificate.upper = BestOrderScore(discounts, q);
  double num_positives = 0;
  for (size_t i = 0; i < n; ++i) {
    num_positives += q[i];
    if (q[i] != 0) certificate.upper -= psi[i] * q[i];
    certificate.adversary_violation =
        std::max(certificate.adversary_violation, Outside(q[i], 0, 1));
  }
  certificate.adversary_violation =
      std::max(certificate.adversary_violation,
               Outside(num_positives, positives.fewest, positives.most));
  certificate.predictor_violation =
      HullViolation(discounts, expected_discounts);
  return certificate;
}

RankingCertificate CertifyGradedRanking(
    std::span<const double> psi, std::span<const double> gains,
    const Discounts& discounts, std::span<const double> expected_discounts,
    std::span<const double> level_probabilities) {
  const size_t n = expected_discounts.size();
  const size_t num_levels = gains.size();
  RankingCertificate certificate;
  std::vector<double> mean_gains(n, 0);
  for (size_t i = 0; i < n; ++i) {
    double least = HUGE_VAL;
    double sum = 0;
    for (size_t l = 0; l < num_levels; ++l) {
      const double potential = psi[i * num_levels + l];
      const double probability = level_probabilities[i * num_levels + l];
      least = std::min(least, expected_discounts[i] * gains[l] - potential);
      mean_gains[i] += probability * gains[l];
      if (probability != 0) certificate.upper -= probability * potential;
      sum += probability;
      certificate.adversary_violation =
          std::max(certificate.adversary_violation, Outside(probability, 0, 1));
    }
    certificate.lower += least;
    certificate.adversary_violation =
        std::max(certificate.adversary_violation, Outside(sum, 1, 1));
  }
  certificate.upper += BestOrderScore(discounts, mean_gains);
  certificate.predictor_violation =
      HullViolation(discounts, expected_discounts);
  return certificate;
}

}  // namespace sortition
