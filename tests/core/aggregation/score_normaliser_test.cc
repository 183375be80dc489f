#include "core/aggregation/score_normaliser.h"

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "core/aggregation/order.h"
#include "gtest/gtest.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

TEST(ExpDividedDifferenceTest, EqualsItsDefinition) {
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2}), std::exp(-2),
              1e-16);
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{-2, 1}),
              (std::exp(1) - std::exp(-2)) / 3, 1e-15);
  // Equal nodes: e^t / n!.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>(6, -1)),
              std::exp(-1) / 120, 1e-17);
  // Nodes that are far apart: the largest dominates. exp[0, -100, -200] =
  // (1/100 - ~0) / 200.
  EXPECT_NEAR(ExpDividedDifference(std::vector<double>{0, -100, -200}),
              1.0 / 20000, 1e-17);
  const std::vector<double> nodes = {-1, 0, -30, -2};
  double expected = 0;
  for (size_t i = 0; i < 4; ++i) {
    double product = 1;
    for (size_t j = 0; j < 4; ++j) {
      if (j != i) product *= nodes[i] - nodes[j];
    }
    expected += std::exp(nodes[i]) / product;
  }
  EXPECT_NEAR(ExpDividedDifference(nodes), expected, 1e-15);
}

// Two items, |S||V∖S|: d = 2 (x_1 - x_0)_+, and the lead u = x_1 - x_0 has the
// density 1 - |u|: Z = 1/2 + ∫_0^1 exp(-2θu) (1 - u) du.
TEST(ScoreNormaliserTest, OfTwoItemsInClosedForm) {
  const auto f = CardinalityFunction::AllPairs(2);
  for (const double theta : {0.0, 0.1, 1.0, 20.0, 1e3, 1e5}) {
    const double a = 2 * theta;
    const double half = theta == 0 ? 0.5 : (a - 1 + std::exp(-a)) / (a * a);
    ASSERT_OK_AND_ASSIGN(const Normaliser z, ScoreNormaliser(*f, theta, 0, 1));
    EXPECT_NEAR(z.value, 0.5 + half, 1e-13);
    EXPECT_EQ(z.standard_error, 0);
  }
}

// Z falls to the share of scores that are in order, 1 / n!.
TEST(ScoreNormaliserTest, IsFiniteForAnyTheta) {
  const auto f = CardinalityFunction::AllPairs(3);
  double last = 1;
  for (const double theta : {1.0, 100.0, 500.0, 1e3, 1e4, 1e6}) {
    ASSERT_OK_AND_ASSIGN(const Normaliser z, ScoreNormaliser(*f, theta, 0, 1));
    EXPECT_LE(z.value, last);
    EXPECT_GT(z.value, 1.0 / 6);
    last = z.value;
  }
  EXPECT_NEAR(last, 1.0 / 6, 1e-6);
}

TEST(ScoreNormaliserTest, ExactAndSampledAgree) {
  for (const size_t n : {3, 5, 7}) {
    const auto f = CardinalityFunction::Dcg(n, 0);
    ASSERT_OK_AND_ASSIGN(const Normaliser exact, ScoreNormaliser(*f, 5, 0, 1));
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(0, 1);
    Order trusted(n);
    std::iota(trusted.begin(), trusted.end(), 0);
    constexpr int kSamples = 100000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kSamples; ++i) {
      std::vector<double> x(n);
      for (double& score : x) score = uniform(random);
      const double density = std::exp(-5 * f->Divergence(x, trusted));
      sum += density;
      squares += density * density;
    }
    const double mean = sum / kSamples;
    const double error =
        std::sqrt((squares / kSamples - mean * mean) / kSamples);
    EXPECT_NEAR(exact.value, mean, 4 * error);
  }
  // Without an exact value, compare the sampler with a longer run of its own.
  const auto f = CardinalityFunction::Dcg(9, 0);
  ASSERT_OK_AND_ASSIGN(const Normaliser one, ScoreNormaliser(*f, 3, 20000, 1));
  ASSERT_OK_AND_ASSIGN(const Normaliser two, ScoreNormaliser(*f, 3, 200000, 2));
  EXPECT_GT(one.standard_error, 2 * two.standard_error);
  EXPECT_NEAR(one.value, two.value,
              4 * std::hypot(one.standard_error, two.standard_error));
}

TEST(ScoreNormaliserTest, NamesWhatIsWrong) {
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(2, 0), -1, 0, 1),
              IsInvalid(HasSubstr("theta is -1, must be at least 0")));
  EXPECT_THAT(ScoreNormaliser(*CardinalityFunction::Dcg(8, 0), 1, 1, 1),
              IsInvalid(HasSubstr("samples is 1, must be at least 2")));
}

}  // namespace
}  // namespace sortition
