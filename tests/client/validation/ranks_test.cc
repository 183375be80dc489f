// Reports about ranks that were not decided are found.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/validation/validate_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RanksTest : public ValidateFixture {
 protected:
  // Orders of three ranks.
  static Tuples Orders() {
    return Log({.version = 0, .kind = log::v1::RANK, .top_k = 3}, 500);
  }
  static void AddRankReward(uint32_t rank, log::v1::BanditTuple* tuple) {
    log::v1::RankReward* reward = tuple->add_rank_rewards();
    reward->set_rank(rank);
    reward->set_reward(1);
    reward->set_count(1);
  }
  // Expects a warning of the check of ranks, and nothing else.
  void ExpectWarning(const std::string& text) {
    const auto found = Found();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_TRUE(found.contains("ranks"));
    EXPECT_EQ(found.at("ranks").level, Level::kWarn);
    EXPECT_THAT(found.at("ranks").text, HasSubstr(text));
  }
};

TEST_F(RanksTest, EveryRankOfTheActionMayBeRewardedAndSeen) {
  Tuples tuples = Orders();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    AddRankReward(rank, &tuples[4]);
    tuples[rank].mutable_shown()->set_seen_ranks(rank + 1);
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
  std::optional<std::string> text;
  for (const CheckResult& result : Validate()) {
    if (result.check == "ranks") text = result.finding.text;
  }
  EXPECT_EQ(text,
            "the rewards of ranks of 1 tuples and what was seen of 3 are "
            "within their actions");
}

TEST_F(RanksTest, FeedbackAboutARankBeyondTheAction) {
  Tuples tuples = Orders();
  AddRankReward(2, &tuples[4]);
  AddRankReward(0, &tuples[6]);
  AddRankReward(3, &tuples[6]);
  Write(tuples);
  ExpectWarning(
      "decision d6: feedback is about rank 3, must be in [0, 3), the ranks of "
      "the action");
  EXPECT_THAT(Found().at("ranks").text,
              HasSubstr("1 of 2 tuples with rewards of ranks"));
}

TEST_F(RanksTest, MoreRanksSeenThanDecided) {
  for (const uint32_t seen : {0u, 4u}) {
    Tuples tuples = Orders();
    tuples[5].mutable_shown()->set_seen_ranks(seen);
    tuples[7].mutable_shown()->set_seen_ranks(3);
    Write(tuples);
    ExpectWarning(absl::StrCat("decision d5: seen_ranks is ", seen,
                               ", must be in [1, 3], the ranks of the action"));
    EXPECT_THAT(Found().at("ranks").text,
                HasSubstr("1 of 2 tuples with seen_ranks"));
    std::filesystem::remove(path_);
  }
}

// Nothing can be seen of it, and no rank of it be rewarded.
TEST_F(RanksTest, AnAbstentionHasNoRanks) {
  Logger logger;
  logger.version = 0;
  Tuples tuples = Log(logger, 500);
  log::v1::Decision& decision = *tuples[3].mutable_decision();
  decision.set_action(0, -1);
  tuples[3].mutable_shown()->set_seen_ranks(1);
  Write(tuples);
  const auto found = Found();
  ASSERT_TRUE(found.contains("ranks"));
  EXPECT_THAT(found.at("ranks").text,
              HasSubstr("seen_ranks is 1, must be unset"));
}

}  // namespace
}  // namespace sortition
