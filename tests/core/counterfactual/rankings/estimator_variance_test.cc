// How much terms vary over all orders: less where more is assumed, and not at
// all where a model is right.
#include <vector>

#include "core/counterfactual/rankings/ranking_terms.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/exact_worlds.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT

// What the policy earns from rank k on, given the ranks above, with users whose
// rewards depend on these alone.
double RewardToGo(const World& world, const Order& above) {
  if (above.size() == world.num_shown) return 0;
  const std::vector<double> p = world.target.Conditional(above);
  double sum = 0;
  for (int i = 0; i < static_cast<int>(p.size()); ++i) {
    if (p[static_cast<size_t>(i)] == 0) continue;
    Order next = above;
    next.push_back(i);
    const double gain =
        kAlpha[above.size()] * RewardOf(Users::kCascade, next, above.size(), 3);
    sum += p[static_cast<size_t>(i)] * (gain + RewardToGo(world, next));
  }
  return sum;
}

// With V_k what is earned from rank k on and Q_k = α_k r_k + V_{k+1}, the sum
//   Σ_k ρ_{1:k-1} V_k + ρ_{1:k} (α_k r_k - Q_k)
// is V_0, whatever the order, if rewards are what they are on average.
TEST(EstimatorVarianceTest, CascadeDrWithTheRightRewardToGoDoesNotVary) {
  const World world = FewShown();
  const double value = TrueValue(world, Users::kCascade);
  world.logging.ForEach([&](const Order& order) {
    Decision decision = world.Make(order, Users::kCascade);
    for (size_t k = 0; k < 3; ++k) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(k);
      decision.prefix_policy[k] = RewardToGo(world, Order(order.begin(), end));
      decision.prefix_logged[k] =
          kAlpha[k] * decision.rewards[k] +
          RewardToGo(world, Order(order.begin(), end + 1));
    }
    RankingWeights weights;
    ComputeRankingWeights(decision.View(), decision.Judged(), kAllInputs, 3,
                          &weights);
    const RankingTerms terms = RankingTermsOf(
        {kAlpha, 0}, decision.View(), decision.Judged(), kAllInputs, weights);
    EXPECT_NEAR(
        terms.doubly_robust[static_cast<size_t>(RankingWeightKind::kPrefix)],
        value, kTolerance);
  });
}

TEST(EstimatorVarianceTest, MoreAssumptionsHaveLessVariance) {
  const World world = FewShown();
  const RankingValue value = {kAlpha, 0};
  // By weight: Σ p term².
  std::vector<double> squares(kNumRankingWeights);
  double robust_square = 0;
  world.logging.ForEach([&](const Order& order) {
    Decision decision = world.Make(order, Users::kIndependent);
    // The model knows the truth.
    for (size_t k = 0; k < 3; ++k) {
      decision.position_logged[k] = kAlpha[k] * decision.rewards[k];
    }
    decision.position_policy = {TrueValue(world, Users::kIndependent), 0, 0};
    RankingWeights weights;
    ComputeRankingWeights(decision.View(), decision.Judged(), kAllInputs, 3,
                          &weights);
    const RankingTerms terms = RankingTermsOf(
        value, decision.View(), decision.Judged(), kAllInputs, weights);
    const double p = world.logging.Probability(order);
    for (size_t i = 0; i < squares.size(); ++i) {
      squares[i] += p * terms.plain[i] * terms.plain[i];
    }
    const double robust =
        terms.doubly_robust[static_cast<size_t>(RankingWeightKind::kMarginal)];
    robust_square += p * robust * robust;
  });
  const auto of = [&](RankingWeightKind kind) {
    return squares[static_cast<size_t>(kind)];
  };
  EXPECT_LT(of(RankingWeightKind::kMarginal),
            0.95 * of(RankingWeightKind::kPrefix));
  EXPECT_LT(of(RankingWeightKind::kPrefix),
            0.95 * of(RankingWeightKind::kShownPrefix));
  EXPECT_LT(of(RankingWeightKind::kShownPrefix),
            0.95 * of(RankingWeightKind::kWholeOrder));
  // No variance is left but that of rewards, which are means here.
  const double mean = TrueValue(world, Users::kIndependent);
  EXPECT_NEAR(robust_square, mean * mean, kTolerance);
}

}  // namespace
}  // namespace sortition
