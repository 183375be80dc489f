#include "io/columns/column_queries.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "sortition/v1/columns.pb.h"
#include "tests/io/columns/declared_schema.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The same two queries in all formats.
TEST(ColumnQueriesTest, TheEndOfTheNameSaysTheFormat) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a.tsv",
                      "Who?\tAnn.\t1\nWho?\tIn May.\t0\nWhen?\tIn May.\t1\n"));
  ASSERT_OK(WriteFile(dir / "a.csv",
                      "query,question,sentence,label\nWho?,Who?,Ann.,1\n"
                      "Who?,Who?,In May.,0\nWhen?,When?,In May.,1\n"));
  ASSERT_OK(WriteFile(
      dir / "a.jsonl",
      R"({"id": "Who?", "query": {"question": "Who?"}, "candidates":)"
      R"( [{"sentence": "Ann.", "label": 1}, {"sentence": "In May."}]})"
      "\n"
      R"({"id": "When?", "query": {"question": "When?"}, "candidates":)"
      R"( [{"sentence": "In May.", "label": 1}]})"
      "\n"));
  for (const char* name : {"a.tsv", "a.csv", "a.jsonl"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(IsColumnFile(dir / name));
    ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                         ReadColumnQueries(dir / name, QuestionSchema()));
    EXPECT_EQ(data.num_features, 0);
    ASSERT_EQ(data.queries.size(), 2);
    EXPECT_EQ(data.queries[0].id, "Who?");
    EXPECT_THAT(data.queries[0].relevances, ElementsAre(1, 0));
    EXPECT_THAT(data.queries[0].file_rows, ElementsAre(0, 1));
    EXPECT_THAT(data.queries[1].file_rows, ElementsAre(2));
    EXPECT_TRUE(data.queries[0].features.empty());
    ASSERT_NE(data.queries[0].columns, nullptr);
    const v1::Columns& columns = *data.queries[0].columns;
    EXPECT_EQ(columns.num_candidates(), 2);
    ASSERT_EQ(columns.candidate_size(), 1);
    EXPECT_THAT(columns.candidate(0).texts().values(),
                ElementsAre("Ann.", "In May."));
    EXPECT_THAT(columns.query(0).texts().values(), ElementsAre("Who?"));
  }
}

TEST(ColumnQueriesTest, OtherNamesAreRefused) {
  EXPECT_FALSE(IsColumnFile("train.letor"));
  EXPECT_FALSE(IsColumnFile("tsv"));
  EXPECT_THAT(ReadColumnQueries("train.letor", QuestionSchema()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("file 'train.letor' must end in .tsv, .csv "
                                 "or .jsonl")));
}

}  // namespace
}  // namespace sortition
