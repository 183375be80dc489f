// Named columns that were exported come back, of every type, with what is
// missing and what is absent.
#include "absl/strings/str_split.h"
#include "tests/client/import/named_columns_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAreArray;

class NamedColumnsTest : public NamedColumnsFixture {
 protected:
  // Exports, imports, and exports again; returns the tuples that came back.
  std::vector<log::v1::BanditTuple> RoundTrip(
      const std::vector<log::v1::BanditTuple>& tuples,
      const std::string& format) {
    const std::string flag = "--format=" + format;
    EXPECT_OK(Export({flag, Write(tuples)}));
    EXPECT_THAT(error_, Not(HasSubstr("left out")));
    const std::string text = out_;
    EXPECT_OK(ImportText(text, {flag, Features()}));
    EXPECT_OK(Export({flag, imported()}));
    if (format != "dsjson") {  // Whose order is that of the log.
      EXPECT_EQ(out_, text);
    }
    const auto read = ReadAllTuples(imported());
    std::filesystem::remove_all(imported());
    return read;
  }

  static log::v1::BanditTuple With(const std::string& columns) {
    log::v1::BanditTuple tuple = Selections(1)[0];
    auto parsed = ParseText<v1::Columns>(columns);
    parsed.set_num_candidates(2);
    SetColumns(parsed, &tuple);
    tuple.mutable_decision()->set_num_candidates(2);
    tuple.mutable_decision()->set_action(0, 1);
    return tuple;
  }

  // Expects that one tuple was imported, which has two candidates and, sorted
  // by name, these columns.
  void ExpectOnlyColumns(const std::string& text) {
    const auto tuples = ReadAllTuples(imported());
    ASSERT_EQ(tuples.size(), 1u);
    EXPECT_EQ(tuples[0].decision().num_candidates(), 2u);
    EXPECT_EQ(Sorted(tuples[0].decision().columns()).DebugString(),
              ParseText<v1::Columns>(text).DebugString());
  }

  // The values of `column` of the only tuple that was imported.
  v1::Column OnlyColumn() {
    const auto tuples = ReadAllTuples(imported());
    EXPECT_EQ(tuples.size(), 1u);
    EXPECT_EQ(tuples[0].decision().columns().candidate_size(), 1);
    return tuples[0].decision().columns().candidate(0);
  }
};

TEST_F(NamedColumnsTest, EveryFormatBringsBackEveryColumn) {
  const auto tuples = MadeUp(60);
  for (const char* format : {"jsonl", "csv", "dsjson"}) {
    const auto read = RoundTrip(tuples, format);
    EXPECT_THAT(ColumnBytes(read), ElementsAreArray(ColumnBytes(tuples)))
        << format;
    for (size_t i = 0; i < read.size(); ++i) {
      const log::v1::Decision& decision = read[i].decision();
      EXPECT_EQ(decision.num_candidates(), 6u);
      EXPECT_EQ(decision.num_features(), 0u);
      EXPECT_THAT(decision.action(),
                  ElementsAreArray(tuples[i].decision().action()));
      EXPECT_EQ(decision.log_propensity(),
                tuples[i].decision().log_propensity());
      EXPECT_EQ(read[i].reward(), tuples[i].reward());
    }
  }
}

// If the made-up columns had no missing text, empty set or absent column, the
// test above would claim more than it shows.
TEST_F(NamedColumnsTest, MadeUpColumnsHaveAllCases) {
  bool missing_text = false;
  bool empty_text = false;
  bool empty_set = false;
  bool missing_set = false;
  bool absent = false;
  for (const auto& tuple : MadeUp(60)) {
    const v1::Columns& columns = tuple.decision().columns();
    absent |= columns.candidate_size() < 8;
    for (const v1::Column& column : columns.candidate()) {
      for (uint32_t row = 0; row < columns.num_candidates(); ++row) {
        const bool missing = std::count(column.missing().begin(),
                                        column.missing().end(), row) > 0;
        const auto i = static_cast<int>(row);
        if (column.has_texts() && column.texts().values(i).empty()) {
          (missing ? missing_text : empty_text) = true;
        }
        const auto& offsets = column.category_sets().offsets();
        if (column.has_category_sets() && offsets[i] == offsets[i + 1]) {
          (missing ? missing_set : empty_set) = true;
        }
      }
    }
  }
  EXPECT_TRUE(missing_text && empty_text && empty_set && missing_set && absent);
}

