#include "core/counterfactual/rankings/pseudo_inverse.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT
using ::testing::HasSubstr;

SlateMoments::Conditional ConditionalOf(const Orders& orders) {
  return [&orders](std::span<const int> above, std::span<double> p) {
    const std::vector<double> conditional = orders.Conditional(above);
    std::copy(conditional.begin(), conditional.end(), p.begin());
  };
}

std::vector<double> MarginalsOf(const Orders& orders) {
  std::vector<double> marginals;
  for (int i = 0; i < static_cast<int>(orders.scores.size()); ++i) {
    for (size_t k = 0; k < orders.num_logged; ++k) {
      marginals.push_back(orders.Marginal(i, k));
    }
  }
  return marginals;
}

// The closed form against the inverse of enumerated moments, from one rank to
// all.
TEST(PseudoInverseTest, UniformOrdersHaveAClosedForm) {
  for (size_t n = 2; n <= 5; ++n) {
    for (size_t ranks = 1; ranks <= n; ++ranks) {
      std::vector<double> scores = {0.4, -1, 0.3, 0.9, -0.2};
      scores.resize(n);
      const Orders target = {scores, ranks};
      const Orders logging = {std::vector<double>(n), ranks};
      ASSERT_OK_AND_ASSIGN(
          const SlateMoments moments,
          SlateMoments::Enumerate(n, ranks, ConditionalOf(logging)));
      ASSERT_OK_AND_ASSIGN(const SlateInverse inverse, moments.Invert());
      const std::vector<double> marginals = MarginalsOf(target);
      logging.ForEach([&](const Order& order) {
        UniformOrder uniform = {.num_candidates = n, .num_ranks = ranks};
        for (size_t k = 0; k < ranks; ++k) {
          const size_t row = static_cast<size_t>(order[k]) * ranks;
          uniform.at_their_ranks += marginals[row + k];
          for (size_t m = 0; m < ranks; ++m) {
            uniform.anywhere += marginals[row + m];
          }
        }
        ASSERT_OK_AND_ASSIGN(const PseudoInverseWeight slow,
                             inverse.WeightOf(marginals, order));
        ASSERT_OK_AND_ASSIGN(const double fast,
                             UniformPseudoInverseWeight(uniform));
        EXPECT_NEAR(fast, slow.weight, 1e-10) << n << " " << ranks;
      });
    }
  }
}

TEST(PseudoInverseTest, EnumerationHasTheMarginals) {
  const Orders logging = {{0.3, -0.2, 0.1, 0.5}, 3};
  ASSERT_OK_AND_ASSIGN(const SlateMoments moments,
                       SlateMoments::Enumerate(4, 3, ConditionalOf(logging)));
  for (int i = 0; i < 4; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(moments.marginal(static_cast<size_t>(i), k),
                  logging.Marginal(i, k), 1e-12);
    }
  }
}

// 200 samples of 400 orders: the mean square of error over standard error is
// about 1. Its standard deviation is √(2/200) = 0.1 for normal errors; the
// bounds are more than 3 of them away, which leaves room for the bias of a
// sampled inverse.
TEST(PseudoInverseTest, SampledOrdersSayHowUncertainTheyAre) {
  const Orders logging = {{0.3, -0.2, 0.1, 0.5}, 2};
  const Orders target = {{-0.5, 0.9, 0.2, -0.1}, 2};
  const std::vector<double> marginals = MarginalsOf(target);
  const Order order = {1, 2};
  ASSERT_OK_AND_ASSIGN(const SlateMoments exact,
                       SlateMoments::Enumerate(4, 2, ConditionalOf(logging)));
  ASSERT_OK_AND_ASSIGN(const SlateInverse exact_inverse, exact.Invert());
  ASSERT_OK_AND_ASSIGN(const PseudoInverseWeight truth,
                       exact_inverse.WeightOf(marginals, order));
  RandomSequence random(KeyOf(11));
  double squares = 0;
  constexpr int kSamples = 200;
  for (int s = 0; s < kSamples; ++s) {
    ASSERT_OK_AND_ASSIGN(SlateMoments moments, SlateMoments::Create(4, 2));
    for (int i = 0; i < 400; ++i) {
      ASSERT_OK(moments.AddSampled(logging.Draw(&random)));
    }
    ASSERT_OK_AND_ASSIGN(const SlateInverse inverse, moments.Invert());
    ASSERT_OK_AND_ASSIGN(const PseudoInverseWeight weight,
                         inverse.WeightOf(marginals, order));
    EXPECT_GT(weight.standard_error, 0);
    const double z = (weight.weight - truth.weight) / weight.standard_error;
    squares += z * z;
  }
  EXPECT_GT(squares / kSamples, 0.65);
  EXPECT_LT(squares / kSamples, 1.4);
}

