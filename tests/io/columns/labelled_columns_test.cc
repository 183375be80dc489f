#include "io/columns/labelled_columns.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/features/schema/bound_columns.h"
#include "io/files.h"
#include "tests/io/columns/declared_schema.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema EverySchema() {
  return MakeSchema(
      "column { name: 'question' type: TEXT scope: QUERY } "
      "column { name: 'age' type: NUMBER scope: QUERY missing: true } "
      "column { name: 'sentence' type: TEXT } "
      "column { name: 'price' type: NUMBER missing: true } "
      "column { name: 'color' type: CATEGORY missing: true } "
      "column { name: 'tags' type: CATEGORY_SET missing: true } "
      "column { name: 'v' type: VECTOR size: 2 missing: true }");
}

class LabelledColumnsTest : public testing::Test {
 protected:
  std::string Write(const std::string& contents) {
    EXPECT_OK(WriteFile(path_, contents));
    return path_;
  }

  // Both forms must give this for the query of three candidates below.
  static void ExpectEveryType(const LabelledColumns& query) {
    const Schema schema = EverySchema();
    BoundColumns bound;
    ASSERT_OK(bound.Bind(schema, query.columns));
    EXPECT_EQ(query.id, "q1");
    EXPECT_THAT(query.relevances, ElementsAre(0, 2, 1));
    EXPECT_EQ(bound.column(0).Text(0), "Who?");
    EXPECT_TRUE(bound.column(1).Missing(0));
    EXPECT_EQ(bound.column(2).Text(0), "Ann, \"the\" first");
    EXPECT_EQ(bound.column(2).Text(2), "Bob");
    EXPECT_TRUE(bound.column(3).Missing(0));
    EXPECT_EQ(bound.column(3).Number(1), 2.5);
    EXPECT_TRUE(bound.column(3).Missing(2));
    EXPECT_EQ(bound.column(4).Text(0), "red");
    EXPECT_TRUE(bound.column(4).Missing(1));
    ASSERT_EQ(bound.column(5).Set(1).size(), 2u);
    EXPECT_EQ(*bound.column(5).Set(1)[1], "b");
    EXPECT_TRUE(bound.column(5).Missing(2));
    EXPECT_TRUE(bound.column(6).Missing(1));
    EXPECT_EQ(bound.column(6).Vector(2)[1], -0.5);
  }

  const TempDir directory_{FastParent()};
  const std::string path_ = directory_ / "file";
};

TEST_F(LabelledColumnsTest, TsvGroupsNeighboursByQuestion) {
  ASSERT_OK_AND_ASSIGN(const auto queries,
                       ReadQuestionTsv(Write("Who ?\tAnn \"x .\t0\n"
                                             "Who ?\tBob .\t1\r\n"
                                             "What ?\t\t0\n"
                                             "Who ?\tCarl .\t1"),
                                       QuestionSchema()));
  ASSERT_EQ(queries.size(), 3u);
  EXPECT_EQ(queries[0].id, "Who ?");
  EXPECT_EQ(queries[0].line, 1u);
  EXPECT_THAT(queries[0].relevances, ElementsAre(0, 1));
  EXPECT_THAT(queries[0].columns.candidate(0).texts().values(),
              ElementsAre("Ann \"x .", "Bob ."));
  EXPECT_THAT(queries[0].columns.query(0).texts().values(),
              ElementsAre("Who ?"));
  EXPECT_THAT(queries[1].columns.candidate(0).texts().values(),
              ElementsAre(""));
  EXPECT_EQ(queries[2].line, 4u);
}

