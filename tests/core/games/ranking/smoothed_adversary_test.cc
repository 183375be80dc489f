#include "core/games/ranking/smoothed_adversary.h"

#include "core/games/ranking/ranking_certificate.h"
#include "gtest/gtest.h"
#include "tests/core/games/ranking/random_games.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

TEST(SmoothedAdversaryTest, IsTheGradientOfAValueNearby) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 2 + trial % 8;
    const double mu = trial % 2 == 0 ? 0.1 : 2;
    const Discounts dcg = Discounts::Dcg(n);
    const std::vector<double> psi = RandomPotentials(n, &random);
    const double m = 0.3 * n;
    const PositivesBound bounds[] = {{}, {m, m}, {m, 2 * m}};
    const PositivesBound& bound = bounds[trial % 3];
    const auto smoothed = [&](const std::vector<double>& at,
                              std::vector<double>* q) {
      const RankingEquilibrium e = Solved(at, dcg, bound);
      q->resize(n);
      const double value =
          SmoothAdversary(at, e.expected_discounts, bound, mu, *q).value();
      // The strategies of the smoothed game are a pair of best responses: no d
      // does better against q.
      const RankingCertificate certificate =
          CertifyRanking(at, dcg, bound, e.expected_discounts, *q);
      EXPECT_LE(certificate.adversary_violation, 1e-12);
      double square = 0;
      for (const double qi : *q) square += qi * qi;
      EXPECT_NEAR(certificate.upper + mu / 2 * square, value, 1e-11);
      EXPECT_GE(value, e.value - 1e-11);
      EXPECT_LE(value, e.value + mu / 2 * n + 1e-11);
      return value;
    };
    std::vector<double> q;
    std::vector<double> unused;
    smoothed(psi, &q);
    for (int i = 0; i < n; ++i) {
      std::vector<double> low = psi;
      std::vector<double> high = psi;
      low[i] -= 1e-5;
      high[i] += 1e-5;
      EXPECT_NEAR((smoothed(high, &unused) - smoothed(low, &unused)) / 2e-5,
                  -q[i], 1e-4);
    }
  }
}

TEST(SmoothedAdversaryTest, HoldsTheNumberBesideHugePotentials) {
  const std::vector<double> psi = {1e300, 1e17, 0.5, 0.4, -1e300};
  const RankingEquilibrium e = Solved(psi, Discounts::Dcg(5));
  std::vector<double> q(5);
  const PositivesBound bound = {2.5, 2.5};
  EXPECT_OK(SmoothAdversary(psi, e.expected_discounts, bound, 1, q));
  EXPECT_NEAR(q[0] + q[1] + q[2] + q[3] + q[4], 2.5, 1e-14);
  EXPECT_EQ(q[1], 1);
  EXPECT_EQ(q[4], 0);
  EXPECT_FALSE(SmoothAdversary(psi, e.expected_discounts, bound, 0, q).ok());
}

}  // namespace
}  // namespace sortition
