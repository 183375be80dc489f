// Expectations by enumeration of all orders: a decision that counts as much as
// its order is probable makes means of sums expectations.
#include <cmath>
#include <limits>
#include <vector>

#include "Eigen/QR"
#include "core/counterfactual/rankings/pseudo_inverse.h"
#include "core/counterfactual/rankings/ranked_decision.h"
#include "core/counterfactual/rankings/ranking_sums.h"
#include "core/counterfactual/rankings/ranking_terms.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT

using Kind = RankingEstimatorKind;

RankingSums MakeSums(double whole_weight) {
  auto sums = RankingSums::Create({.value = {kAlpha, whole_weight},
                                   .policies = {kAllInputs},
                                   .num_groups = 64});
  EXPECT_OK(sums);
  return *std::move(sums);
}

SlateMoments::Conditional ConditionalOf(const Orders& orders) {
  return [&orders](std::span<const int> above, std::span<double> p) {
    const std::vector<double> conditional = orders.Conditional(above);
    std::copy(conditional.begin(), conditional.end(), p.begin());
  };
}

std::vector<double> MarginalsOf(const Orders& orders, size_t num_ranks) {
  std::vector<double> marginals;
  for (int i = 0; i < static_cast<int>(orders.scores.size()); ++i) {
    for (size_t k = 0; k < num_ranks; ++k) {
      marginals.push_back(orders.Marginal(i, k));
    }
  }
  return marginals;
}

RankingSums ExactSums(const World& world, Users users) {
  RankingSums sums = MakeSums(0);
  const SlateInverse inverse =
      SlateMoments::Enumerate(world.logging.scores.size(), world.num_shown,
                              ConditionalOf(world.logging))
          ->Invert()
          .value();
  const std::vector<double> marginals =
      MarginalsOf(world.target, world.num_shown);
  uint64_t unit = 0;
  world.logging.ForEach([&](const Order& order) {
    Decision decision = world.Make(order, users);
    auto weight = inverse.WeightOf(marginals, order);
    ASSERT_OK(weight);
    EXPECT_EQ(weight->standard_error, 0);
    decision.pseudo_inverse_weight = weight->weight;
    ASSERT_OK(AddTo(&sums, unit++, world.logging.Probability(order), decision));
  });
  return sums;
}

double ValueOf(const RankingSums& sums, Kind kind) {
  return EstimateRatios(sums.sums(), sums.RatiosOf(0, kind)).value;
}

// E Σ_k α_k r_k where each rank k has its own distribution of orders: `weight`
// of an order and rank times that of the log.
double HybridValue(const World& world, Users users,
                   const std::function<double(const Order&, size_t)>& weight) {
  return world.logging.Mean([&](const Order& order) {
    double sum = 0;
    for (size_t k = 0; k < world.num_shown; ++k) {
      sum += weight(order, k) * kAlpha[k] *
             RewardOf(users, order, k, world.num_shown);
    }
    return sum;
  });
}

// What the policy earns if it chooses the first `length` ranks and the log the
// others, independently of how weights are computed.
double FirstRanksOfPolicy(const World& world, const Order& order,
                          size_t length) {
  double ratio = 1;
  for (size_t k = 0; k < length; ++k) {
    const auto item = static_cast<size_t>(order[k]);
    const std::span<const int> above = std::span(order).first(k);
    ratio *= world.target.Conditional(above)[item] /
             world.logging.Conditional(above)[item];
  }
  return ratio;
}

double ItemAtRank(const World& world, const Order& order, size_t rank) {
  return world.target.Marginal(order[rank], rank) /
         world.logging.Marginal(order[rank], rank);
}

// The value of the linear function of (item, rank) that is nearest to the
// rewards of the log, by least squares over all orders.
double LinearValue(const World& world, Users users) {
  std::vector<Order> orders;
  world.logging.ForEach([&](const Order& order) { orders.push_back(order); });
  const size_t shown = world.num_shown;
  const auto rows = static_cast<Eigen::Index>(orders.size());
  const auto columns =
      static_cast<Eigen::Index>(world.logging.scores.size() * shown);
  Eigen::MatrixXd design = Eigen::MatrixXd::Zero(rows, columns);
  Eigen::VectorXd rewards(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const Order& order = orders[static_cast<size_t>(i)];
    const double scale = std::sqrt(world.logging.Probability(order));
    for (size_t k = 0; k < shown; ++k) {
      design(i, static_cast<Eigen::Index>(
                    static_cast<size_t>(order[k]) * shown + k)) = scale;
    }
    rewards[i] = scale * SumOf(users, order, shown);
  }
  const Eigen::VectorXd linear =
      design.completeOrthogonalDecomposition().solve(rewards);
  const std::vector<double> marginals = MarginalsOf(world.target, shown);
  return Eigen::Map<const Eigen::VectorXd>(marginals.data(), columns)
      .dot(linear);
}

