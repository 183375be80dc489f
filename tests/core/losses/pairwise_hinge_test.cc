#include "core/losses/pairwise_hinge.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Scores are multiples of 1/2, so that ties and differences of exactly 1 are
// common.
TEST(PairwiseHingeTest, IsTheSumOverAllPairs) {
  RandomSequence random(SeedKey(1));
  PairwiseHinge hinge;
  for (int trial = 0; trial < 10000; ++trial) {
    const size_t n = random.Below(13);
    std::vector<double> scores(n), slopes(n);
    std::vector<uint32_t> relevances(n);
    for (size_t i = 0; i < n; ++i) {
      scores[i] = 3 * random.Normal();
      if (trial % 2 == 0) scores[i] = std::round(2 * scores[i]) / 2;
      relevances[i] = static_cast<uint32_t>(random.Below(5) * 100);
    }
    double value = 0;
    uint64_t pairs = 0;
    std::vector<double> expected(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (relevances[i] <= relevances[j]) continue;
        ++pairs;
        if (1 - (scores[i] - scores[j]) <= 0) continue;
        value += 1 - (scores[i] - scores[j]);
        expected[i] -= 1;
        expected[j] += 1;
      }
    }
    const auto sum = hinge.Evaluate(scores, relevances, slopes);
    EXPECT_NEAR(sum.value, value, 1e-11);
    EXPECT_EQ(slopes, expected);
    EXPECT_EQ(CountPairs(relevances), pairs);
  }
}

// Sums such as 0.1 + 0.2 - 1 are rounded. Both items of a pair must agree on
// whether it is active, or the sum is wrong by a whole score.
TEST(PairwiseHingeTest, BothEndsAgreeWhereRoundingDecides) {
  PairwiseHinge hinge;
  RandomSequence random(SeedKey(2));
  for (int trial = 0; trial < 2000; ++trial) {
    const double low = 1e3 * random.Normal();
    std::vector<double> scores = {low + 1, low,
                                  std::nextafter(low + 1, HUGE_VAL),
                                  std::nextafter(low + 1, -HUGE_VAL)};
    std::vector<double> slopes(4);
    const std::vector<uint32_t> relevances = {1, 0, 1, 1};
    const auto sum = hinge.Evaluate(scores, relevances, slopes);
    EXPECT_EQ(slopes[0] + slopes[1] + slopes[2] + slopes[3], 0);
    EXPECT_NEAR(sum.value, 0, 1e-11);
  }
}

}  // namespace
}  // namespace sortition