TEST(PseudoInverseTest, RefusesWhatIsTooLarge) {
  EXPECT_THAT(
      SlateMoments::Create(129, 2),
      IsInvalid("num_candidates times num_ranks is 129 times 2, must be "
                "at most 256"));
  EXPECT_OK(SlateMoments::Create(128, 2));
  EXPECT_THAT(SlateMoments::Create(3, 4),
              IsInvalid("num_ranks is 4, must be in [1, 3]"));
  EXPECT_THAT(SlateMoments::Enumerate(30, 8, [](auto, auto) {}),
              IsInvalid(HasSubstr("200000")));
}

TEST(PseudoInverseTest, RefusesWhatIsWrong) {
  const auto no_sum = [](std::span<const int>, std::span<double> p) {
    p[0] = 0.5;
  };
  EXPECT_THAT(SlateMoments::Enumerate(2, 1, no_sum),
              IsInvalid(HasSubstr("add up to 0.5, must add up to 1")));
  const auto twice = [](std::span<const int>, std::span<double> p) {
    p[0] = 1;
  };
  EXPECT_THAT(SlateMoments::Enumerate(2, 2, twice),
              IsInvalid("order[1] is 0, must not be at rank 0 as well"));
  const auto negative = [](std::span<const int>, std::span<double> p) {
    p[0] = -1;
    p[1] = 2;
  };
  EXPECT_THAT(SlateMoments::Enumerate(2, 1, negative),
              IsInvalid("probability of item 0 is -1, must be in [0, 1]"));
  ASSERT_OK_AND_ASSIGN(SlateMoments moments, SlateMoments::Create(3, 2));
  EXPECT_THAT(moments.Invert(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(moments.AddSampled(Order{0}),
              IsInvalid("order has 1 ranks, must have at least 2"));
  EXPECT_THAT(moments.AddSampled(Order{0, 3}),
              IsInvalid("order[1] is 3, must be in [0, 3)"));
  // The sample never had item 2 at rank 0.
  ASSERT_OK(moments.AddSampled(Order{0, 1}));
  ASSERT_OK(moments.AddSampled(Order{1, 0}));
  ASSERT_OK_AND_ASSIGN(const SlateInverse inverse, moments.Invert());
  const std::vector<double> swapped = {0, 1, 1, 0, 0, 0};
  EXPECT_OK(inverse.WeightOf(swapped, Order{0, 1}));
  EXPECT_THAT(inverse.WeightOf({{0, 1, 0, 0, 1, 0}}, Order{0, 1}),
              IsInvalid(HasSubstr("marginals are outside")));
  EXPECT_THAT(inverse.WeightOf(swapped, Order{2, 1}),
              IsInvalid(HasSubstr("order is outside")));
  EXPECT_THAT(inverse.WeightOf({{0, 1.5, 0, 0, 1, 0}}, Order{0, 1}),
              IsInvalid("marginals[1] is 1.5, must be in [0, 1]"));
  EXPECT_THAT(UniformPseudoInverseWeight(
                  {.num_candidates = 3, .num_ranks = 2, .at_their_ranks = 2.5}),
              IsInvalid("at_their_ranks is 2.5, must be in [0, 2]"));
}

}  // namespace
}  // namespace sortition
