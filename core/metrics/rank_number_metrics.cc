#include "core/metrics/rank_number_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/check.h"
#include "core/metrics/pair_metrics.h"

namespace sortition {
namespace {

// Returns the indexes by rank number - 1; equal values keep their order.
std::vector<uint32_t> Ascending(std::span<const double> values) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
    return values[i] < values[j];
  });
  return order;
}

// Returns G for the rank numbers that the order `ascending` gives.
double CumulativeGain(std::span<const uint32_t> ascending,
                      std::span<const double> labels, size_t k) {
  double gain = 0;
  for (size_t rank = 0; rank < k; ++rank) {
    gain += labels[ascending[ascending.size() - 1 - rank]] /
            std::log2(static_cast<double>(rank) + 2);
  }
  return gain;
}

}  // namespace

std::vector<uint32_t> RankNumbers(std::span<const double> values) {
  const std::vector<uint32_t> ascending = Ascending(values);
  std::vector<uint32_t> numbers(values.size());
  for (uint32_t number = 1; number <= numbers.size(); ++number) {
    numbers[ascending[number - 1]] = number;
  }
  return numbers;
}

double KendallTauCost(std::span<const double> scores,
                      std::span<const double> labels) {
  CHECK(scores.size() == labels.size());
  const auto n = static_cast<double>(labels.size());
  if (n < 2) return 0;
  const uint64_t distance =
      KendallDistance(Ascending(scores), Ascending(labels));
  return static_cast<double>(distance) / (n * (n - 1) / 2);
}

double NdcgCost(std::span<const double> scores, std::span<const double> labels,
                uint32_t k) {
  CHECK(scores.size() == labels.size());
  const size_t n = labels.size();
  const size_t ranks = k == 0 ? n : std::min<size_t>(n, k);
  return 1 - CumulativeGain(Ascending(scores), labels, ranks) /
                 CumulativeGain(Ascending(labels), labels, ranks);
}

}  // namespace sortition
