#include "trainer/decision_files/reward_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/decision_files/written_file.h"

namespace sortition {
namespace {

using testing::HasSubstr;

TEST(RewardFileTest, ReadsTheSameFromBothFormats) {
  for (const std::string text :
       {"{\"decision_id\": \"a\", \"reward\": 2}\n"
        "\n"
        "{\"decision_id\": \"b, c\", \"reward\": -0.5, \"other\": [1]}\n",
        "other,decision_id,reward\n"
        "x,a,2\n"
        ",\"b, c\",-0.5\r\n"}) {
    const WrittenFile file(text);
    ASSERT_OK_AND_ASSIGN(const RewardFile rewards,
                         RewardFile::Read(file.path()));
    EXPECT_EQ(rewards.num_decisions(), 2u);
    EXPECT_EQ(rewards.RewardOf("a"), 2);
    EXPECT_EQ(rewards.RewardOf("b, c"), -0.5);
    EXPECT_FALSE(rewards.Has("d"));
    EXPECT_EQ(rewards.RewardOf("d"), 0);
    EXPECT_EQ(rewards.min(), -0.5);
    EXPECT_EQ(rewards.max(), 2);
  }
}

TEST(RewardFileTest, TheRangeIncludesZero) {
  const WrittenFile file("decision_id,reward\na,0.5\nb,0.75\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards, RewardFile::Read(file.path()));
  EXPECT_EQ(rewards.min(), 0);
  EXPECT_EQ(rewards.max(), 0.75);
}

TEST(RewardFileTest, ARangeThatIsGivenIsTheRange) {
  const WrittenFile file("decision_id,reward\na,0\nb,-0.5\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile seen, RewardFile::Read(file.path()));
  EXPECT_FALSE(seen.is_range_given());
  EXPECT_EQ(seen.min(), -0.5);
  ASSERT_OK_AND_ASSIGN(const RewardFile given,
                       RewardFile::Read(file.path(), RewardBounds{-2, 1}));
  EXPECT_TRUE(given.is_range_given());
  EXPECT_EQ(given.min(), -2);
  EXPECT_EQ(given.max(), 1);
  EXPECT_THAT(RewardFile::Read(file.path(), RewardBounds{-0.25, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(":3: reward is -0.5, must be in [-0.25, 1]")));
}

TEST(RewardFileTest, RewardsThatAreAllZeroHaveNoRange) {
  const WrittenFile file("decision_id,reward\na,0\nb,0\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards, RewardFile::Read(file.path()));
  EXPECT_FALSE(rewards.is_range_known());
}

TEST(RewardFileTest, AFileOfOtherDecisionsIsAnError) {
  const WrittenFile file("decision_id,reward\na,0\nb,-1\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards, RewardFile::Read(file.path()));
  EXPECT_OK(rewards.CheckFound(1));
  EXPECT_THAT(
      rewards.CheckFound(0),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr(file.path() + ": none of its 2 decisions is in the")));
  // There were no complaints at all.
  const WrittenFile empty("decision_id,reward\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile none, RewardFile::Read(empty.path()));
  EXPECT_OK(none.CheckFound(0));
}

TEST(RewardFileTest, NamesWhatIsWrong) {
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {"", ": the file is empty, must have a row for each decision"},
      {"decision,reward\na,1\n", ":1: column 'decision_id' is missing"},
      {"decision_id,decision_id\n", ":1: column 'decision_id' is there twice"},
      {"decision_id,reward\na,1\nb\n",
       ":3: the line has 1 fields, must have 2, as the header"},
      {"decision_id,reward\na,high\n",
       ":2: reward is 'high', must be a finite number"},
      {"decision_id,reward\na,nan\n",
       ":2: reward is 'nan', must be a finite number"},
      {"decision_id,reward\na,1e308\n",
       ":2: reward is 1e+308, must be in [-1e+09, 1e+09]"},
      {"decision_id,reward\na,\n", ":2: reward is missing"},
      {"decision_id,reward\n,1\n", ":2: decision_id is empty"},
      {"decision_id,reward\na,1\na,1\n",
       ":3: decision_id is 'a', which an earlier line has, too"},
      {"{\"reward\": 1}\n", ":1: decision_id is missing"},
      {"{\"decision_id\": 7.5, \"reward\": 1}\n",
       ":1: decision_id is 7.5, must be a string"},
      {"{\"decision_id\": \"a\", \"reward\": \"1\"}\n",
       ":1: reward is \"1\", must be a finite number"},
      {"{\"decision_id\": \"a\"}\n", ":1: reward is missing"},
      {"{\"decision_id\": \"a\", \"reward\": 1\n", ":1: column "},
  };
  for (const auto& bad : kCases) {
    const WrittenFile file(bad.text);
    EXPECT_THAT(RewardFile::Read(file.path()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(file.path() + bad.message)))
        << bad.text;
  }
  EXPECT_THAT(
      RewardFile::Read("/nowhere/rewards.csv"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/rewards.csv")));
}

}  // namespace
}  // namespace sortition
