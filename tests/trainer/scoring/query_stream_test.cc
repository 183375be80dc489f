#include "trainer/scoring/query_stream.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/scoring/letor_stream.h"

namespace sortition {
namespace {

class QueryStreamTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(dir_ / name, text));
    return dir_ / name;
  }

  // Returns all queries of a LETOR file for a model of three features, or the
  // error.
  absl::StatusOr<std::vector<StreamedQuery>> ReadLetorText(
      const std::string& text) {
    ASSIGN_OR_RETURN(const auto stream,
                     OpenQueryStream(Write("data", text), {3, nullptr}, {}));
    std::vector<StreamedQuery> queries;
    while (true) {
      StreamedQuery query;
      ASSIGN_OR_RETURN(const bool more, stream->Next(&query));
      if (!more) return queries;
      queries.push_back(std::move(query));
    }
  }

  TempDir dir_;
};

// Explicit zeros stay, because trees can tell them from absent features.
TEST_F(QueryStreamTest, LetorLinesAreSparseRows) {
  ASSERT_OK_AND_ASSIGN(
      const auto queries,
      ReadLetorText("\xef\xbb\xbf"
                    "2 qid:a 1:0.5 3:-2 #docid = GX-1 inc = 1 prob = 0.4\r\n"
                    "# a comment\n\n"
                    "0 qid:a 2:0\n"
                    "1 qid:b # docid=7\n"));
  ASSERT_EQ(queries.size(), 2u);
  EXPECT_EQ(queries[0].id, "a");
  EXPECT_EQ(queries[0].line, 1u);
  EXPECT_THAT(queries[0].row_offsets, ElementsAre(0, 2, 3));
  EXPECT_THAT(queries[0].columns, ElementsAre(0, 2, 1));
  EXPECT_THAT(queries[0].values, ElementsAre(0.5f, -2.0f, 0.0f));
  EXPECT_THAT(queries[0].relevances, ElementsAre(2, 0));
  EXPECT_THAT(queries[0].candidate_ids, ElementsAre("GX-1", ""));
  EXPECT_EQ(queries[1].line, 5u);
  EXPECT_THAT(queries[1].row_offsets, ElementsAre(0, 0));
  EXPECT_THAT(queries[1].candidate_ids, ElementsAre("7"));
}

TEST_F(QueryStreamTest, FindsTheIdInAComment) {
  EXPECT_EQ(DocumentIdIn("docid = GX008-86 inc = 1"), "GX008-86");
  EXPECT_EQ(DocumentIdIn(" docid=5"), "5");
  EXPECT_EQ(DocumentIdIn("document 5"), "");
  EXPECT_EQ(DocumentIdIn("docid 5"), "");
  EXPECT_EQ(DocumentIdIn(""), "");
}

TEST_F(QueryStreamTest, ErrorsNameFileAndLine) {
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"0 qid:a 1:1\n0 qid:b 1:1\n1 qid:a 1:1\n",
            "query 'a' comes back after another query"},
           {"0 qid:a 4:1\n",
            "has feature 4, must be in [1, 3]: the model has 3"},
           {"-1 qid:a 1:1\n", "label is -1, must be an integer in [0, 31]"},
           {"1 1:1\n", "the second field must be qid:<query>"},
           {"1 qid:a 2:1 1:1\n", "line 1"},
           {"1 qid:a 1:nan\n", "line 1"}}) {
    EXPECT_THAT(ReadLetorText(text), IsInvalidArgument("data: line ", why))
        << text;
  }
  EXPECT_THAT(ReadLetorText("0 qid:a 1:1\n0 qid:b 1:1\n1 qid:a 1:1\n"),
              IsInvalidArgument("line 3"));
}

// What is read as missing is as if the line did not state it.
TEST_F(QueryStreamTest, ReadsLabelFilesAsTheOptionsSay) {
  const StreamedShape shape = {
      .num_features = 3,
      .svmlight = {.first_feature = 0,
                   .extreme_values = ExtremeValues::kMissing}};
  ASSERT_OK_AND_ASSIGN(
      const auto stream,
      OpenQueryStream(Write("data", "1 qid:a 0:5 1:-1.7976e308 2:7\n"), shape,
                      {}));
  StreamedQuery query;
  ASSERT_OK_AND_ASSIGN(const bool more, stream->Next(&query));
  EXPECT_TRUE(more);
  EXPECT_THAT(query.columns, ElementsAre(0, 2));
  EXPECT_THAT(query.values, ElementsAre(5, 7));
  EXPECT_EQ(stream->extreme_values(), 1u);
}

// One query of a file of 20 MB is there after a small part of it was read.
TEST_F(QueryStreamTest, KeepsOneQueryInMemory) {
  std::string text;
  constexpr int kQueries = 20000;
  const std::string padding(1000, 'x');
  for (int q = 0; q < kQueries; ++q) {
    absl::StrAppend(&text, "1 qid:", q, " 1:1 # ", padding, "\n");
  }
  ASSERT_OK_AND_ASSIGN(const auto stream,
                       OpenQueryStream(Write("big", text), {3, nullptr}, {}));
  StreamedQuery query;
  ASSERT_OK_AND_ASSIGN(bool more, stream->Next(&query));
  EXPECT_TRUE(more);
  EXPECT_LT(stream->bytes_read(), text.size() / 10);
  int count = 0;
  while (more) {
    ++count;
    ASSERT_OK_AND_ASSIGN(more, stream->Next(&query));
  }
  EXPECT_EQ(count, kQueries);
  EXPECT_EQ(stream->bytes_read(), text.size());
}

}  // namespace
}  // namespace sortition