TEST_F(NamedColumnsTest, JsonlBringsBackEveryByteWithoutADeclaration) {
  const auto tuples = MadeUp(10);
  ASSERT_OK(Export({"--format=jsonl", Write(tuples)}));
  ASSERT_OK(ImportText(out_, {"--format=jsonl"}));
  EXPECT_THAT(Serialised(ReadAllTuples(imported())),
              ElementsAreArray(Serialised(tuples)));
}

TEST_F(NamedColumnsTest, StringsThatAreHardToWriteComeBack) {
  const log::v1::BanditTuple tuple = With(
      R"(candidate { name: "title" texts { values: "a,\"b\"\n|c" values: " " } }
         candidate { name: "color" categories { values: "_x" values: "a b|" } }
         candidate { name: "tags" category_sets {
           offsets: [0, 2, 3] values: ["a,b", "\"", "_text"] } }
         candidate { name: "price" numbers { values: [-0.0, 1e-320] } }
         candidate { name: "place" vectors { size: 3
           values: [1e-45, -3.4e38, 0.1, 0, -0.0, 16777216] } }
         query { name: "question" texts { values: "東京\tä" } }
         query { name: "city" categories { values: "7" } }
         query { name: "home" vectors { size: 2 values: [1, 2] } })");
  for (const char* format : {"jsonl", "csv", "dsjson"}) {
    EXPECT_THAT(ColumnBytes(RoundTrip({tuple}, format)),
                ElementsAreArray(ColumnBytes({tuple})))
        << format;
  }
}

TEST_F(NamedColumnsTest, NanIsWrittenAsMissing) {
  const log::v1::BanditTuple tuple = With(
      "candidate { name: 'price' numbers { values: [nan, 2] } missing: [] }");
  const std::string flag =
      Features("schema { column { name: 'price' type: NUMBER } }");
  for (const char* format : {"csv", "dsjson"}) {
    ASSERT_OK(Export({absl::StrCat("--format=", format), Write({tuple})}));
    ASSERT_OK(
        ImportText(out_, {absl::StrCat("--format=", format), flag, "--force"}));
    EXPECT_THAT(OnlyColumn().missing(), ElementsAre(0)) << format;
    EXPECT_THAT(OnlyColumn().numbers().values(), ElementsAre(0, 2)) << format;
  }
}

TEST_F(NamedColumnsTest, CsvHasAColumnForEachThatAnyTupleHas) {
  const std::string log = Write(
      {With("candidate { name: 'price' numbers { values: [1, 2] } }"), [] {
         auto tuple = With(
             "candidate { name: 'place' vectors { size: 2 "
             "values: [1, 2, 0, 0] } missing: 1 } "
             "query { name: 'city' categories { values: 'Rome' } }");
         tuple.mutable_decision()->set_decision_id("b");
         return tuple;
       }()});
  ASSERT_OK(Export({"--format=csv", log}));
  const std::vector<std::string> lines = absl::StrSplit(out_, '\n');
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_THAT(lines[0], testing::EndsWith(
                            ",missing_columns,absent_columns,candidate.place,"
                            "candidate.price,query.city"));
  EXPECT_THAT(lines[1], testing::EndsWith(",,place city,,1,"));
  EXPECT_THAT(lines[3], testing::EndsWith(",,price,1 2,,Rome"));
  EXPECT_THAT(lines[4], testing::EndsWith(",place,price,,,Rome"));
}

