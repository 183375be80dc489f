#include "core/learners/labelled/rank_policy.h"

#include <cmath>

#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::RankPolicyOptions;
using model::v1::BoltzmannRanking;
using model::v1::Policy;
using testing::HasSubstr;

constexpr auto kPlackettLuce = RankPolicyOptions::PLACKETT_LUCE;
constexpr auto kBoltzmann = RankPolicyOptions::BOLTZMANN;
constexpr auto kSorted = RankPolicyOptions::SORTED;

TEST(RankPolicyTest, EveryActionHasItsPolicyWithTheTasksNumbers) {
  for (const ActionKind action :
       {ActionKind::kSelect, ActionKind::kRank, ActionKind::kSubset}) {
    ASSERT_OK_AND_ASSIGN(const Policy policy,
                         MakeRankPolicy({.action_kind = action,
                                         .inverse_temperature = 4,
                                         .uniform_mixture = 0.25,
                                         .threshold = -1.5},
                                        kPlackettLuce, 3));
    EXPECT_EQ(policy.inverse_temperature(), 4);
    EXPECT_EQ(policy.uniform_mixture(), 0.25);
    ASSERT_OK_AND_ASSIGN(const LinearPolicy linear,
                         LinearPolicy::Create(policy, {1}));
    EXPECT_EQ(linear.action_kind(), action);
    EXPECT_FALSE(linear.can_abstain());
    if (action != ActionKind::kSubset) continue;
    EXPECT_EQ(linear.threshold(), -1.5);
    EXPECT_EQ(linear.subset_size(), 3);
  }
}

TEST(RankPolicyTest, OrdersAreDrawnAsAskedElseAsTheLearnerDoes) {
  LabelledPolicyTask task;
  EXPECT_TRUE(MakeRankPolicy(task)->has_plackett_luce());
  EXPECT_TRUE(MakeRankPolicy(task, kBoltzmann)->has_boltzmann_ranking());
  task.rank.set_kind(kPlackettLuce);
  EXPECT_TRUE(MakeRankPolicy(task, kBoltzmann)->has_plackett_luce());
  task.rank.set_kind(kBoltzmann);
  task.rank.set_cutoff(5);
  task.rank.set_head(7);
  task.rank.set_plackett_luce_mixture(0.1);
  ASSERT_OK_AND_ASSIGN(const Policy policy, MakeRankPolicy(task));
  const BoltzmannRanking& orders = policy.boltzmann_ranking();
  EXPECT_EQ(orders.rank_weights(), BoltzmannRanking::DCG);
  EXPECT_EQ(orders.cutoff(), 5);
  EXPECT_EQ(orders.head(), 7);
  EXPECT_EQ(orders.plackett_luce_mixture(), 0.1);
}

TEST(RankPolicyTest, OrdersAreExploredAsAsked) {
  LabelledPolicyTask task;
  task.rank.add_rank_factors(2);
  task.rank.add_rank_factors(0.5);
  ASSERT_OK_AND_ASSIGN(const Policy factored, MakeRankPolicy(task));
  EXPECT_THAT(factored.plackett_luce().rank_factors(),
              testing::ElementsAre(2, 0.5));
  task.rank.Clear();
  task.rank.set_kind(kSorted);
  EXPECT_EQ(MakeRankPolicy(task)->sorted_ranking().swap_probability(), 0.1);
  task.rank.set_swap_probability(0.4);
  task.rank.set_shuffle_probability(0.2);
  task.rank.set_shuffle_ranks(3);
  ASSERT_OK_AND_ASSIGN(const Policy sorted, MakeRankPolicy(task, kBoltzmann));
  EXPECT_EQ(sorted.sorted_ranking().swap_probability(), 0.4);
  EXPECT_EQ(sorted.sorted_ranking().shuffle_probability(), 0.2);
  EXPECT_EQ(sorted.sorted_ranking().shuffle_ranks(), 3);
}

// The message with which MakeRankPolicy() refuses the task.
std::string Error(const LabelledPolicyTask& task, uint32_t subset_size = 0) {
  const auto policy = MakeRankPolicy(task, kPlackettLuce, subset_size);
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(policy.status().message());
}

TEST(RankPolicyTest, RefusesWhatHasNoMeaningByName) {
  for (const double alpha : {0., -1., 2e6, std::nan("")}) {
    EXPECT_THAT(Error({.inverse_temperature = alpha}),
                AllOf(HasSubstr("policy.inverse_temperature is"),
                      HasSubstr("must be in (0, 1000000]")));
  }
  for (const double epsilon : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(Error({.uniform_mixture = epsilon}),
                AllOf(HasSubstr("policy.uniform_mixture is"),
                      HasSubstr("must be in [0, 1]")));
  }
  EXPECT_THAT(Error({.threshold = 2e6}),
              "the learned threshold is 2000000, must be in [-1000000, "
              "1000000]; train with a larger lambda");
  EXPECT_THAT(Error({.action_kind = ActionKind::kSubset}, 2'000'000),
              HasSubstr("k is 2000000, must be in [1, 1000000], or 0 for any "
                        "size"));
  LabelledPolicyTask task;
  task.rank.set_head(3);
  EXPECT_THAT(Error(task), HasSubstr("rank_policy.head is set, must be unset "
                                     "for kind PLACKETT_LUCE"));
  task.rank.Clear();
  task.rank.set_shuffle_ranks(3);
  EXPECT_THAT(Error(task), HasSubstr("rank_policy.shuffle_ranks is set, must "
                                     "be unset for kind PLACKETT_LUCE: only "
                                     "SORTED uses it"));
  task.rank.set_kind(kBoltzmann);
  EXPECT_THAT(Error(task), HasSubstr("unset for kind BOLTZMANN: only SORTED"));
  task.rank.set_kind(kSorted);
  task.rank.add_rank_factors(2);
  EXPECT_THAT(Error(task), HasSubstr("rank_policy.rank_factors is set, must be "
                                     "unset for kind SORTED"));
  task.rank.set_kind(kPlackettLuce);
  task.rank.clear_shuffle_ranks();
  task.rank.set_rank_factors(0, -1);
  EXPECT_THAT(Error(task),
              HasSubstr("policy.plackett_luce.rank_factors[0] is -1"));
  task.rank.clear_rank_factors();
  task.rank.set_kind(kSorted);
  task.rank.set_shuffle_probability(0.1);
  EXPECT_THAT(Error(task),
              HasSubstr("policy.sorted_ranking.shuffle_ranks is 0, must be at "
                        "least 2"));
  task.action_kind = ActionKind::kSelect;
  EXPECT_THAT(Error(task), HasSubstr("rank_policy is set, must be unset for "
                                     "action select"));
}

}  // namespace
}  // namespace sortition
