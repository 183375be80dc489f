// Subsets of fixed size, including large ones beyond enumeration.
#include "core/policies/distributions/sized_subset.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/policies/subset_case.h"

namespace sortition {
namespace {

// Equal scores: 1 of C(m, k), by lgamma in long double.
TEST(SizedSubsetTest, ManyEqualCandidatesOfFixedSize) {
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    for (const auto& [m, k] : std::vector<std::pair<size_t, uint32_t>>{
             {1000000, 10}, {3000, 1500}, {5000, 4000}, {20, 19}}) {
      SubsetCase c = {"", std::vector<double>(m, -1e4), 0, 1, epsilon, k};
      if (m == 5000 && epsilon < 1) continue;  // Beyond the limit.
      Draw draw;
      c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(m)),
                               &draw);
      EXPECT_EQ(draw.action.size(), k);
      EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), draw.action),
                draw.log_propensity);
      const long double exact =
          std::lgamma(k + 1.0L) +
          std::lgamma(static_cast<long double>(m - k) + 1) -
          std::lgamma(static_cast<long double>(m) + 1);
      EXPECT_NEAR(draw.log_propensity / static_cast<double>(exact), 1, 1e-12);
    }
  }
}

// log p(S) = Σ l - log e_k in long double, by e_j of growing prefixes. The
// oracle cancels where log p is near 0: with logits to 1e4 and k = 20, at
// 1e-14.
TEST(SizedSubsetTest, LargeSetsOfFixedSizeStayExact) {
  constexpr uint32_t kSize = 20;
  for (const double range : {1e4, 10.0, 1e-3}) {
    for (const double alpha : {1.0, 0.01}) {
      SubsetCase c = {"", std::vector<double>(20000), 0, alpha, 0, kSize};
      RandomSequence random(SeedKey(5));
      for (double& score : c.scores) {
        score = range * (2 * random.Uniform() - 1);
      }
      const auto distribution = c.Distribution();
      Draw draw;
      for (uint64_t seed = 0; seed < 3; ++seed) {
        distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed)),
                             &draw);
        ASSERT_EQ(draw.action.size(), kSize);
        EXPECT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
                  draw.log_propensity);
        std::vector<long double> log_e(kSize + 1, -HUGE_VALL);
        log_e[0] = 0;
        for (const double score : c.scores) {
          for (size_t j = kSize; j > 0; --j) {
            const long double with = log_e[j - 1] + alpha * score;
            const long double high = std::max(with, log_e[j]);
            if (high == -HUGE_VALL) continue;
            const long double low = std::min(with, log_e[j]);
            log_e[j] = high + std::log1p(std::exp(low - high));
          }
        }
        long double exact = -log_e[kSize];
        for (const int32_t i : draw.action) exact += alpha * c.scores[i];
        EXPECT_NEAR(draw.log_propensity, static_cast<double>(exact),
                    1e-12 * std::max(1.0, -draw.log_propensity))
            << range << " " << alpha;
      }
      std::vector<double> marginals(c.scores.size());
      distribution->FirstProbabilities(c.Candidates(), marginals);
      double sum = 0;
      for (const double p : marginals) sum += p;
      EXPECT_NEAR(sum, kSize, 1e-9);
    }
  }
}

// {0, 1} of three with l = 60, 60, 0: log p = -log(1 + 2 e^-60). Every
// derivative is of that order, and not 0.
TEST(SizedSubsetTest, SmallDerivativesOfFixedSizeDoNotCancel) {
  SubsetCase c = {"", {60, 60, 0}};
  c.k = 2;
  std::vector<double> gradient(3);
  double threshold = 7;
  const double log_p = c.Distribution()->LogPropensityGradient(
      c.Candidates(), Action{0, 1}, gradient, &threshold);
  const double expected = std::exp(-60.0);
  EXPECT_NEAR(log_p / (-2 * expected), 1, 1e-14);
  EXPECT_NEAR(gradient[0] / expected, 1, 1e-14);
  EXPECT_NEAR(gradient[1] / expected, 1, 1e-14);
  EXPECT_NEAR(gradient[2] / (-2 * expected), 1, 1e-14);
  EXPECT_EQ(threshold, 0);
}

// So many candidates that rows are computed twice. By symmetry every one has
// the marginal k/m.
TEST(SizedSubsetTest, MarginalsOverManyBlocks) {
  SubsetCase c = {"", std::vector<double>(50000, 3.5)};
  c.k = 150;
  std::vector<double> marginals(c.scores.size());
  c.Distribution()->FirstProbabilities(c.Candidates(), marginals);
  for (const double p : marginals) ASSERT_NEAR(p, 0.003, 1e-12);
}

TEST(SizedSubsetTest, RefusesWhatTakesTooLong) {
  SubsetCase c = {"", std::vector<double>(100000, 0), 0, 1, 0.1};
  c.k = 101;
  Draw draw;
  c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(1)), &draw);
  EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
  EXPECT_EQ(draw.action.size(), 101u);
  EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), draw.action),
            -HUGE_VAL);
  c.k = 100;
  c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(1)), &draw);
  EXPECT_TRUE(std::isfinite(draw.log_propensity));
}

}  // namespace
}  // namespace sortition