TEST_F(NamedColumnsTest, DsjsonHasANamespaceForEachColumn) {
  ASSERT_OK(Export(
      {"--format=dsjson",
       Write({With(
           "candidate { name: 'price' numbers { values: [3, 0] } missing: 1 } "
           "candidate { name: 'color' categories { values: 'red' values: 'r"
           " 2' } } "
           "candidate { name: 'tags' category_sets { offsets: [0, 2, 2] "
           "values: ['new', 'sale'] } } "
           "candidate { name: 'place' vectors { size: 1 values: [1, 0.5] } } "
           "query { name: 'question' texts { values: 'Who?' } }")})}));
  EXPECT_THAT(
      out_,
      HasSubstr(R"("c":{"question":{"_text":"Who?"},"_multi":[)"
                R"({"price":{"price":3},"color":{"red":1},)"
                R"("tags":{"new":1,"sale":1},"place":[1]},)"
                R"({"price":null,"color":{"r 2":1},"tags":{},"place":[0.5]},)"
                R"({"abstain":{"abstain":1}}]})"));
  EXPECT_THAT(out_, Not(HasSubstr("_num_features")));
}

TEST_F(NamedColumnsTest, WhatAFormatCannotSayIsCountedByReason) {
  const auto named =
      With("candidate { name: 'price' numbers { values: [1, 2] } }");
  auto dense = Selections(1)[0];
  dense.mutable_decision()->set_decision_id("dense");
  const auto reason = [&](const std::string& format,
                          const std::vector<log::v1::BanditTuple>& tuples) {
    std::string output;
    if (format == "npz") output = dir_.Sub("npz") + "/out.npz";
    EXPECT_OK(
        Export({"--format=" + format,
                "--output=" + (output.empty() ? "-" : output), Write(tuples)}));
    return error_;
  };
  for (const char* format : {"svmlight", "npz"}) {
    EXPECT_THAT(
        reason(format, {named, dense}),
        HasSubstr("1 tuples exported; 1 left out: named columns, which csv, "
                  "dsjson and jsonl have"));
  }
  EXPECT_THAT(reason("csv", {named, dense}),
              HasSubstr("1 left out: features, where the first tuple has named "
                        "columns"));
  EXPECT_THAT(reason("csv", {dense, named}),
              HasSubstr("1 left out: named columns, where the first tuple has "
                        "features"));
  EXPECT_THAT(
      reason("csv", {With("candidate { name: 'tags' category_sets { offsets: "
                          "[0, 1, 1] values: 'a|b' } }")}),
      HasSubstr("0 tuples exported; 1 left out: sets with a value that has a"));
  EXPECT_THAT(reason("dsjson", {With("query { name: '_multi' numbers { "
                                     "values: 1 } }")}),
              HasSubstr("1 left out: columns whose names begin with _"));
  EXPECT_THAT(reason("dsjson", {With("candidate { name: 'abstain' numbers { "
                                     "values: [1, 1] } }")}),
              HasSubstr("1 left out: a column abstain"));
  for (const char* format : {"csv", "dsjson"}) {
    EXPECT_THAT(reason(format, {With("candidate { name: 'price' numbers { "
                                     "values: 1 } }")}),
                HasSubstr("1 left out: malformed columns"));
  }
}

