#include "client/commands/score_lists.h"

#include "tests/testing/refusals.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ScoreListsTest, ReadsNamesAndIdsWhereTheyAreNoNumbers) {
  ASSERT_OK_AND_ASSIGN(
      const ScoreTable table,
      ParseScoreTable("id,bm25,neural\na, 1,2.5\n\nb,-3e1,0\n"));
  EXPECT_THAT(table.sources, ElementsAre("bm25", "neural"));
  EXPECT_THAT(table.candidates, ElementsAre("a", "b"));
  EXPECT_EQ(table.num_sources, 2u);
  EXPECT_THAT(table.scores, ElementsAre(1, 2.5, -30, 0));
}

TEST(ScoreListsTest, ReadsBareNumbers) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable table,
                       ParseScoreTable("1\t2\r\n3\t4\r\n"));
  EXPECT_THAT(table.sources, IsEmpty());
  EXPECT_THAT(table.candidates, IsEmpty());
  EXPECT_THAT(table.scores, ElementsAre(1, 2, 3, 4));
  ASSERT_OK_AND_ASSIGN(const ScoreTable one, ParseScoreTable("score\n1\n2\n"));
  EXPECT_THAT(one.sources, ElementsAre("score"));
  EXPECT_THAT(one.scores, ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const ScoreTable ids, ParseScoreTable("a,1\nb,2\n"));
  EXPECT_THAT(ids.sources, IsEmpty());
  EXPECT_THAT(ids.candidates, ElementsAre("a", "b"));
}

TEST(ScoreListsTest, NamesTheLineOfWhatIsWrong) {
  const auto refuses = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(ParseScoreTable(text), IsInvalidArgument(what));
  };
  refuses("\n", "lists is empty");
  refuses("1,2\n3\n", "line 2 has 1 columns, must have 2, as line 1");
  refuses("1,2\n3,x\n", "line 2, column 2 is 'x', must be a finite number");
  refuses("s,t\n1,nan\n", "line 2, column 2 is 'nan'");
  refuses("a\nb\n", "has no score");
}

}  // namespace
}  // namespace sortition
