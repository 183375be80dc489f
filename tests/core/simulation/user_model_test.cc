#include "core/simulation/user_model.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/data/action.h"
#include "core/simulation/rank_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"

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

constexpr int kNumReadings = 20000;

RankReader Reader(const std::string& user,
                  std::optional<double> noise = std::nullopt) {
  return *RankReader::Create(user, {.max_relevance = 2, .noise = noise});
}

TEST(RankReaderTest, ExpectedRewardOfErrIsExpectedReciprocalRank) {
  const RankReader reader = Reader("err");
  // R(0) = 0, R(1) = 1/4, R(2) = 3/4 [Chapelle09, eq. 5]. Relevances 2, 0, 1:
  // 3/4 + 1/4 · (1 · 1/4) / 3.
  EXPECT_NEAR(reader.ExpectedReward(std::vector<uint32_t>{2, 0, 1}),
              0.75 + 0.25 * 0.25 / 3, 1e-12);
  // Relevances 1, 2: 1/4 + 3/4 · 3/4 / 2.
  EXPECT_NEAR(reader.ExpectedReward(std::vector<uint32_t>{1, 2}),
              0.25 + 0.75 * 0.75 / 2, 1e-12);
}

TEST(RankReaderTest, ExpectedRewardIsTheMean) {
  const std::vector<uint32_t> relevances = {1, 0, 1, 1, 0};
  for (const char* const user :
       {"err", "pbm", "trust", "cascade", "dcm", "navigational",
        "informational", "near_random"}) {
    const RankReader reader = Reader(user);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kNumReadings; ++i) {
      double reward = 0;
      for (const auto& [rank, worth] :
           reader.Read(relevances, absl::StrCat("d", i)).clicks) {
        reward += worth;
      }
      sum += reward;
      squares += reward * reward;
    }
    const double mean = sum / kNumReadings;
    const double error =
        std::sqrt((squares / kNumReadings - mean * mean) / kNumReadings);
    EXPECT_NEAR(mean, reader.ExpectedReward(relevances), 4 * error) << user;
    EXPECT_GT(error, 0) << user;
  }
}

TEST(RankReaderTest, SaysHowFarWasReadWhereClicksTell) {
  const std::vector<uint32_t> relevances = {1, 0, 1, 2, 0};
  bool clicked = false;
  for (const char* const user : {"err", "cascade"}) {
    const RankReader reader = Reader(user);
    for (int i = 0; i < 200; ++i) {
      const ReadRanking read = reader.Read(relevances, absl::StrCat("d", i));
      ASSERT_TRUE(read.seen_ranks.has_value());
      ASSERT_LE(read.clicks.size(), 1u);
      EXPECT_EQ(*read.seen_ranks,
                read.clicks.empty() ? 5 : read.clicks[0].first + 1);
      clicked |= !read.clicks.empty();
    }
  }
  EXPECT_TRUE(clicked);
  EXPECT_FALSE(Reader("pbm").Read(relevances, "d").seen_ranks.has_value());
  // What attracts by noise does not satisfy, so that the user reads on.
  EXPECT_FALSE(Reader("err", 0.1).Read(relevances, "d").seen_ranks.has_value());
}

TEST(RankReaderTest, IsAFunctionOfSeedAndDecision) {
  const std::vector<uint32_t> relevances(8, 1);
  const RankReader reader = Reader("near_random");
  EXPECT_EQ(reader.Read(relevances, "a").clicks,
            reader.Read(relevances, "a").clicks);
  const RankReader other =
      *RankReader::Create("near_random", {.seed = 2, .max_relevance = 2});
  int different = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string id = absl::StrCat("d", i);
    different +=
        reader.Read(relevances, id).clicks != other.Read(relevances, id).clicks
            ? 1
            : 0;
  }
  EXPECT_GT(different, 10);
}

TEST(RankReaderTest, NamesWhatIsWrong) {
  EXPECT_THAT(RankReader::Create("somebody", {}),
              IsInvalidArgument("user is 'somebody', must be one of: err, "));
}

}  // namespace
}  // namespace sortition
