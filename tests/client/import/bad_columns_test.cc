// Bad named columns name file, line, column and value; nothing is written.
#include "gmock/gmock.h"
#include "tests/client/import/named_columns_fixture.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kColumns[] =
    "schema { "
    "column { name: 'price' type: NUMBER } "
    "column { name: 'tags' type: CATEGORY_SET missing: true } "
    "column { name: 'title' type: TEXT missing: true } "
    "column { name: 'place' type: VECTOR size: 2 missing: true } "
    "column { name: 'city' type: CATEGORY scope: QUERY missing: true } }";

class BadColumnsTest : public NamedColumnsFixture {
 protected:
  struct BadText {
    std::string text;
    std::string message;
  };

  void ExpectAllBad(const std::string& format, const std::string& good,
                    const std::vector<BadText>& bad) {
    const std::vector<std::string> flags = {"--format=" + format,
                                            Features(kColumns)};
    ASSERT_OK(ImportText(good, flags));
    std::filesystem::remove_all(imported());
    for (const auto& [text, message] : bad) {
      EXPECT_THAT(ImportText(good + text + "\n", flags),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(input() + message)))
          << text;
      EXPECT_TRUE(NothingImported()) << text;
    }
  }
};

TEST_F(BadColumnsTest, Csv) {
  ExpectAllBad(
      "csv",
      "decision_id,chosen,propensity,reward,missing_columns,absent_columns,"
      "price,tags,title,place,city\n"
      "a,0,0.5,1,title,,1,new,,1 2,Rome\n"
      "a,1,0.5,1,,,2,,,3 4,Rome\n",
      {{"b,1,0.5,1,,,1,,,,\nb,0,0.5,1,,,cheap,,,,",
        ":5: column 'price' is 'cheap', must be a finite number, or empty"},
       {"b,1,0.5,1,,,inf,,,,", ":4: column 'price' is 'inf', must be a finite"},
       {"b,1,0.5,1,,,1,,,1 x,",
        ":4: column 'place' is '1 x', must be numbers with spaces between"},
       {"b,1,0.5,1,,,1,,,1 2 3,",
        ":4: column 'place' has a vector of 3 numbers, must have 2"},
       {"b,1,0.5,1,,,1,new||old,,,",
        ":4: column 'tags': values[1] is empty, must be a category"},
       {"b,1,0.5,1,,,1,new|new,,,",
        ":4: column 'tags': the set of row 0 has 'new' twice"},
       {"b,1,0.5,1,title,,1,,Ann,,",
        ":4: column 'title' is 'Ann', must be empty: the line lists it as "
        "missing"},
       {"b,1,0.5,1,,tags,1,new,,,",
        ":4: column 'tags' is 'new', must be empty: the line lists it as "
        "absent"},
       {"b,1,0.5,1,,price,,,,,", ":4: column 'price' is absent, must be"},
       {"b,1,0.5,1,,,1,,,,Rome\nb,0,0.5,1,,,1,,,,Bern",
        ":5: column 'city' is 'Bern', must be 'Rome', as in line 4"}});
  EXPECT_THAT(ImportText("decision_id,chosen,propensity,reward,title\n",
                         {"--format=csv", Features(kColumns)})
                  .message(),
              HasSubstr(":1: column 'candidate.price' is missing; the columns "
                        "are decision_id"));
}

TEST_F(BadColumnsTest, JsonlInShortForm) {
  const auto line = [](const std::string& id, const std::string& candidate,
                       const std::string& query = "{}") {
    return absl::StrCat(R"({"id": ")", id, R"(", "query": )", query,
                        R"(, "candidates": [)", candidate,
                        R"(], "action": [0], "propensity": 1, "reward": 1})");
  };
  const auto with = [&](const std::string& member) {
    return line("b", absl::StrCat("{\"price\": 1, ", member, "}"));
  };
  ExpectAllBad(
      "jsonl", line("a", "{\"price\": 1}") + "\n",
      {{line("b", R"({"price": "2"})"),
        ":2: candidates[0].price is \"2\", must be a finite number"},
       {line("b", R"({"price": 1}, {"price": []})"),
        ":2: candidates[1].price is an array of 0, must be"},
       {with(R"("tags": [1])"),
        ":2: candidates[0].tags is 1, must be a string"},
       {with(R"("place": [1])"),
        ":2: column 'place' has a vector of 1 numbers, must have 2"},
       {with(R"("weight": 1)"), ":2: candidates[0].weight is not a column"},
       {with(R"("city": "x")"), ":2: candidates[0].city is not a column"},
       {with(R"("title": 7)"), ":2: candidates[0].title is 7, must be"},
       {line("b", "{\"price\": 1}", R"({"city": 1})"),
        ":2: query.city is 1, must be a string"},
       {line("b", "{}"), ":2: column 'price' is absent"},
       {line("b", ""), ":2: columns.num_candidates is 0"},
       {R"({"id": "b", "features": [[1]], "action": [0], "propensity": 1, )"
        R"("reward": 1})",
        ":2: 'candidates' is missing"}});
}

