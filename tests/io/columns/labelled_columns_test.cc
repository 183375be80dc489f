#include "io/columns/labelled_columns.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/made_up_columns.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/columns/column_queries.h"
#include "io/columns/query_builder.h"
#include "io/columns/undeclared_columns.h"
#include "io/files.h"
#include "sortition/v1/columns.pb.h"
#include "tests/io/columns/declared_schema.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;

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
                IsInvalidArgument(path_ + error));
  }
  EXPECT_THAT(ReadQuestionTsv(Write(good),
                              MakeSchema("column { name: 'a' type: TEXT }")),
              IsInvalidArgument("schema has 0 TEXT columns of scope QUERY"));
  EXPECT_THAT(ReadQuestionTsv(directory_ / "none", QuestionSchema()),
              StatusIs(absl::StatusCode::kNotFound));
}

// Tools of Windows begin files with a UTF-8 byte order mark.
TEST_F(LabelledColumnsTest, ByteOrderMarksAreSkipped) {
  ASSERT_OK_AND_ASSIGN(
      auto queries,
      ReadQuestionTsv(Write("\xef\xbb\xbfWho ?\tAnn .\t0\nWho ?\tBob .\t1\n"),
                      QuestionSchema()));
  ASSERT_EQ(queries.size(), 1u);
  EXPECT_EQ(queries[0].id, "Who ?");
  const Schema numbers = MakeSchema("column { name: 'a' type: NUMBER }");
  ASSERT_OK_AND_ASSIGN(
      queries,
      ReadColumnsJson(Write("\xef\xbb\xbf{\"candidates\": [{\"a\": 1}]}"),
                      numbers));
  EXPECT_EQ(queries.size(), 1u);
  // A quoted first field of CSV begins behind the mark.
  ASSERT_OK_AND_ASSIGN(
      queries,
      ReadColumnsCsv(Write("\xef\xbb\xbf\"query\",label,a\nq,0,1\n"), numbers));
  EXPECT_EQ(queries[0].id, "q");
  // Anywhere else it is a character.
  EXPECT_THAT(ReadColumnsCsv(Write("query,label,a\nq,0,\xef\xbb\xbf"
                                   "1\n"),
                             numbers),
              IsInvalidArgument(":2: "));
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
                IsInvalidArgument(error));
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
      {with(R"({"sentance": "b"})"),
       ":1: column 'sentence' is absent, must be a TEXT of the candidates"},
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
                IsInvalidArgument(path_ + error));
  }
}

// Returns whether there is another query.
bool NextOf(LabelledColumnsReader* reader, LabelledColumns* query) {
  const absl::StatusOr<bool> more = reader->Next(query);
  EXPECT_OK(more);
  return more.ok() && *more;
}

// Data to be scored: labels may be absent, candidates may have ids, and one
// query after the other is read.
TEST_F(LabelledColumnsTest, ReadersGiveOneQueryAfterTheOther) {
  const Schema schema = QuestionSchema();
  LabelledNames names;
  names.may_lack_labels = true;
  names.id = "doc";
  ASSERT_OK_AND_ASSIGN(
      const auto tsv,
      OpenQuestionTsv(Write("Who ?\tAnn .\nWho ?\tBob .\nWhen ?\tNow .\t2\n"),
                      schema, names));
  LabelledColumns query;
  EXPECT_TRUE(NextOf(tsv.get(), &query));
  EXPECT_EQ(query.id, "Who ?");
  EXPECT_FALSE(query.has_labels);
  EXPECT_THAT(query.relevances, ElementsAre(0, 0));
  EXPECT_THAT(query.candidate_ids, IsEmpty());
  EXPECT_TRUE(NextOf(tsv.get(), &query));
  EXPECT_TRUE(query.has_labels);
  EXPECT_THAT(query.relevances, ElementsAre(2));
  EXPECT_FALSE(NextOf(tsv.get(), &query));
  EXPECT_FALSE(NextOf(tsv.get(), &query));

  ASSERT_OK_AND_ASSIGN(
      const auto csv,
      OpenColumnsCsv(Write("query,doc,question,sentence\n"
                           "q,d-7,Who ?,Ann .\nq,d-9,Who ?,Bob .\n"),
                     schema, names));
  EXPECT_TRUE(NextOf(csv.get(), &query));
  EXPECT_FALSE(query.has_labels);
  EXPECT_THAT(query.candidate_ids, ElementsAre("d-7", "d-9"));
  EXPECT_GT(csv->bytes_read(), 0u);
  EXPECT_FALSE(NextOf(csv.get(), &query));

  // The second candidate has neither id nor label.
  ASSERT_OK_AND_ASSIGN(
      const auto json,
      OpenColumnsJson(
          Write(R"({"query": {"question": "Who ?"}, "candidates": [)"
                R"({"sentence": "Ann .", "doc": 7, "label": 1}, )"
                R"({"sentence": "Bob ."}]})"),
          schema, names));
  EXPECT_TRUE(NextOf(json.get(), &query));
  EXPECT_TRUE(query.has_labels);
  EXPECT_THAT(query.relevances, ElementsAre(1, 0));
  EXPECT_THAT(query.candidate_ids, ElementsAre("7", ""));
}