TEST_F(LabelledColumnsTest, TsvErrorsNameLineAndColumn) {
  const std::string good = "Who ?\tAnn .\t0\n";
  const std::pair<const char*, const char*> cases[] = {
      {"Who ?\tBob .\n", ":2: has 2 fields, must have 3: question, sentence"},
      {"Who ?\tBob .\t0\t1\n", ":2: has 4 fields, must have 3"},
      {"\n", ":2: has 1 fields, must have 3"},
      {"Who ?\tBob .\tyes\n",
       ":2: column 3: label is 'yes', must be an integer"},
      {"Who ?\tBob .\t-1\n", ":2: column 3: label is '-1', must be"},
      {"Who ?\tBob .\t32\n", ":2: column 3: label is '32', must be"},
      {"Who ?\tB\xff\t0\n", ":2: column 2: must be UTF-8"},
      {"\xc3\tBob\t0\n", ":2: column 1: must be UTF-8"},
  };
  for (const auto& [line, error] : cases) {
    EXPECT_THAT(ReadQuestionTsv(Write(good + line), QuestionSchema()),
                StatusIs(kInvalidArgument, HasSubstr(path_ + error)));
  }
  EXPECT_THAT(ReadQuestionTsv(Write(good),
                              MakeSchema("column { name: 'a' type: TEXT }")),
              StatusIs(kInvalidArgument,
                       HasSubstr("schema has 0 TEXT columns of scope QUERY")));
  EXPECT_THAT(ReadQuestionTsv(directory_ / "none", QuestionSchema()),
              StatusIs(absl::StatusCode::kNotFound));
}

constexpr char kHeader[] =
    "query,label,question,age,sentence,price,color,tags,v,ignored\n";

TEST_F(LabelledColumnsTest, CsvReadsEveryType) {
  ASSERT_OK_AND_ASSIGN(
      const auto queries,
      ReadColumnsCsv(Write(absl::StrCat(
                         "\xef\xbb\xbf", kHeader,
                         "q1,0,Who?,,\"Ann, \"\"the\"\" first\",,red,a,3 4,x\n"
                         "q1,2,Who?,,\"two\nlines\",2.5,,a|b,,\n"
                         "q1,1,Who?,,Bob,,blue,,1 -0.5,z\n"
                         "q2,0,What?,7,,1,c,d,0 0,\n")),
                     EverySchema()));
  ASSERT_EQ(queries.size(), 2u);
  ExpectEveryType(queries[0]);
  EXPECT_EQ(queries[1].line, 6u);  // A quoted field has a line break.
  EXPECT_EQ(queries[1].relevances.size(), 1u);
}

TEST_F(LabelledColumnsTest, CsvErrorsNameLineAndColumn) {
  const std::pair<std::string, const char*> cases[] = {
      {"query,question\n", ":1: the header has no column 'label'"},
      {"label,question\n", ":1: the header has no column 'query'"},
      {"query,label,query\n", ":1: the header has column 'query' twice"},
      {absl::StrCat(kHeader, "q1,0,Who?\n"),
       ":2: has 3 fields, must have 10, as the header"},
      {absl::StrCat(kHeader, "q1,0,Who?,old,,,,,,\n"),
       ":2: column 'age' is 'old', must be a finite number, or empty"},
      {absl::StrCat(kHeader, "q1,0,Who?,,,inf,,,,\n"),
       ":2: column 'price' is 'inf', must be a finite number, or empty"},
      {absl::StrCat(kHeader, "q1,0,Who?,,,,,,1 x,\n"),
       ":2: column 'v' is '1 x', must be numbers with spaces between"},
      {absl::StrCat(kHeader, "q1,0,Who?,,,,,,1 2 3,\n"),
       ":2: column 'v' has a vector of 3 numbers, must have 2"},
      {absl::StrCat(kHeader, "q1,x,Who?,,,,,,,\n"),
       ":2: column 'label': label is 'x', must be an integer in [0, 31]"},
      {absl::StrCat(kHeader, "q1,0,Who?,,a,,,,,\nq1,0,What?,,b,,,,,\n"),
       ":3: column 'question' is 'What?', must be 'Who?', as in the first"},
      {absl::StrCat(kHeader, "q1,0,Who?,,a,,,a||b,,\n"),
       "column 'tags': values[1] is empty, must be a category"},
      {absl::StrCat(kHeader, "q1,0,Who?,,a,,,\"a\"b,,\n"),
       ":2: column 19: a comma must follow"},
  };
  for (const auto& [contents, error] : cases) {
    EXPECT_THAT(ReadColumnsCsv(Write(contents), EverySchema()),
                StatusIs(kInvalidArgument, HasSubstr(error)));
  }
}

