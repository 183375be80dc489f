#include "core/counterfactual/rankings/user_tests.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT
using ::testing::HasSubstr;

using Dependence = UserDependence;

constexpr Dependence kAll[] = {Dependence::kBelow, Dependence::kAbove,
                               Dependence::kUnshown};

// Four of five items are logged, three shown. With all five, those that were
// not shown would be known from those that were.
World WorldOfFive() {
  return World({0.3, -0.2, 0.1, 0.5, 0}, {-0.5, 0.9, 0.2, -0.1, 0.6}, 4, 3);
}

UserTestSums MakeUserSums(double mixture = 0.5) {
  auto sums = UserTestSums::Create({.value = {{1, 1, 1}, 0},
                                    .mixture = mixture,
                                    .has_marginals = true,
                                    .num_groups = 2048});
  EXPECT_OK(sums);
  return *std::move(sums);
}

bool Contradicts(Users users, Dependence dependence) {
  switch (dependence) {
    case Dependence::kBelow:
      return users == Users::kShown || users == Users::kWhole;
    case Dependence::kAbove:
      return users != Users::kIndependent;
    case Dependence::kUnshown:
      return users == Users::kWhole;
  }
  return false;
}

// Every order counts as it is probable, with mean rewards, and is there so
// often that the differences are nearly normal.
TEST(UserTestsTest, TheDifferenceIs0UnderTheAssumptionAndNotOtherwise) {
  const World world = WorldOfFive();
  constexpr int kCopies = 20;
  for (const Users users :
       {Users::kIndependent, Users::kCascade, Users::kShown, Users::kWhole}) {
    UserTestSums sums = MakeUserSums();
    uint64_t unit = 0;
    world.logging.ForEach([&](const Order& order) {
      const Decision decision = world.Make(order, users);
      for (int copy = 0; copy < kCopies; ++copy) {
        ASSERT_OK(sums.Add(MixedUnit(unit++),
                           world.logging.Probability(order) / kCopies,
                           decision.View(), decision.Judged()));
      }
    });
    for (const Dependence dependence : kAll) {
      const DependenceTest test = sums.Test(dependence);
      const size_t ranks = dependence == Dependence::kUnshown ? 1 : 2;
      EXPECT_EQ(test.ranks.size(), ranks) << UserDependenceKey(dependence);
      double largest = 0;
      for (const RankDependence& rank : test.ranks) {
        EXPECT_NEAR(rank.mean_weight, 1, 1e-10);
        largest = std::max(largest, std::fabs(rank.difference));
      }
      if (Contradicts(users, dependence)) {
        EXPECT_GT(largest, 1e-3) << UserDependenceKey(dependence);
      } else {
        EXPECT_LT(largest, 1e-10) << UserDependenceKey(dependence);
      }
    }
  }
}

double PValueOf(const World& world, Users users, uint64_t decisions,
                uint64_t seed, Dependence dependence) {
  UserTestSums sums = MakeUserSums();
  RandomSequence random(KeyOf(seed));
  for (uint64_t i = 0; i < decisions; ++i) {
    const Decision decision = world.Draw(users, &random);
    EXPECT_OK(sums.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  return sums.Test(dependence).p_value;
}

// 300 logs each. At a level of 10 %, 30 rejections on average and a standard
// deviation of 5.2: at most 46, P < 0.002.
TEST(UserTestsTest, RejectNoMoreOftenThanTheySay) {
  const World world = WorldOfFive();
  const struct {
    Users users;
    Dependence dependence;
  } kCases[] = {{Users::kCascade, Dependence::kBelow},
                {Users::kIndependent, Dependence::kAbove},
                {Users::kShown, Dependence::kUnshown}};
  for (const auto& [users, dependence] : kCases) {
    int rejected = 0;
    for (uint64_t log = 0; log < 300; ++log) {
      rejected +=
          PValueOf(world, users, 400, 5000 + log, dependence) < 0.1 ? 1 : 0;
    }
    EXPECT_LE(rejected, 46) << UserDependenceKey(dependence);
    EXPECT_GE(rejected, 5) << UserDependenceKey(dependence);
  }
}

TEST(UserTestsTest, SeeWhatIsThere) {
  const World world = WorldOfFive();
  const struct {
    Users users;
    Dependence dependence;
  } kCases[] = {{Users::kShown, Dependence::kBelow},
                {Users::kCascade, Dependence::kAbove},
                {Users::kWhole, Dependence::kUnshown}};
  for (const auto& [users, dependence] : kCases) {
    int rejected = 0;
    for (uint64_t log = 0; log < 10; ++log) {
      rejected +=
          PValueOf(world, users, 8000, 9000 + log, dependence) < 0.05 ? 1 : 0;
    }
    EXPECT_GE(rejected, 8) << UserDependenceKey(dependence);
  }
}

TEST(UserTestsTest, MergingIsAddingAllToOne) {
  const World world = WorldOfFive();
  UserTestSums all = MakeUserSums();
  UserTestSums parts[2] = {all, all};
  RandomSequence random(KeyOf(6));
  for (uint64_t i = 0; i < 500; ++i) {
    const Decision decision = world.Draw(Users::kShown, &random);
    ASSERT_OK(all.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
    ASSERT_OK(
        parts[i % 2].Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  parts[0].Merge(parts[1]);
  for (const Dependence dependence : kAll) {
    EXPECT_NEAR(all.Test(dependence).p_value, parts[0].Test(dependence).p_value,
                1e-9);
  }
}

TEST(UserTestsTest, FewDecisionsAreNotTested) {
  const World world = WorldOfFive();
  UserTestSums sums = MakeUserSums();
  EXPECT_EQ(sums.Test(Dependence::kBelow).num_skipped, 0u);
  RandomSequence random(KeyOf(7));
  for (uint64_t i = 0; i < 20; ++i) {
    const Decision decision = world.Draw(Users::kShown, &random);
    ASSERT_OK(sums.Add(MixedUnit(i), 1, decision.View(), decision.Judged()));
  }
  EXPECT_EQ(sums.Test(Dependence::kBelow).num_skipped, 2u);
  EXPECT_EQ(sums.Test(Dependence::kBelow).p_value, 1);
}

TEST(UserTestsTest, RefuseWhatIsOutOfRange) {
  EXPECT_THAT(UserTestSums::Create({.value = {{1}, 0}, .mixture = 0}),
              IsInvalid("mixture is 0, must be in (0, 1]"));
  EXPECT_THAT(UserTestSums::Create({.value = {{1}, 0}, .num_groups = 1}),
              IsInvalid(HasSubstr("num_groups is 1")));
  UserTestSums sums = MakeUserSums();
  Decision decision = WorldOfFive().Make({0, 1, 2, 3}, Users::kIndependent);
  EXPECT_THAT(sums.Add(1, 2, decision.View(), decision.Judged()),
              IsInvalid("share is 2, must be in (0, 1]"));
  decision.target_marginals.clear();
  EXPECT_THAT(sums.Add(1, 1, decision.View(), decision.Judged()),
              IsInvalid(HasSubstr("log_marginals of a policy has 0 numbers")));
}

}  // namespace
}  // namespace sortition