struct Expected {
  double whole, shown, prefix, marginal, linear;
};

Expected ExpectedOf(const World& world, Users users) {
  const auto length = [&](size_t ranks) {
    return HybridValue(world, users, [&, ranks](const Order& order, size_t) {
      return FirstRanksOfPolicy(world, order, ranks);
    });
  };
  return {length(world.logging.num_logged), length(world.num_shown),
          HybridValue(world, users,
                      [&](const Order& order, size_t k) {
                        return FirstRanksOfPolicy(world, order, k + 1);
                      }),
          HybridValue(world, users,
                      [&](const Order& order, size_t k) {
                        return ItemAtRank(world, order, k);
                      }),
          LinearValue(world, users)};
}

void ExpectAll(const RankingSums& sums, std::initializer_list<Kind> kinds,
               double value) {
  for (const Kind kind : kinds) {
    EXPECT_TRUE(sums.Supports(0, kind));
    EXPECT_NEAR(ValueOf(sums, kind), value, kTolerance)
        << RankingEstimatorName(kind);
  }
}

// With expectations in place of means, self-normalised estimates are what they
// converge to.
TEST(ExactExpectationTest, EachEstimatorHasTheExpectationThatItsWeightsImply) {
  for (const World& world : {FewShown(), WorldOfFour(4, 3)}) {
    for (const Users users :
         {Users::kIndependent, Users::kCascade, Users::kShown, Users::kWhole}) {
      const RankingSums sums = ExactSums(world, users);
      const Expected expected = ExpectedOf(world, users);
      ExpectAll(sums,
                {Kind::kWholeOrder, Kind::kSelfNormalisedWholeOrder,
                 Kind::kWholeOrderDr},
                expected.whole);
      ExpectAll(sums,
                {Kind::kShownPrefix, Kind::kSelfNormalisedShownPrefix,
                 Kind::kShownPrefixDr},
                expected.shown);
      ExpectAll(sums,
                {Kind::kRewardInteraction,
                 Kind::kSelfNormalisedRewardInteraction, Kind::kCascadeDr},
                expected.prefix);
      ExpectAll(sums,
                {Kind::kItemPosition, Kind::kSelfNormalisedItemPosition,
                 Kind::kItemPositionDr},
                expected.marginal);
      ExpectAll(sums,
                {Kind::kPseudoInverse, Kind::kSelfNormalisedPseudoInverse,
                 Kind::kPseudoInverseDr},
                expected.linear);
    }
  }
}

TEST(ExactExpectationTest, TheExpectationIsTheValueUnderTheAssumption) {
  const World world = FewShown();
  const auto check = [&](Users users, bool shown, bool prefix, bool marginal) {
    const Expected expected = ExpectedOf(world, users);
    const double value = TrueValue(world, users);
    const auto expect = [&](double mean, bool is_unbiased) {
      if (is_unbiased) {
        EXPECT_NEAR(mean, value, kTolerance);
      } else {
        EXPECT_GT(std::fabs(mean - value), 1e-3);
      }
    };
    expect(expected.whole, true);
    expect(expected.shown, shown);
    expect(expected.prefix, prefix);
    expect(expected.marginal, marginal);
    // Of these users only the independent ones are linear.
    expect(expected.linear, marginal);
  };
  check(Users::kIndependent, true, true, true);
  check(Users::kCascade, true, true, false);
  check(Users::kShown, true, false, false);
  check(Users::kWhole, false, false, false);
}

