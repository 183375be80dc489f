#include "core/base/log_mixture.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/stable_math.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Log-probabilities of every size, some of them 0.
std::vector<double> LogProbabilities(size_t size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> values(size);
  for (double& value : values) {
    value = std::log(random.Uniform()) * std::exp(8 * random.Normal());
    if (random.Below(20) == 0) value = 0;
  }
  return values;
}

// The ranks are taken in groups, and the logarithms of a group together: each
// must have the bits that one rank alone has.
TEST(LogMixtureTest, OrdersHaveTheBitsOfTheirRanks) {
  for (const double epsilon : {0.0, 1e-300, 0.02, 0.5, 1.0}) {
    const LogMixture mixture(epsilon);
    for (const size_t size : {0, 1, 2, 10, 63, 64, 65, 200}) {
      std::vector<double> policy = LogProbabilities(size, size);
      if (size > 70) policy[70] = -HUGE_VAL;
      const std::vector<double> other = LogProbabilities(size, size + 1000);
      std::vector<double> conditionals = policy;
      double log_odds = 7;
      const double log_h = MixOrders(mixture, other, conditionals, &log_odds);
      double expected_odds = mixture.PriorLogOdds();
      double log_p = 0;
      double log_q = 0;
      for (size_t r = 0; r < size; ++r) {
        const bool both = mixture.has_policy() && mixture.has_uniform();
        const double expected =
            both ? LogMixture::Conditional(expected_odds, policy[r], other[r])
                 : (mixture.has_policy() ? policy : other)[r];
        EXPECT_EQ(conditionals[r], expected) << epsilon << " " << r;
        log_p += policy[r];
        log_q += other[r];
        expected_odds += policy[r] - other[r];
      }
      EXPECT_EQ(log_h, mixture(log_p, log_q));
      if (mixture.has_policy() && mixture.has_uniform()) {
        EXPECT_EQ(log_odds, expected_odds);
      }
    }
  }
}

TEST(LogMixtureTest, UniformOrdersAreOrders) {
  const LogMixture mixture(0.3);
  constexpr size_t kItems = 150;
  for (const size_t size : {1, 64, 150}) {
    std::vector<double> uniform(size);
    for (size_t r = 0; r < size; ++r) {
      uniform[r] = 0 - stable::Log(static_cast<double>(kItems - r));
    }
    std::vector<double> expected = LogProbabilities(size, size);
    std::vector<double> conditionals = expected;
    double expected_odds = 0;
    double log_odds = 0;
    EXPECT_EQ(MixWithUniformOrders(mixture, kItems, conditionals, &log_odds),
              MixOrders(mixture, uniform, expected, &expected_odds));
    EXPECT_EQ(conditionals, expected);
    EXPECT_EQ(log_odds, expected_odds);
  }
}

}  // namespace
}  // namespace sortition
