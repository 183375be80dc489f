#include "core/policies/marginals/plackett_luce_marginals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/policies/marginals/order_marginals.h"

namespace sortition {
namespace {

// What the default tolerance promises for one entry, and rounding.
constexpr double kError = 1e-12;

std::vector<double> Marginals(const std::vector<double>& logits, size_t top_k,
                              double tolerance = 1e-12) {
  PlackettLuceMarginals marginals(tolerance);
  std::vector<double> result(top_k * logits.size());
  marginals.Compute(logits, top_k, result);
  return result;
}

double LargestDifference(const std::vector<double>& a,
                         const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

TEST(PlackettLuceMarginalsTest, EqualEnumeration) {
  RandomSequence random(SeedKey(1));
  for (size_t n = 1; n <= 6; ++n) {
    for (const double scale : {0.0, 0.3, 2.0, 10.0, 300.0}) {
      const std::vector<double> logits = RandomLogits(n, scale, &random);
      for (uint32_t top_k = 1; top_k <= n; ++top_k) {
        EXPECT_LT(LargestDifference(Marginals(logits, top_k),
                                    EnumeratedMarginals(logits, top_k)),
                  kError)
            << n << " " << scale << " " << top_k;
      }
    }
  }
}

TEST(PlackettLuceMarginalsTest, EqualEnumerationAtExtremeLogits) {
  for (const std::vector<double>& logits :
       std::vector<std::vector<double>>{{20, -20, 20, -20, 0, 0},
                                        {20, 20, 20, 20, 20, -20},
                                        {-20, 20, -20, -20, -20, -20},
                                        {1e3, -1e3, 0, 0.5, 1e3},
                                        {40, 39, 1, 0},
                                        {1e8, 1e8 - 1, -1e8}}) {
    const auto n = static_cast<uint32_t>(logits.size());
    // Long doubles hold exponentials of logits to 1e4.
    std::vector<double> shifted = logits;
    if (logits[0] > 1e4) shifted = {1, 0, -5000};
    EXPECT_LT(LargestDifference(Marginals(logits, n),
                                EnumeratedMarginals(shifted, n)),
              kError)
        << logits[0] << " " << logits[1];
  }
}

TEST(PlackettLuceMarginalsTest, EqualScoresShareEveryRank) {
  for (const size_t n : {size_t{7}, size_t{1000}}) {
    const size_t top_k = std::min<size_t>(n, 50);
    for (const double marginal : Marginals(std::vector<double>(n, -3), top_k)) {
      EXPECT_NEAR(marginal, 1.0 / static_cast<double>(n), kError);
    }
  }
}

// The n marginals of one rank may err by the tolerance together; rounding of n
// terms comes on top.
TEST(PlackettLuceMarginalsTest, EveryRankIsTakenAndNobodyComesTwice) {
  RandomSequence random(SeedKey(2));
  for (const double scale : {0.1, 1.0, 4.0, 11.5}) {
    for (const size_t n : {size_t{30}, size_t{1000}}) {
      std::vector<double> logits = RandomLogits(n, scale, &random);
      for (double& logit : logits) logit = std::clamp(logit, -20.0, 20.0);
      const size_t top_k = n == 30 ? 30 : 50;
      const std::vector<double> marginals = Marginals(logits, top_k);
      for (size_t k = 0; k < top_k; ++k) {
        EXPECT_NEAR(std::accumulate(marginals.begin() + k * n,
                                    marginals.begin() + (k + 1) * n, 0.0),
                    1, 2e-12)
            << n << " " << scale << " " << k;
      }
      for (size_t d = 0; d < n; ++d) {
        double sum = 0;
        for (size_t k = 0; k < top_k; ++k) sum += marginals[k * n + d];
        EXPECT_LE(sum, 1 + 2e-12);
        if (top_k == n) {
          EXPECT_NEAR(sum, 1, 3e-12);
        }
      }
    }
  }
}

TEST(PlackettLuceMarginalsTest, ErrorsAreBelowTheTolerance) {
  RandomSequence random(SeedKey(3));
  for (const size_t n : {size_t{12}, size_t{200}}) {
    const std::vector<double> logits = RandomLogits(n, 5, &random);
    const std::vector<double> exact = Marginals(logits, 12, 1e-14);
    for (const double tolerance : {1e-3, 1e-5, 1e-8, 1e-10}) {
      EXPECT_LT(LargestDifference(Marginals(logits, 12, tolerance), exact),
                tolerance);
    }
  }
}

TEST(PlackettLuceMarginalsTest, FewerRanksAreTheFirstOfMore) {
  RandomSequence random(SeedKey(4));
  const std::vector<double> logits = RandomLogits(40, 2, &random);
  std::vector<double> more = Marginals(logits, 20);
  more.resize(size_t{5} * 40);
  EXPECT_LT(LargestDifference(Marginals(logits, 5), more), kError);
}

// Differences of enumerated values, in long double, by Richardson's rule: the
// error is of order 1e-10.
TEST(PlackettLuceMarginalsTest, GradientEqualsThatOfEnumeration) {
  RandomSequence random(SeedKey(5));
  for (size_t n = 1; n <= 5; ++n) {
    for (const double scale : {0.0, 1.0, 6.0}) {
      const std::vector<double> logits = RandomLogits(n, scale, &random);
      for (uint32_t top_k = 1; top_k <= n; ++top_k) {
        const std::vector<double> a = RandomLogits(top_k * n, 1, &random);
        const auto value = [&](size_t j, double step) {
          std::vector<double> moved = logits;
          moved[j] += step;
          const std::vector<double> m = EnumeratedMarginals(moved, top_k);
          return std::inner_product(a.begin(), a.end(), m.begin(), 0.0);
        };
        PlackettLuceMarginals marginals;
        std::vector<double> gradient(n);
        EXPECT_NEAR(marginals.Differentiate(logits, a, gradient), value(0, 0),
                    1e-11);
        for (size_t j = 0; j < n; ++j) {
          const double h = 1e-3;
          const double wide = (value(j, 2 * h) - value(j, -2 * h)) / (4 * h);
          const double narrow = (value(j, h) - value(j, -h)) / (2 * h);
          EXPECT_NEAR(gradient[j], (4 * narrow - wide) / 3, 1e-9)
              << n << " " << scale << " " << top_k;
        }
      }
    }
  }
}

// Compares with differences of Compute(), and with the fact that adding a
// constant to all logits changes nothing.
TEST(PlackettLuceMarginalsTest, GradientOfManyCandidates) {
  RandomSequence random(SeedKey(6));
  for (const double scale : {0.5, 8.0}) {
    const size_t n = 300;
    const size_t top_k = 20;
    const std::vector<double> logits = RandomLogits(n, scale, &random);
    const std::vector<double> a = RandomLogits(top_k * n, 1, &random);
    PlackettLuceMarginals marginals;
    std::vector<double> gradient(n);
    const double value = marginals.Differentiate(logits, a, gradient);
    const auto value_at = [&](const std::vector<double>& at) {
      const std::vector<double> m = Marginals(at, top_k);
      return std::inner_product(a.begin(), a.end(), m.begin(), 0.0);
    };
    EXPECT_NEAR(value, value_at(logits), 1e-11);
    EXPECT_NEAR(std::accumulate(gradient.begin(), gradient.end(), 0.0), 0,
                1e-10);
    const size_t best = static_cast<size_t>(
        std::max_element(logits.begin(), logits.end()) - logits.begin());
    for (const size_t j : {size_t{0}, size_t{17}, size_t{299}, best}) {
      std::vector<double> above = logits, below = logits;
      above[j] += 1e-4;
      below[j] -= 1e-4;
      EXPECT_NEAR(gradient[j], (value_at(above) - value_at(below)) / 2e-4,
                  1e-7);
    }
  }
}

TEST(PlackettLuceMarginalsTest, RanksWithoutCoefficientsCostNothing) {
  const std::vector<double> logits = {0.5, -1, 2, 0};
  std::vector<double> a(16, 0);
  a[1] = 2;
  PlackettLuceMarginals marginals;
  std::vector<double> gradient(4);
  marginals.Differentiate(logits, a, gradient);
  EXPECT_EQ(marginals.num_nodes(), 0u);  // The softmax needs none.
  a[1] = 0;
  EXPECT_EQ(marginals.Differentiate(logits, a, gradient), 0);
  EXPECT_EQ(gradient, std::vector<double>(4, 0));
}

TEST(PlackettLuceMarginalsTest, MixtureIsThatOfTheDistribution) {
  DistributionCase c;
  c.kind = ActionKind::kRank;
  c.scores = {0.3, -1.2, 0.8, 0.0, 1.6};
  c.top_k = 4;
  c.inverse_temperature = 1.5;
  c.uniform_mixture = 0.2;
  const auto distribution = c.Distribution();
  const std::vector<double> expected =
      MarginalsOverOrders(5, 4, [&](const Action& order) {
        return std::exp(static_cast<long double>(
            distribution->LogPropensity(c.Candidates(), order)));
      });
  std::vector<double> logits = c.scores;
  for (double& logit : logits) logit *= c.inverse_temperature;
  std::vector<double> marginals = Marginals(logits, 4);
  MixMarginals(c.uniform_mixture, 5, marginals);
  EXPECT_LT(LargestDifference(marginals, expected), kError);
}

// About two nodes per unit of log time and the step of a rank are no promise,
// but their number must not depend on n, and gaps must cost nothing.
TEST(PlackettLuceMarginalsTest, NodesDependOnTheSpreadOnly) {
  const auto nodes = [](const std::vector<double>& logits, size_t top_k) {
    PlackettLuceMarginals marginals;
    std::vector<double> result(top_k * logits.size());
    marginals.Compute(logits, top_k, result);
    return marginals.num_nodes();
  };
  const size_t few = nodes(std::vector<double>(10, 0), 10);
  EXPECT_LE(few, 120u);
  EXPECT_LE(nodes(std::vector<double>(1000, 0), 10), few);
  EXPECT_LE(nodes({1e6, 0, -1e6}, 3), 1000u);
}

}  // namespace
}  // namespace sortition
