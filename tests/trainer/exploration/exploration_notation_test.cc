#include "trainer/exploration/exploration_notation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExplorationNotationTest, NamesPlackettLuce) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ParseExploration("pl", 3));
  EXPECT_TRUE(plain.has_plackett_luce());
  EXPECT_EQ(plain.inverse_temperature(), 3);
  EXPECT_EQ(plain.uniform_mixture(), 0);
  EXPECT_TRUE(plain.plackett_luce().rank_factors().empty());
  ASSERT_OK_AND_ASSIGN(
      const auto full,
      ParseExploration("pl:uniform=0.02:factors=4/2/0.5:alpha=2", 3));
  EXPECT_EQ(full.inverse_temperature(), 2);
  EXPECT_EQ(full.uniform_mixture(), 0.02);
  EXPECT_THAT(full.plackett_luce().rank_factors(), ElementsAre(4, 2, 0.5));
}

TEST(ExplorationNotationTest, NamesSortedRankings) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ParseExploration("sorted", 3));
  EXPECT_TRUE(plain.has_sorted_ranking());
  EXPECT_EQ(plain.sorted_ranking().swap_probability(), 0);
  ASSERT_OK_AND_ASSIGN(
      const auto full,
      ParseExploration("sorted:alpha=2:swap=0.1:shuffle=0.05x10:uniform=0.2",
                       3));
  EXPECT_EQ(full.inverse_temperature(), 2);
  EXPECT_EQ(full.uniform_mixture(), 0.2);
  EXPECT_EQ(full.sorted_ranking().swap_probability(), 0.1);
  EXPECT_EQ(full.sorted_ranking().shuffle_probability(), 0.05);
  EXPECT_EQ(full.sorted_ranking().shuffle_ranks(), 10);
}

TEST(ExplorationNotationTest, ErrorsNameThePartThatIsWrong) {
  const auto error = [](absl::string_view text) {
    const auto policy = ParseExploration(text, 1);
    EXPECT_THAT(
        policy,
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("exploration '", text, "': "))));
    return std::string(policy.status().message());
  };
  EXPECT_THAT(error("softmax:alpha=1"),
              HasSubstr("'softmax' must be pl or sorted"));
  EXPECT_THAT(error(""), HasSubstr("'' must be pl or sorted"));
  EXPECT_THAT(error("pl:2"), HasSubstr("'2' must be alpha=, factors= or "));
  EXPECT_THAT(error("pl:"), HasSubstr("'' must be alpha=, factors= or "));
  EXPECT_THAT(error("pl:alpha=warm"),
              HasSubstr("'alpha=warm' must be NAME=NUMBER"));
  EXPECT_THAT(error("pl:alpha"), HasSubstr("'alpha' must be NAME=NUMBER"));
  EXPECT_THAT(error("pl:alpha=1:alpha=2"),
              HasSubstr("'alpha=2' must be the only alpha="));
  EXPECT_THAT(error("pl:swap=0.1"), HasSubstr("'swap=0.1' must be alpha="));
  EXPECT_THAT(error("sorted:factors=2"),
              HasSubstr("'factors=2' must be alpha=, swap=, shuffle= or "));
  EXPECT_THAT(error("pl:factors=4//1"),
              HasSubstr("'factors=4//1' must be factors=NUMBER/NUMBER"));
  EXPECT_THAT(error("sorted:shuffle=0.1"),
              HasSubstr("'shuffle=0.1' must be shuffle=PROBABILITYxRANKS"));
  EXPECT_THAT(error("sorted:shuffle=0.1x-3"),
              HasSubstr("must be shuffle=PROBABILITYxRANKS"));
  // Ranges are those of the policy.
  EXPECT_THAT(error("sorted:swap=0.7"),
              HasSubstr("swap_probability is 0.7, must be in [0, 0.5]"));
  EXPECT_THAT(error("sorted:shuffle=0.1x1"), HasSubstr("shuffle_ranks is 1"));
  EXPECT_THAT(error("pl:factors=0"), HasSubstr("rank_factors"));
  EXPECT_THAT(error("pl:alpha=nan"), HasSubstr("inverse_temperature is nan"));
}

}  // namespace
}  // namespace sortition
