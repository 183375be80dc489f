#include "core/counterfactual/sequential/mixture_bets.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// Evidence by its definition.
double SlowEvidence(const std::vector<double>& z,
                    const std::vector<double>& least) {
  double sum = 0;
  for (int k = 1; k <= 12; ++k) {
    double wealth = 1;
    for (size_t t = 0; t < z.size(); ++t) {
      wealth *= 1 + std::pow(2.0, -k) * z[t] / least[t];
    }
    sum += wealth;
  }
  return sum / 12;
}

TEST(MixtureBetsTest, IsTheMeanOfTheWealths) {
  const std::vector<double> z = {0.5, -0.25, 3, -1, 0, 0.125};
  const std::vector<double> least = {1, 0.5, 2, 1, 1, 0.25};
  MixtureBets bets;
  EXPECT_DOUBLE_EQ(bets.LogEvidence(), 0);
  double most = 0;
  for (size_t t = 0; t < z.size(); ++t) {
    bets.Add(z[t], least[t]);
    const double slow =
        SlowEvidence({z.begin(), z.begin() + static_cast<long>(t) + 1}, least);
    EXPECT_NEAR(bets.LogEvidence(), std::log(slow), 1e-12);
    most = std::max(most, std::log(slow));
    EXPECT_NEAR(bets.MostLogEvidence(), most, 1e-12);
  }
}

// All sequences of 14 rounds that win 3 with probability 1/4 or lose 1: fair.
TEST(MixtureBetsTest, EvidenceOfAFairGameIsOneOnAverageAndSeldomLarge) {
  constexpr int kNumRounds = 14;
  double expected = 0;
  std::vector<double> needed = {2, 5, 20, 100};
  std::vector<double> reached(needed.size(), 0);
  for (int path = 0; path < (1 << kNumRounds); ++path) {
    MixtureBets bets;
    double probability = 1;
    for (int t = 0; t < kNumRounds; ++t) {
      const bool wins = (path >> t & 1) != 0;
      probability *= wins ? 0.25 : 0.75;
      bets.Add(wins ? 3 : -1, 1);
    }
    expected += probability * std::exp(bets.LogEvidence());
    for (size_t i = 0; i < needed.size(); ++i) {
      // Somewhere on the way: whoever looks always, sees it.
      if (bets.MostLogEvidence() >= std::log(needed[i])) {
        reached[i] += probability;
      }
    }
  }
  EXPECT_NEAR(expected, 1, 1e-12);
  for (size_t i = 0; i < needed.size(); ++i) {
    EXPECT_LE(reached[i], 1 / needed[i]) << needed[i];
  }
  EXPECT_GT(reached[0], 0.1);  // It is no empty promise.
}

TEST(MixtureBetsTest, CountsOnWhereNumbersEnd) {
  MixtureBets bets;
  constexpr int kNumRounds = 5000;
  for (int t = 0; t < kNumRounds; ++t) bets.Add(1, 1);
  // The largest share, 1/2, has (3/2)^n, and 1/12 of it is the mean.
  EXPECT_NEAR(bets.LogWealthOfBest(), kNumRounds * std::log(1.5), 1e-6);
  EXPECT_NEAR(bets.LogEvidence(), kNumRounds * std::log(1.5) - std::log(12.0),
              1e-6);
  EXPECT_DOUBLE_EQ(bets.MostLogEvidence(), bets.LogEvidence());
  bets.Add(-1, 1);
  EXPECT_LT(bets.LogEvidence(), bets.MostLogEvidence());
}

}  // namespace
}  // namespace sortition