TEST_F(LabelledColumnsTest, ColumnsThatMustBeThereAreNamed) {
  const Schema schema = QuestionSchema();
  const auto open = [&](const LabelledNames& with) {
    const auto reader = OpenColumnsCsv(
        Write("query,question,sentence\nq,Who ?,Ann .\n"), schema, with);
    LabelledColumns query;
    return reader.ok() ? (*reader)->Next(&query).status() : reader.status();
  };
  LabelledNames names;
  EXPECT_THAT(open(names),
              IsInvalidArgument(":1: the header has no column 'label'"));
  names.may_lack_labels = true;
  EXPECT_OK(open(names));
  names.id = "doc";
  names.may_lack_ids = false;
  EXPECT_THAT(open(names),
              IsInvalidArgument(":1: the header has no column 'doc'"));
  names.query = "topic";
  EXPECT_THAT(open(names),
              IsInvalidArgument(":1: the header has no column 'topic'"));
}

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
              IsInvalidArgument("file 'train.letor' must end in .tsv, .csv "
                                "or .jsonl"));
}

// Columns that are put together cell by cell, and columns without a schema.

TEST(QueryBuilderTest, TellsMissingFromAbsent) {
  const Schema schema = MakeSchema(
      "column { name: 'price' type: NUMBER } "
      "column { name: 'title' type: TEXT missing: true } "
      "column { name: 'city' type: CATEGORY scope: QUERY }");
  QueryBuilder builder(schema);
  builder.Start("", 1);
  builder.SetMissing(2);
  builder.SetMissing(0);
  builder.AddCandidate();
  builder.AddCandidate();
  v1::Columns columns;
  ASSERT_OK(builder.Finish(&columns));
  EXPECT_EQ(columns.num_candidates(), 2u);
  ASSERT_EQ(columns.candidate_size(), 1);  // No title.
  EXPECT_THAT(columns.candidate(0).missing(), ElementsAre(0, 1));
  EXPECT_THAT(columns.query(0).missing(), ElementsAre(0));

  builder.Start("", 2);  // A price may not be absent.
  builder.SetMissing(2);
  builder.AddCandidate();
  EXPECT_THAT(builder.Finish(&columns),
              IsInvalidArgument("column 'price' is absent"));
}

TEST(UndeclaredColumnsTest, AreWhatASchemaWouldSay) {
  const Schema schema = MakeSchema(
      "column { name: 'price' type: NUMBER missing: true } "
      "column { name: 'tags' type: CATEGORY_SET missing: true } "
      "column { name: 'place' type: VECTOR size: 2 missing: true } "
      "column { name: 'title' type: TEXT scope: QUERY missing: true }");
  RandomSequence random(SeedKey(3));
  UndeclaredColumns undeclared;
  BoundColumns bound;
  for (int i = 0; i < 50; ++i) {  // Mostly with the columns of the one before.
    const v1::Columns columns = MakeUpColumns(schema, 3, &random);
    ASSERT_OK(bound.Bind(schema, columns));
    ASSERT_OK(undeclared.Bind(columns));
    ASSERT_EQ(
        undeclared.schema().size(),
        static_cast<size_t>(columns.candidate_size() + columns.query_size()));
    for (size_t j = 0; j < undeclared.schema().size(); ++j) {
      const auto& declared = undeclared.schema().column(j);
      const size_t same = *schema.Find(declared.name());
      EXPECT_EQ(declared.type(), schema.column(same).type());
      EXPECT_EQ(declared.scope(), schema.column(same).scope());
      for (uint32_t row = 0; row < 3; ++row) {
        EXPECT_EQ(undeclared.columns().column(j).Missing(row),
                  bound.column(same).Missing(row));
      }
    }
  }
}

TEST(UndeclaredColumnsTest, RefusesWhatCannotBeRead) {
  UndeclaredColumns undeclared;
  v1::Columns columns;
  columns.set_num_candidates(2);
  v1::Column* const column = columns.add_candidate();
  column->set_name("price");
  EXPECT_THAT(undeclared.Bind(columns),
              IsInvalidArgument("'price' has no values"));
  column->mutable_numbers()->add_values(1);
  EXPECT_THAT(undeclared.Bind(columns),
              IsInvalidArgument("has 1 values, must have 2"));
  column->mutable_numbers()->add_values(1);
  EXPECT_OK(undeclared.Bind(columns));
  column->mutable_texts()->add_values("a");  // Another type than before.
  column->mutable_texts()->add_values("b");
  ASSERT_OK(undeclared.Bind(columns));
  EXPECT_EQ(undeclared.columns().column(0).Text(1), "b");
  columns.add_query()->set_name("price");
  columns.mutable_query(0)->mutable_numbers()->add_values(1);
  EXPECT_THAT(undeclared.Bind(columns), IsInvalidArgument("declared twice"));
}

}  // namespace
}  // namespace sortition