// An empty file would look like a log without decisions.
TEST_F(NamedColumnsTest, ALogOfColumnsAloneIsRefusedByFormatsWithoutThem) {
  const auto named =
      With("candidate { name: 'price' numbers { values: [1, 2] } }");
  for (const char* format : {"svmlight", "npz"}) {
    const std::string output = dir_.Sub("refused") + "/out";
    EXPECT_THAT(Export({absl::StrCat("--format=", format), "--output=" + output,
                        Write({named})}),
                IsFailedPrecondition("must be csv, dsjson or jsonl: 1 tuples "
                                     "have named columns"));
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

constexpr char kShopColumns[] =
    "schema { "
    "column { name: 'price' type: NUMBER missing: true } "
    "column { name: 'color' type: CATEGORY missing: true } "
    "column { name: 'tags' type: CATEGORY_SET missing: true } "
    "column { name: 'title' type: TEXT missing: true } "
    "column { name: 'place' type: VECTOR size: 2 missing: true } "
    "column { name: 'city' type: CATEGORY scope: QUERY missing: true } }";

TEST_F(NamedColumnsTest, CsvOfOthersNeedsNoLists) {
  ASSERT_OK(ImportText(
      "decision_id,chosen,propensity,reward,price,shade,tags,title,city,x\n"
      "a,0,0.5,1,3.5,red,new|sale,Ann,Rome,y\n"
      "a,1,0.5,1,,,,,Rome,y\n",
      {"--format=csv", "--columns=candidate.color=shade",
       Features(kShopColumns)}));
  ExpectOnlyColumns(
      "num_candidates: 2 "
      "candidate { name: 'color' missing: 1 categories { values: 'red' values:"
      " '' } } "
      "candidate { name: 'price' missing: 1 numbers { values: [3.5, 0] } } "
      "candidate { name: 'tags' missing: 1 category_sets { offsets: [0, 2, 2] "
      "values: ['new', 'sale'] } } "
      "candidate { name: 'title' texts { values: 'Ann' values: '' } } "
      "query { name: 'city' categories { values: 'Rome' } }");
}

TEST_F(NamedColumnsTest, JsonlHasAShortForm) {
  ASSERT_OK(
      ImportText(R"({"id": "a", "query": {"city": "Rome"}, "candidates": [)"
                 R"({"price": 3.5, "tags": ["new"], "title": "Ann"}, )"
                 R"({"price": null, "place": [1, 2], "title": ""}], )"
                 R"("action": [1], "propensity": 0.5, "reward": 1})"
                 "\n",
                 {"--format=jsonl", Features(kShopColumns)}));
  ExpectOnlyColumns(
      "num_candidates: 2 "
      "candidate { name: 'place' missing: 0 vectors { size: 2 "
      "values: [0, 0, 1, 2] } } "
      "candidate { name: 'price' missing: 1 numbers { values: [3.5, 0] } } "
      "candidate { name: 'tags' missing: 1 category_sets { offsets: [0, 1, 1] "
      "values: 'new' } } "
      "candidate { name: 'title' texts { values: 'Ann' values: '' } } "
      "query { name: 'city' categories { values: 'Rome' } }");
}

// Other forms that Vowpal Wabbit takes, and features within namespaces.
TEST_F(NamedColumnsTest, DsjsonOfOthersHasNamespacesOfManyFeatures) {
  ASSERT_OK(ImportText(
      R"({"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1, )"
      R"("_labelIndex": 0, "EventId": "a", "c": {)"
      R"("User": {"id": "u7", "age": 41, "new": true, "old": false}, )"
      R"("unknown": {"x": 1}, "_multi": [)"
      R"({"color": "red", "Item": {"price": 3}}, )"
      R"({"color": {"color": "blue"}, "Item": {}}]}})"
      "\n",
      {"--format=dsjson",
       Features("schema { column { name: 'User' type: CATEGORY_SET scope: QUERY"
                " } column { name: 'User.age' type: NUMBER scope: QUERY } "
                "column { name: 'color' type: CATEGORY } "
                "column { name: 'Item.price' type: NUMBER } }")}));
  ExpectOnlyColumns(
      "num_candidates: 2 "
      "candidate { name: 'Item.price' missing: 1 numbers { values: [3, 0] } } "
      "candidate { name: 'color' categories { values: ['red', 'blue'] } } "
      "query { name: 'User' category_sets { offsets: [0, 3] "
      "values: ['id=u7', 'age', 'new'] } } "
      "query { name: 'User.age' numbers { values: 41 } }");
}

TEST_F(NamedColumnsTest, OptionsThatDoNotGoTogetherAreRefused) {
  const auto expect = [&](const std::vector<std::string>& flags,
                          const char* message) {
    EXPECT_THAT(ImportText("x\n", flags).message(), HasSubstr(message));
    EXPECT_TRUE(NothingImported());
  };
  expect({"--format=dsjson", "--hash_bits=3", Features()},
         "--features and --hash_bits");
  expect({"--format=csv", "--rows=decision", "--num_actions=2", Features()},
         "not --rows=decision");
  expect({"--format=obd", "--num_actions=2", Features()}, "not for obd");
  expect({"--format=csv", Features("schema { colum {} }")},
         "features.textproto");
  expect({"--format=csv", Features("transform {}")}, "schema has 0 columns");
  expect({"--format=csv", "--columns=candidate.weight=w", Features()},
         "candidate.weight");
}

}  // namespace
}  // namespace sortition