// Three candidates in uniform order; the policy always shows 0, 1, 2. Rank 1
// earns 1 if 0 stands above. The policy earns 1. Item 1 is at rank 1 in a third
// of the log's orders, with 0 above it in a sixth: m_1 = 3, so that the
// item-position estimate is 3 / 6, a bias of -1/2. The prefix (0, 1) has a
// sixth, too, and a weight of 6: 1. If rank 0 earns 1 where 2 stands below at
// rank 1, the policy earns 0, and the prefix (0) with a weight of 3 earns 3/6.
TEST(ExactExpectationTest, BiasesByHand) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  auto sums = RankingSums::Create({.value = {{1, 1}, 0},
                                   .policies = {{.marginals = true}},
                                   .num_groups = 64});
  ASSERT_OK(sums);
  RankingSums below = *sums;
  const Orders uniform = {{0, 0, 0}, 2};
  uint64_t unit = 0;
  uniform.ForEach([&](const Order& order) {
    Decision decision;
    for (size_t k = 0; k < 2; ++k) {
      const bool is_chosen = order[k] == static_cast<int>(k);
      decision.log_conditionals.push_back(
          -std::log(3 - static_cast<double>(k)));
      decision.target_conditionals.push_back(is_chosen ? 0 : kNever);
      decision.log_marginals.push_back(-std::log(3));
      decision.target_marginals.push_back(is_chosen ? 0 : kNever);
    }
    const JudgedRanking judged = decision.Judged();
    decision.rewards = {0, order[0] == 0 ? 1.0 : 0.0};
    ASSERT_OK(sums->Add(MixedUnit(unit), 1, decision.View(), {&judged, 1}));
    decision.rewards = {order[1] == 2 ? 1.0 : 0.0, 0};
    ASSERT_OK(below.Add(MixedUnit(unit++), 1, decision.View(), {&judged, 1}));
  });
  EXPECT_NEAR(ValueOf(*sums, Kind::kItemPosition), 0.5, kTolerance);
  EXPECT_NEAR(ValueOf(*sums, Kind::kRewardInteraction), 1, kTolerance);
  EXPECT_NEAR(ValueOf(*sums, Kind::kShownPrefix), 1, kTolerance);
  EXPECT_NEAR(ValueOf(below, Kind::kRewardInteraction), 0.5, kTolerance);
  EXPECT_NEAR(ValueOf(below, Kind::kShownPrefix), 0, kTolerance);
}

// Feedback without a rank depends on everything that was shown: only weights of
// that are right for it, and all estimators but the pseudo-inverse use them.
TEST(ExactExpectationTest, FeedbackWithoutARankCountsByWhatWasShown) {
  const World world = FewShown();
  RankingSums sums = MakeSums(0.7);
  const auto whole_reward = [](const Order& order) {
    return order[0] < order[1] && order[2] != 0 ? 0.9 : 0.1;
  };
  uint64_t unit = 0;
  world.logging.ForEach([&](const Order& order) {
    Decision decision = world.Make(order, Users::kIndependent);
    decision.whole_reward = whole_reward(order);
    ASSERT_OK(AddTo(&sums, unit++, world.logging.Probability(order), decision));
  });
  const double value = TrueValue(world, Users::kIndependent) +
                       0.7 * world.target.Mean(whole_reward);
  for (const Kind kind : AllRankingEstimators()) {
    if (RankingWeightOf(kind) == RankingWeightKind::kPseudoInverse ||
        kind == Kind::kDirect) {
      continue;
    }
    EXPECT_NEAR(ValueOf(sums, kind), value, kTolerance)
        << RankingEstimatorName(kind);
  }
  // The model of positions, and the weighted feedback.
  double direct = 0.7 * world.target.Mean(whole_reward);
  for (size_t k = 0; k < world.num_shown; ++k) {
    for (int i = 0; i < 5; ++i) {
      direct += world.target.Marginal(i, k) * World::PositionModel(i, k);
    }
  }
  EXPECT_NEAR(ValueOf(sums, Kind::kDirect), direct, kTolerance);
}

// Users who look at the next rank only if the last one earned nothing: whether
// a rank is shown depends on what stands above, so weights by prefix stay
// right. Rewards are means over what users do.
TEST(ExactExpectationTest, UsersMayStopRankByRank) {
  const World world = FewShown();
  RankingSums sums = MakeSums(0);
  const auto stop = [](const Order& order, size_t k) {
    return AttractionOf(order[k]) * 0.6;
  };
  uint64_t unit = 0;
  world.logging.ForEach([&](const Order& order) {
    // Shown: 1, 2 or 3 ranks; the last one earns 1 if users stopped there.
    double looking = world.logging.Probability(order);
    for (size_t shown = 1; shown <= 3; ++shown) {
      const double stops = stop(order, shown - 1);
      for (const bool is_won : {true, false}) {
        if (!is_won && shown < 3) continue;
        Decision decision = world.Make(order);
        decision.rewards.assign(shown, 0);
        if (is_won) decision.rewards.back() = 1;
        decision.log_marginals.resize(shown);
        decision.target_marginals.resize(shown);
        for (auto* model :
             {&decision.prefix_logged, &decision.prefix_policy,
              &decision.position_logged, &decision.position_policy}) {
          model->resize(shown);
        }
        ASSERT_OK(AddTo(&sums, unit++, looking * (is_won ? stops : 1 - stops),
                        decision));
      }
      looking *= 1 - stops;
    }
  });
  const double value = world.target.Mean([&](const Order& order) {
    double looking = 1;
    double sum = 0;
    for (size_t k = 0; k < 3; ++k) {
      sum += kAlpha[k] * looking * stop(order, k);
      looking *= 1 - stop(order, k);
    }
    return sum;
  });
  ExpectAll(sums,
            {Kind::kWholeOrder, Kind::kShownPrefix,
             Kind::kSelfNormalisedShownPrefix, Kind::kRewardInteraction,
             Kind::kSelfNormalisedRewardInteraction, Kind::kCascadeDr},
            value);
  EXPECT_GT(std::fabs(ValueOf(sums, Kind::kItemPosition) - value), 1e-3);
}

