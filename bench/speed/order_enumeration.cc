#include "bench/speed/order_enumeration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

namespace sortition {
namespace {

double RankWeight(size_t rank) {
  return std::log(2) / std::log(static_cast<double>(rank) + 2);
}

// Returns the DCG of the documents at these ranks.
double Dcg(std::span<const double> gains, const std::vector<size_t>& ranks) {
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return ranks[a] < ranks[b]; });
  double dcg = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    dcg += RankWeight(rank) * gains[order[rank]];
  }
  return dcg;
}

double Loss(std::span<const double> gains, const std::vector<size_t>& ranks) {
  std::vector<double> best(gains.begin(), gains.end());
  std::sort(best.begin(), best.end(), std::greater<>());
  double ideal = 0;
  for (size_t rank = 0; rank < best.size(); ++rank) {
    ideal += RankWeight(rank) * best[rank];
  }
  return 1 - Dcg(gains, ranks) / ideal;
}

}  // namespace

double EnumerateKullbackLeibler(std::span<const double> scores,
                                std::span<const double> gains,
                                double temperature,
                                std::span<double> gradient) {
  const size_t n = scores.size();
  std::vector<size_t> ranks(n);  // [document]
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  double z = 0;
  double target_z = 0;
  std::vector<double> expected(n), target_expected(n);
  double weight_of_target = 0;
  double loss_of_target = 0;
  do {
    double w = 0;
    for (size_t i = 0; i < n; ++i) w += RankWeight(ranks[i]) * scores[i];
    const double loss = Loss(gains, ranks);
    const double p = std::exp(w);
    const double q = std::exp(-loss / temperature);
    z += p;
    target_z += q;
    weight_of_target += q * w;
    loss_of_target += q * loss;
    for (size_t i = 0; i < n; ++i) {
      expected[i] += p * RankWeight(ranks[i]);
      target_expected[i] += q * RankWeight(ranks[i]);
    }
  } while (std::next_permutation(ranks.begin(), ranks.end()));
  for (size_t i = 0; i < n; ++i) {
    gradient[i] = expected[i] / z - target_expected[i] / target_z;
  }
  return -loss_of_target / temperature / target_z - std::log(target_z) -
         weight_of_target / target_z + std::log(z);
}

}  // namespace sortition
