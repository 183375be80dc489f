// Expectations by enumeration of all orders: a decision that counts as much as
// its order is probable makes means of sums expectations.
#include <cmath>
#include <vector>

#include "Eigen/QR"
#include "core/counterfactual/rankings/pseudo_inverse.h"
#include "core/counterfactual/rankings/ranking_sums.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/exact_worlds.h"
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

SlateInverse InverseOf(const World& world) {
  auto moments = SlateMoments::Enumerate(
      world.logging.scores.size(), world.num_shown,
      [&](std::span<const int> above, std::span<double> p) {
        const std::vector<double> conditional =
            world.logging.Conditional(above);
        std::copy(conditional.begin(), conditional.end(), p.begin());
      });
  EXPECT_OK(moments);
  auto inverse = moments->Invert();
  EXPECT_OK(inverse);
  return *std::move(inverse);
}

std::vector<double> ShownMarginals(const World& world) {
  std::vector<double> marginals;
  for (const std::vector<double>& of_item : world.target_marginals) {
    marginals.insert(
        marginals.end(), of_item.begin(),
        of_item.begin() + static_cast<std::ptrdiff_t>(world.num_shown));
  }
  return marginals;
}

RankingSums ExactSums(const World& world, Users users) {
  RankingSums sums = MakeSums(0);
  const SlateInverse inverse = InverseOf(world);
  const std::vector<double> marginals = ShownMarginals(world);
  uint64_t unit = 0;
  world.logging.ForEach([&](const Order& order) {
    Decision decision = world.Make(order, users);
    auto weight = inverse.WeightOf(marginals, order);
    ASSERT_OK(weight);
    EXPECT_EQ(weight->standard_error, 0);
    decision.pseudo_inverse_weight = weight->weight;
    const JudgedRanking judged = decision.Judged();
    ASSERT_OK(sums.Add(MixedUnit(unit++), world.logging.Probability(order),
                       decision.View(), {&judged, 1}));
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
  const std::vector<double> marginals = ShownMarginals(world);
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
  for (const World& world : {FewShown(), AllLogged()}) {
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
    const JudgedRanking judged = decision.Judged();
    ASSERT_OK(sums.Add(MixedUnit(unit++), world.logging.Probability(order),
                       decision.View(), {&judged, 1}));
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
        const JudgedRanking judged = decision.Judged();
        ASSERT_OK(sums.Add(MixedUnit(unit++),
                           looking * (is_won ? stops : 1 - stops),
                           decision.View(), {&judged, 1}));
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

}  // namespace
}  // namespace sortition
