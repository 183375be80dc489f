#include "io/datasets/query_groups.h"

#include "io/datasets/letor.h"
#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;

constexpr char kLines[] = "2 1:1\n0 1:2\n1 1:3 # doc\n\n0 1:4\n1 1:5\n";

TEST(QueryGroupsTest, ReadsSizes) {
  ASSERT_OK_AND_ASSIGN(const QueryGroups groups,
                       ParseQueryGroups("f",
                                        "\xef\xbb\xbf"
                                        "2\r\n 1 2\n\n"));
  EXPECT_THAT(groups.sizes, ElementsAre(2u, 1u, 2u));
  EXPECT_EQ(groups.num_lines, 5u);
}

TEST(QueryGroupsTest, NamesFileAndLineOfWhatIsWrong) {
  for (const char* size : {"0", "-1", "1.5", "q7", "99999999999999999999"}) {
    EXPECT_THAT(ParseQueryGroups("g.query", absl::StrCat("2\n", size, "\n")),
                IsInvalidArgument(
                    absl::StrCat("g.query: line 2: the size of a query is '",
                                 size, "', must be an integer from 1 on")));
  }
  EXPECT_THAT(ParseQueryGroups("g.query", "\n"),
              IsInvalidArgument("g.query: has no sizes"));
}

TEST(QueryGroupsTest, GroupLinesWithoutQid) {
  ASSERT_OK_AND_ASSIGN(const QueryGroups groups,
                       ParseQueryGroups("g", "2 1 2"));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                       ParseLetor(kLines, {}, &groups));
  ASSERT_EQ(data.queries.size(), 3u);
  EXPECT_EQ(data.queries[0].id, "1");
  EXPECT_THAT(data.queries[0].features, ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(data.queries[1].relevances, ElementsAre(1u));
  EXPECT_EQ(data.queries[2].id, "3");
  EXPECT_THAT(data.queries[2].file_rows, ElementsAre(3u, 4u));
  EXPECT_EQ(data.groups, "g");
}

TEST(QueryGroupsTest, SumsMustMatch) {
  for (const auto& [sizes, message] :
       {std::pair("2 2",
                  "has more than 4 lines with labels, must have 4, the "
                  "sum of the 2 queries of g"),
        std::pair("2 4",
                  "has 5 lines with labels, must have 6, the sum of the "
                  "2 queries of g")}) {
    ASSERT_OK_AND_ASSIGN(const QueryGroups groups,
                         ParseQueryGroups("g", sizes));
    EXPECT_THAT(ParseLetor(kLines, {}, &groups), IsInvalidArgument(message));
  }
  ASSERT_OK_AND_ASSIGN(const QueryGroups groups, ParseQueryGroups("g", "1"));
  EXPECT_THAT(ParseLetor("1 qid:7 1:1\n", {}, &groups),
              IsInvalidArgument("line 1, column 3: the line names its query, "
                                "qid:7, but the group file g assigns lines to "
                                "queries"));
}

TEST(QueryGroupsTest, AreFoundBesideTheFile) {
  const TempDir dir;
  const std::string path = dir / "train.txt";
  ASSERT_OK(WriteFile(path, kLines));
  EXPECT_THAT(
      ReadLetor(path),
      IsInvalidArgument(path + ": line 1, column 3: the second field "
                               "must be qid:<query>, or a group file must "
                               "assign the lines to queries"));
  ASSERT_OK(WriteFile(path + ".group", "5\n"));
  ASSERT_OK_AND_ASSIGN(LabelledQueries data, ReadLetor(path));
  EXPECT_EQ(data.queries.size(), 1u);
  EXPECT_EQ(data.groups, path + ".group");
  ASSERT_OK(WriteFile(path + ".query", "2\n3\n"));
  EXPECT_THAT(ReadLetor(path), IsInvalidArgument("there are two group files"));
  ASSERT_OK_AND_ASSIGN(data, ReadLetor(path, {.groups = path + ".query"}));
  EXPECT_EQ(data.queries.size(), 2u);
  // Lines that name their query need none.
  ASSERT_OK(WriteFile(path, "1 qid:7 1:1\n"));
  ASSERT_OK_AND_ASSIGN(data, ReadLetor(path));
  EXPECT_EQ(data.groups, "");
}

}  // namespace
}  // namespace sortition