TEST_F(LabelledColumnsTest, JsonReadsEveryType) {
  ASSERT_OK_AND_ASSIGN(
      const auto queries,
      ReadColumnsJson(
          Write(R"({"id": "q1", "query": {"question": "Who?", "age": null},)"
                R"( "candidates": [)"
                R"({"sentence": "Ann, \"the\" first", "color": "red", )"
                R"("tags": ["a"], "v": [3, 4]},)"
                R"({"sentence": "two", "price": 2.5, "tags": ["a", "b"], )"
                R"("label": 2},)"
                R"({"v": [1, -0.5], "sentence": "Bob", "color": "blue", )"
                R"("label": 1}]})"
                "\n\n"
                R"({"query": {"question": "What?", "age": 7},)"
                R"( "candidates": [{"sentence": ""}]})"),
          EverySchema()));
  ASSERT_EQ(queries.size(), 2u);
  ExpectEveryType(queries[0]);
  EXPECT_EQ(queries[1].line, 3u);
  // A column that no candidate has is absent.
  EXPECT_EQ(queries[1].columns.candidate_size(), 1);
}

TEST_F(LabelledColumnsTest, JsonErrorsNameLineAndPlace) {
  const auto with = [](const std::string& candidate) {
    return absl::StrCat(R"({"query": {"question": "W"}, "candidates": [)",
                        candidate, "]}");
  };
  const std::pair<std::string, const char*> cases[] = {
      {"{\"id\": }", ":1: column 8: Invalid value."},
      {"[1]", ":1: the line is not a JSON object"},
      {R"({"name": 1})", ":1: member 'name' must be id, query or candidates"},
      {R"({"id": 1, "candidates": []})", ":1: id is 1, must be a string"},
      {R"({"query": {"question": "W"}})", ":1: candidates must be there"},
      {with(""), ":1: columns.num_candidates is 0, must be in [1, 1000000]"},
      {with("7"), ":1: candidates[0] is 7, must be an object"},
      {with(R"({"sentence": "a"}, {"sentance": "b"})"),
       ":1: candidates[1].sentance is not a column of the schema's scope "
       "CANDIDATE"},
      {with(R"({"question": "b"})"),
       ":1: candidates[0].question is not a column"},
      {with(R"({"sentence": "a", "sentence": "b"})"),
       ":1: candidates[0].sentence is there twice"},
      {with(R"({"sentence": 5})"),
       ":1: candidates[0].sentence is 5, must be a string"},
      {with(R"({"sentence": "a", "price": "2"})"),
       ":1: candidates[0].price is \"2\", must be a finite number"},
      {with(R"({"sentence": "a", "tags": "x"})"),
       ":1: candidates[0].tags is \"x\", must be an array of strings"},
      {with(R"({"sentence": "a", "tags": [1]})"),
       ":1: candidates[0].tags is 1, must be a string"},
      {with(R"({"sentence": "a", "v": [1, 2, 3]})"),
       ":1: column 'v' has a vector of 3 numbers, must have 2"},
      {with(R"({"sentence": "a", "label": "1"})"),
       ":1: candidates[0]: label is '\"1\"', must be an integer in [0, 31]"},
      {with(R"({"price": 1})"),
       ":1: column 'sentence' is absent, must be a TEXT of the candidates"},
      {with(R"({"sentence": "a", "color": ""})"),
       ":1: column 'color': values[0] is empty, must be a category"},
  };
  for (const auto& [contents, error] : cases) {
    EXPECT_THAT(ReadColumnsJson(Write(contents), EverySchema()),
                StatusIs(kInvalidArgument, HasSubstr(path_ + error)));
  }
}

}  // namespace
}  // namespace sortition
