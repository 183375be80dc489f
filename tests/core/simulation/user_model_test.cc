#include "core/simulation/user_model.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/data/action.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr int kNumRewards = 20000;
// Five standard errors of a mean of kNumRewards rewards in [0, 1] (standard
// deviation at most 1/2): exceeded by chance less than once in a million.
const double kTolerance = 5 * 0.5 / std::sqrt(kNumRewards);

TEST(UserModelTest, SelectRewardsAreRightWrongFlippedOrConstant) {
  const std::vector<uint32_t> relevances = {0, 1, 2};
  UserModelOptions options;
  options.noise = 0;
  options.relevant_from = 2;
  options.abstain_reward = 0.3;
  const UserModel user(options);
  EXPECT_EQ(user.SelectReward(relevances, 2, "a"), 1);
  EXPECT_EQ(user.SelectReward(relevances, 1, "a"), 0);
  EXPECT_EQ(user.SelectReward(relevances, kAbstain, "a"), 0.3);
  EXPECT_EQ(user.ExpectedSelectReward(relevances, kAbstain), 0.3);
}

TEST(UserModelTest, ExpectedSelectRewardIsTheMean) {
  const std::vector<uint32_t> relevances = {0, 1};
  UserModelOptions options;
  options.noise = 0.2;
  const UserModel user(options);
  for (const int32_t answer : {0, 1}) {
    double sum = 0;
    for (int i = 0; i < kNumRewards; ++i) {
      sum += user.SelectReward(relevances, answer, absl::StrCat("d", i));
    }
    EXPECT_NEAR(sum / kNumRewards,
                user.ExpectedSelectReward(relevances, answer), kTolerance);
  }
  EXPECT_DOUBLE_EQ(user.ExpectedSelectReward(relevances, 1), 0.8);
  EXPECT_DOUBLE_EQ(user.ExpectedSelectReward(relevances, 0), 0.2);
}

// Candidates 1 and 3 of five are right. {1, 2, 3}: F1 = 4/5, precision 2/3.
TEST(UserModelTest, ExpectedSubsetRewardIsTheMean) {
  using Measure = UserModel::Measure;
  const std::vector<uint32_t> relevances = {0, 1, 0, 2, 0};
  UserModelOptions options;
  options.noise = 0;
  const UserModel sure(options);
  const std::vector<int32_t> three = {1, 2, 3};
  EXPECT_DOUBLE_EQ(sure.SubsetReward(relevances, three, Measure::kF1, "a"),
                   0.8);
  EXPECT_DOUBLE_EQ(
      sure.SubsetReward(relevances, three, Measure::kPrecision, "a"), 2. / 3);
  // Choosing nothing is worth 1 only if nothing is right.
  const std::vector<uint32_t> none = {0, 0};
  EXPECT_EQ(sure.ExpectedSubsetReward(relevances, {}, Measure::kF1), 0);
  EXPECT_EQ(sure.ExpectedSubsetReward(none, {}, Measure::kF1), 1);
  EXPECT_EQ(sure.ExpectedSubsetReward(none, {}, Measure::kPrecision), 0);
  options.noise = 0.2;
  const UserModel user(options);
  for (const auto measure : {Measure::kF1, Measure::kPrecision}) {
    double sum = 0;
    for (int i = 0; i < kNumRewards; ++i) {
      sum += user.SubsetReward(relevances, three, measure, absl::StrCat(i));
    }
    EXPECT_NEAR(sum / kNumRewards,
                user.ExpectedSubsetReward(relevances, three, measure),
                kTolerance);
  }
  EXPECT_DOUBLE_EQ(user.ExpectedSubsetReward(relevances, three, Measure::kF1),
                   0.8 * 0.8 + 0.2 * 0.2);
}

TEST(UserModelTest, IsAFunctionOfSeedAndDecision) {
  const std::vector<uint32_t> relevances = {1};
  UserModelOptions options;
  options.noise = 0.5;
  const UserModel user(options);
  const UserModel same(options);
  options.seed = 2;
  const UserModel other(options);
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string id = absl::StrCat("d", i);
    EXPECT_EQ(user.SelectReward(relevances, 0, id),
              same.SelectReward(relevances, 0, id));
    differ += user.SelectReward(relevances, 0, id) !=
              other.SelectReward(relevances, 0, id);
  }
  // Binomial(200, 1/2): below 50 with probability under 1e-12.
  EXPECT_GT(differ, 50);
}

}  // namespace
}  // namespace sortition
