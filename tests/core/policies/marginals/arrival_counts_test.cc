#include "core/policies/marginals/arrival_counts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// P(k of the events other than `left_out` happen), by all subsets.
double CountByEnumeration(const std::vector<double>& p, size_t left_out,
                          size_t k) {
  double sum = 0;
  for (uint32_t subset = 0; subset < (1u << p.size()); ++subset) {
    if ((subset >> left_out) & 1) continue;
    double product = 1;
    size_t count = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      if (j == left_out) continue;
      const bool happens = ((subset >> j) & 1) != 0;
      product *= happens ? p[j] : 1 - p[j];
      count += happens ? 1 : 0;
    }
    if (count == k) sum += product;
  }
  return sum;
}

std::vector<double> Complements(const std::vector<double>& p) {
  std::vector<double> q;
  for (const double value : p) q.push_back(1 - value);
  return q;
}

// Likely events only, unlikely ones only, and both; certain and impossible
// ones; one event.
const std::vector<std::vector<double>> kCases = {
    {0.9, 0.7, 0.6, 0.5, 0.3, 0.1, 0.01},
    {0.99, 0.98, 0.9, 0.8, 0.7},
    {0.5, 0.4, 0.3, 0.2, 0.1, 1e-9},
    {1, 1, 0.6, 0.2, 0},
    {0.6, 0.5},
    {0.8},
    {0.2}};

TEST(ArrivalCountsTest, EqualsEnumeration) {
  for (const std::vector<double>& p : kCases) {
    const std::vector<double> q = Complements(p);
    for (size_t ranks = 1; ranks <= p.size() + 1; ++ranks) {
      ArrivalCounts counts;
      counts.Build(p, q, ranks);
      for (size_t k = 0; k < ranks; ++k) {
        for (size_t d = 0; d < p.size(); ++d) {
          EXPECT_NEAR(counts.others()[k * p.size() + d],
                      CountByEnumeration(p, d, k), 1e-15)
              << d << " " << k;
        }
      }
    }
  }
}

// Values are linear in each p, so that central differences are exact but for
// rounding, of order 1e-16 / step.
TEST(ArrivalCountsTest, GradientIsThatOfCentralDifferences) {
  RandomSequence random(SeedKey(1));
  for (const std::vector<double>& p : kCases) {
    for (const size_t ranks : {size_t{1}, size_t{3}, p.size()}) {
      std::vector<double> factors(ranks * p.size());
      for (double& factor : factors) factor = random.Normal();
      std::vector<double> q = Complements(p);
      ArrivalCounts counts;
      counts.Build(p, q, ranks);
      std::vector<double> gradient(p.size(), 0);
      counts.AddGradient(factors, gradient);
      const auto value = [&](const std::vector<double>& at) {
        double sum = 0;
        for (size_t k = 0; k < ranks; ++k) {
          for (size_t d = 0; d < at.size(); ++d) {
            sum += factors[k * at.size() + d] * CountByEnumeration(at, d, k);
          }
        }
        return sum;
      };
      for (size_t j = 0; j < p.size(); ++j) {
        std::vector<double> above = p, below = p;
        above[j] += 1e-3;
        below[j] -= 1e-3;
        EXPECT_NEAR(gradient[j], (value(above) - value(below)) / 2e-3, 1e-11)
            << j;
      }
    }
  }
}

// Each column is a distribution; the counts of all events follow from any of
// them.
TEST(ArrivalCountsTest, LargeColumnsAreDistributions) {
  constexpr size_t kEvents = 300;
  RandomSequence random(SeedKey(2));
  std::vector<double> p(kEvents);
  for (double& value : p) value = random.Uniform();
  std::sort(p.rbegin(), p.rend());
  const std::vector<double> q = Complements(p);
  ArrivalCounts counts;
  counts.Build(p, q, kEvents + 1);
  for (size_t d = 0; d < kEvents; ++d) {
    double sum = 0;
    for (size_t k = 0; k <= kEvents; ++k) {
      const double other = counts.others()[k * kEvents + d];
      const double before = k == 0 ? 0 : counts.others()[(k - 1) * kEvents + d];
      EXPECT_GE(other, -1e-16);
      EXPECT_NEAR(q[d] * other + p[d] * before, counts.counts()[k], 1e-15);
      sum += other;
    }
    EXPECT_NEAR(sum, 1, 1e-13);
  }
}

}  // namespace
}  // namespace sortition