// How much terms vary over all orders: less where more is assumed, and not at
// all where a model is right.

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
      const std::vector<double> marginals =
          MarginalsOf(target, target.num_logged);
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
  const std::vector<double> marginals = MarginalsOf(target, target.num_logged);
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
  EXPECT_THAT(SlateMoments::Create(129, 2),
              IsInvalidArgument(
                  "num_candidates times num_ranks is 129 times 2, must be "
                  "at most 256"));
  EXPECT_OK(SlateMoments::Create(128, 2));
  EXPECT_THAT(SlateMoments::Create(3, 4),
              IsInvalidArgument("num_ranks is 4, must be in [1, 3]"));
  EXPECT_THAT(SlateMoments::Enumerate(30, 8, [](auto, auto) {}),
              IsInvalidArgument("200000"));
}

TEST(PseudoInverseTest, RefusesWhatIsWrong) {
  const auto no_sum = [](std::span<const int>, std::span<double> p) {
    p[0] = 0.5;
  };
  EXPECT_THAT(SlateMoments::Enumerate(2, 1, no_sum),
              IsInvalidArgument("add up to 0.5, must add up to 1"));
  const auto twice = [](std::span<const int>, std::span<double> p) {
    p[0] = 1;
  };
  EXPECT_THAT(
      SlateMoments::Enumerate(2, 2, twice),
      IsInvalidArgument("order[1] is 0, must not be at rank 0 as well"));
  const auto negative = [](std::span<const int>, std::span<double> p) {
    p[0] = -1;
    p[1] = 2;
  };
  EXPECT_THAT(
      SlateMoments::Enumerate(2, 1, negative),
      IsInvalidArgument("probability of item 0 is -1, must be in [0, 1]"));
  ASSERT_OK_AND_ASSIGN(SlateMoments moments, SlateMoments::Create(3, 2));
  EXPECT_THAT(moments.Invert(), IsFailedPrecondition());
  EXPECT_THAT(moments.AddSampled(Order{0}),
              IsInvalidArgument("order has 1 ranks, must have at least 2"));
  EXPECT_THAT(moments.AddSampled(Order{0, 3}),
              IsInvalidArgument("order[1] is 3, must be in [0, 3)"));
  // The sample never had item 2 at rank 0.
  ASSERT_OK(moments.AddSampled(Order{0, 1}));
  ASSERT_OK(moments.AddSampled(Order{1, 0}));
  ASSERT_OK_AND_ASSIGN(const SlateInverse inverse, moments.Invert());
  const std::vector<double> swapped = {0, 1, 1, 0, 0, 0};
  EXPECT_OK(inverse.WeightOf(swapped, Order{0, 1}));
  EXPECT_THAT(inverse.WeightOf({{0, 1, 0, 0, 1, 0}}, Order{0, 1}),
              IsInvalidArgument("marginals are outside"));
  EXPECT_THAT(inverse.WeightOf(swapped, Order{2, 1}),
              IsInvalidArgument("order is outside"));
  EXPECT_THAT(inverse.WeightOf({{0, 1.5, 0, 0, 1, 0}}, Order{0, 1}),
              IsInvalidArgument("marginals[1] is 1.5, must be in [0, 1]"));
  EXPECT_THAT(UniformPseudoInverseWeight(
                  {.num_candidates = 3, .num_ranks = 2, .at_their_ranks = 2.5}),
              IsInvalidArgument("at_their_ranks is 2.5, must be in [0, 2]"));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Decision Good() {
  const World world({0.3, -0.2, 0.1}, {-0.5, 0.9, 0.2}, 3, 2);
  return world.Make({2, 0, 1}, Users::kIndependent);
}

absl::Status Check(const Decision& decision) {
  absl::Status status = CheckRankedDecision(decision.View(), true);
  if (!status.ok()) return status;
  return CheckJudgedRanking(decision.View(), decision.Judged(), kAllInputs);
}

template <typename Change>
void ExpectRefused(const Change& change, const char* message) {
  Decision decision = Good();
  change(&decision);
  EXPECT_THAT(Check(decision), IsInvalidArgument(message));
}

TEST(RankedDecisionTest, AcceptsWhatIsRight) {
  EXPECT_OK(Check(Good()));
  Decision impossible = Good();
  impossible.target_conditionals = {-kInfinity, -kInfinity, -kInfinity};
  impossible.target_marginals = {-kInfinity, -1};
  EXPECT_OK(Check(impossible));
}

TEST(RankedDecisionTest, RefusesRewardsOutOfRange) {
  for (const double reward : {-0.1, 1.5, kNan, kInfinity}) {
    const auto wrong = [=](Decision* d) { d->rewards[1] = reward; };
    ExpectRefused(wrong, "must be in [0, 1]");
    ExpectRefused(wrong, "rewards[1] is ");
    ExpectRefused([=](Decision* d) { d->whole_reward = reward; },
                  "whole_reward is ");
  }
}

TEST(RankedDecisionTest, RefusesWrongProbabilities) {
  ExpectRefused([](Decision* d) { d->log_conditionals[2] = kNan; },
                "log_conditionals[2] is nan, must be at most 0");
  ExpectRefused([](Decision* d) { d->log_conditionals[2] = 0.1; },
                "log_conditionals[2] is 0.1, must be at most 0");
  // The log did choose it.
  ExpectRefused([](Decision* d) { d->log_conditionals[2] = -kInfinity; },
                "log_conditionals[2] is -inf, must be finite");
  ExpectRefused([](Decision* d) { d->target_conditionals[0] = kNan; },
                "log_conditionals of a policy[0] is nan");
  ExpectRefused([](Decision* d) { d->log_marginals[1] = -kInfinity; },
                "log_marginals[1] is -inf, must be finite");
  ExpectRefused([](Decision* d) { d->target_marginals[1] = 1; },
                "log_marginals of a policy[1] is 1");
}

TEST(RankedDecisionTest, RefusesWhatIsMissing) {
  ExpectRefused([](Decision* d) { d->log_marginals.clear(); },
                "log_marginals has 0 numbers, must have 2");
  Decision decision = Good();
  decision.log_marginals.clear();
  EXPECT_OK(CheckRankedDecision(decision.View(), false));
  ExpectRefused([](Decision* d) { d->target_marginals.pop_back(); },
                "log_marginals of a policy has 1 numbers, must have 2");
  ExpectRefused([](Decision* d) { d->target_conditionals.pop_back(); },
                "log_conditionals of a policy has 2 numbers, must have 3");
  ExpectRefused([](Decision* d) { d->rewards.resize(4); },
                "rewards has 4 numbers, must have at most");
  ExpectRefused([](Decision* d) { d->prefix_policy.clear(); },
                "prefix_policy has 0 numbers, must have 2");
  ExpectRefused([](Decision* d) { d->position_logged[0] = kNan; },
                "position_logged[0] is nan, must be finite");
  ExpectRefused([](Decision* d) { d->pseudo_inverse_weight = kNan; },
                "pseudo_inverse_weight");
}

TEST(RankedDecisionTest, RefusesWrongValues) {
  EXPECT_OK(CheckRankingValue({{1, 0}, 0}));
  EXPECT_OK(CheckRankingValue({{}, 1}));
  EXPECT_EQ((RankingValue{{1, 0.5}, 2}).Largest(), 3.5);
  EXPECT_THAT(CheckRankingValue({{1, -1}, 0}),
              IsInvalidArgument(
                  "rank_weights[1] is -1, must be finite and at least 0"));
  EXPECT_THAT(
      CheckRankingValue({{1}, kNan}),
      IsInvalidArgument("whole_weight is nan, must be finite and at least 0"));
  EXPECT_THAT(CheckRankingValue({{0, 0}, 0}),
              IsInvalidArgument("one must be above 0"));
  EXPECT_THAT(CheckRankingValue({std::vector<double>(101, 1), 0}),
              IsInvalidArgument("has 101 numbers, must have at most 100"));
}

}  // namespace
}  // namespace sortition