TEST_F(BadColumnsTest, JsonlTuples) {
  const auto line = [](const char* id, const std::string& columns,
                       const char* more = "") {
    return absl::StrCat(
        R"({"decision": {"decision_id": ")", id, R"(", "action_kind": )",
        R"("SELECT", "num_candidates": 2, "action": [1], )", more,
        R"("log_propensity": -1, "columns": {"num_candidates": 2, )", columns,
        "}}}");
  };
  ExpectAllBad(
      "jsonl",
      line("a",
           R"("candidate": [{"name": "x", "numbers": {"values": [1, 2]}}])") +
          "\n",
      {{line("b",
             R"("candidate": [{"name": "x", "numbers": {"values": [1]}}])"),
        ":2: column 'x': has 1 values, must have 2, one per row"},
       {line("b", R"("candidate": [{"name": "x"}])"),
        ":2: column 'x' has no values"},
       {line("b", R"("candidate": [{"name": "x", "missing": [5], )"
                  R"("texts": {"values": ["", ""]}}])"),
        ":2: column 'x': missing[0] is 5, must be below 2"},
       {line("b", R"("query": [{"name": "x", "vectors": {"size": 2, )"
                  R"("values": [1]}}])"),
        ":2: column 'x': has 1 values, must have 2"},
       {line("b", R"("query": [{"name": "x", "numbers": {"values": [1]}}])",
             R"("num_features": 1, "dense_values": [1, 2], )"),
        ":2: columns are set, and so are features"}});
}

TEST_F(BadColumnsTest, Dsjson) {
  const auto line = [](const std::string& id, const std::string& candidate,
                       const std::string& query = "") {
    return absl::StrCat(
        R"({"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1, )"
        R"("EventId": ")",
        id, R"(", "c": {)", query, R"("_multi": [)", candidate, "]}}");
  };
  const auto with = [&](const std::string& member) {
    return line("b", absl::StrCat("{\"price\": 1, ", member, "}"));
  };
  ExpectAllBad(
      "dsjson", line("a", R"({"price": {"price": 1}})") + "\n",
      {{line("b", R"({"price": {"price": "x"}})"),
        ":2: c._multi[0].price is \"x\", must be a finite number"},
       {line("b", R"({"price": 1}, {"price": {"a": 1, "b": 2}})"),
        ":2: c._multi[1].price is an object, must be a finite number"},
       {with(R"("tags": 3)"),
        ":2: c._multi[0].tags is 3, must be an array of strings"},
       {with(R"("tags": {"a": []})"),
        ":2: c._multi[0].tags.a is an array of 0, must be a number or"},
       {with(R"("place": [1, "x"])"),
        ":2: c._multi[0].place is \"x\", must be a finite number"},
       {with(R"("title": {"text": "x"})"),
        ":2: c._multi[0].title is an object, must be a string"},
       {line("b", R"({"price": 1})", R"("city": {"Rome": 1, "Bern": 1}, )"),
        ":2: c.city is an object, must be a string, or an object with one"},
       {line("b", R"({"price": 1})", R"("city": {"Rome": 0}, )"),
        ":2: c.city is an object, must be a string"},
       {line("b", "{}"), ":2: column 'price' is absent"},
       {line("b", "7"), ":2: c._multi[0] is 7, must be an object"}});
}

TEST_F(BadColumnsTest, DsjsonWithoutADeclarationNamesTheOption) {
  EXPECT_THAT(
      ImportText(R"({"_label_cost": 0, "_label_probability": 1, )"
                 R"("_label_Action": 1, "EventId": "a", "c": {"city": "x", )"
                 R"("_multi": [{"price": 1}]}})"
                 "\n",
                 {"--format=dsjson"})
          .message(),
      AllOf(HasSubstr(":1: c has the shared features 'city'"),
            HasSubstr("--features")));
}

}  // namespace
}  // namespace sortition
