#include "core/simulation/rank_reader.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("user is 'somebody', must be one of: err, ")));
}

}  // namespace
}  // namespace sortition
