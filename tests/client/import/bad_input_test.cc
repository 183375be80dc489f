#include "tests/client/import/named_columns_fixture.h"

namespace sortition {
namespace {

// A bad line names file, line and what is permitted; nothing is written.

struct BadLine {
  std::string text;
  std::string message;
};

class BadLinesTest : public NamedColumnsFixture {
 protected:
  void ExpectAllBad(const std::string& first_lines,
                    const std::vector<BadLine>& bad,
                    const std::vector<std::string>& flags) {
    ASSERT_OK(ImportText(first_lines, flags));
    std::filesystem::remove_all(imported());
    for (const auto& [text, message] : bad) {
      EXPECT_THAT(
          ImportText(first_lines + text + "\n", flags),
          IsInvalidArgument(input() + ":",
                            message[0] == ':' ? input() + message : message))
          << text;
      EXPECT_TRUE(NothingImported()) << text;
    }
  }
};

TEST_F(BadLinesTest, Jsonl) {
  const auto line = [](const char* id, const char* features, const char* action,
                       const char* propensity, const char* reward) {
    return absl::StrCat(R"({"id": )", id, R"(, "features": )", features,
                        R"(, "action": )", action, R"(, "propensity": )",
                        propensity, R"(, "reward": )", reward, "}");
  };
  const std::string good = line("\"a\"", "[[1]]", "[0]", "0.5", "1") + "\n";
  const std::string tuple = R"({"decision": {"decision_id": "b")";
  const std::string ranked =
      tuple + R"(, "action_kind": "RANK", "num_candidates": 2, "top_k": 2, )"
              R"("num_features": 1, "dense_values": [1, 2], "action": [0, 1], )"
              R"("log_propensity": -1, "conditional_log_propensities": )";
  ExpectAllBad(
      good,
      {{line("\"a\"", "[[1]]", "[0]", "0.5", "1"), ":2: decision id 'a' was"},
       {line("\"\"", "[[1]]", "[0]", "0.5", "1"), "the decision id is empty"},
       {line("7.0", "[[1]]", "[0]", "0.5", "1"), "id is 7.0, must be a string"},
       {line("1e6", "[[1]]", "[0]", "0.5", "1"), "or a whole number in digits"},
       {line("true", "[[1]]", "[0]", "0.5", "1"), "id is true, must be"},
       {line("\"b\"", "[[1]]", "[0]", "0", "1"), "must be in (0, 1]"},
       {line("\"b\"", "[[1]]", "[0]", "1.5", "1"), "propensity is 1.5"},
       {line("\"b\"", "[[1]]", "[0]", "-0.5", "1"), "must be in (0, 1]"},
       {line("\"b\"", "[[1]]", "[0]", "NaN", "1"), ":2: column "},
       {line("\"b\"", "[[1]]", "[0]", "\"0.5\"", "1"), "a finite number"},
       {line("\"b\"", "[[1], [1, 2]]", "[0]", "0.5", "1"), "one length"},
       {line("\"b\"", "[[1e39]]", "[0]", "0.5", "1"), "is 1e39, must be"},
       {line("\"b\"", "[[true]]", "[0]", "0.5", "1"), "is true, must be"},
       {line("\"b\"", "[]", "[0]", "0.5", "1"), "at least one row"},
       {line("\"b\"", "[[]]", "[0]", "0.5", "1"), "at least 1"},
       {line("\"b\"", "[[1]]", "[1]", "0.5", "1"), "indexes in [-1, 1)"},
       {line("\"b\"", "[[1]]", "[-2]", "0.5", "1"), "indexes in [-1, 1)"},
       {line("\"b\"", "[[1],[2]]", "[0,1]", "0.5", "1"), "must be one index"},
       {line("\"b\"", "[[1]]", "[0.5]", "0.5", "1"), "must be an integer"},
       {line("\"b\"", "[[1]]", "0", "0.5", "1"), "an array of indexes"},
       {line("\"b\"", "[[1]]", "[0]", "0.5", "1e999"), ":2: "},
       {line("\"b\"", "[[1]]", "[0]", "0.5", "null"), "reward is null"},
       {R"({"id": "b"})", "'features' is missing"},
       {"[1]", "not a JSON object"},
       {R"({"id": "b", "features": [[1)", ":2: column "},
       {std::string("{\"id\"\0: 1}", 10), "a zero byte"},
       {"{\"id\": \"\xff\"}", ":2: the line is not UTF-8"},
       {tuple + R"(, "colour": 1}})", "Decision has no field 'colour'"},
       {tuple + R"(, "action": [0], "action": [0]}})", "is given twice"},
       {tuple + R"(, "action_kind": "GUESS"}})", "action_kind is \"GUESS\""},
       {tuple + R"(, "dense_values": [1, "x"]}})", "dense_values has"},
       {tuple + "}}", "'decision.log_propensity' is missing"},
       {tuple + R"(, "log_propensity": 0}})", "num_features"},
       {ranked + "[-0.5, 0.7]}}", "conditional_log_propensity is 0.7"},
       {ranked + R"(["NaN", -0.5]}})", "conditional_log_propensity is nan"},
       {ranked + "[-0.5, -0.7]}}", "add up to -1.2, must be -1"}},
      {"--format=jsonl"});
}

TEST_F(BadLinesTest, Csv) {
  const std::string header = "decision_id,chosen,propensity,reward,f0,f1\n";
  const std::string good = header + "a,1,0.5,1,0.5,2\na,0,0.5,1,0,1\n";
  ExpectAllBad(
      good,
      {{"b,1,0.5,1,0.5", "the line has 5 fields, must have 6"},
       {"b,1,0,1,0,0", ":4: column 'propensity' is '0', must be in (0, 1]"},
       {"b,1,2,1,0,0", "column 'propensity' is '2', must be in (0, 1]"},
       {"b,1,,1,0,0", "propensity is missing"},
       {"b,1,nan,1,0,0", "column 'propensity' is 'nan'"},
       {"b,1,0.5,x,0,0", ":4: column 'reward' is 'x', must be a finite"},
       {"b,1,0.5,,0,0", "column 'reward' is ''"},
       {"b,1,0.5,1,0,inf", "column 'f1' is 'inf', must be a finite number"},
       {"b,1,0.5,1,0,", "column 'f1' is ''"},
       {"b,-1,0.5,1,0,0", "column 'chosen' is '-1', must be the candidate's"},
       {"b,1,0.5,1,0,0\nb,2,0.5,1,0,0", "the rank 2 in its action, must be 1"},
       {"b,1,0.5,1,0,0\nb,0,0.5,2,0,0", ":5: column 'reward' is '2', must"},
       {"b,1,0.5,1,0,0\nb,0,0.4,1,0,0", "must be '0.5', as in line 4"},
       {"c,1,0.5,1,0,0\na,1,0.5,1,0,0", ":5: decision id 'a' was given before"},
       {"\"b,1,0.5,1,0,0", "a quote is never closed"},
       {"\"b\"x,1,0.5,1,0,0", "column 4: a comma must follow"},
       {"\xff,1,0.5,1,0,0", "not UTF-8"}},
      {"--format=csv"});
  ExpectAllBad(good,
               {{"b,2,0.5,1,0,0", "has the rank 2, must have the ranks 1 to 1"},
                {"b,0,0.5,1,0,0", "must be at least one index"}},
               {"--format=csv", "--action=rank"});
}

TEST_F(BadLinesTest, CsvHeaders) {
  for (const auto& [text, message] : std::vector<BadLine>{
           {"decision_id,chosen,reward,f0\n", "column 'propensity' (p) is"},
           {"decision_id,propensity,reward,f0\n", "column 'chosen' (action)"},
           {"decision_id,chosen,propensity,reward\n", "a column of features"},
           {"decision_id,chosen,propensity,reward,f0,features\n",
            "must be one of both"},
           {"decision_id,chosen,propensity,reward,f0\n", "no decision"},
           {"", "no decision"}}) {
    EXPECT_THAT(ImportText(text, {"--format=csv"}), IsInvalidArgument(message));
    EXPECT_TRUE(NothingImported());
  }
  EXPECT_THAT(ImportText("", {"--format=csv", "--columns=colour=x"}),
              IsInvalidArgument("must be FIELD=COLUMN"));
  EXPECT_THAT(ImportText("a,b\n", {"--format=csv", "--columns=id=x"}),
              IsInvalidArgument("column 'x' is missing; the columns are"));
}

TEST_F(BadLinesTest, Dsjson) {
  const auto line = [](const std::string& label, const std::string& rest) {
    return absl::StrCat(R"({"EventId": "b", )", label,
                        R"(, "c": {"_multi": [{"f": [1, 2]}, {"f": [3, 4]}])",
                        rest, "}}");
  };
  const std::string cost = R"("_label_cost": -1, )";
  const std::string p = R"("_label_probability": 0.5, )";
  std::string good = line(cost + p + R"("_label_Action": 1)", "") + "\n";
  good.replace(good.find("\"b\""), 3, "\"a\"");
  ExpectAllBad(
      good,
      {{line(cost + p + R"("_label_Action": 3)", ""), "must be in [1, 2]"},
       {line(cost + p + R"("_label_Action": 0)", ""), "must be in [1, 2]"},
       {line(cost + p + R"("_label_Action": 1, "_labelIndex": 1)", ""),
        "_labelIndex is 1, must be 0"},
       {line(p + R"("_label_Action": 1)", ""), "_label_cost is missing"},
       {line(cost + R"("_label_Action": 1)", ""),
        "_label_probability is missing"},
       {line(cost + R"("_label_Action": 1, "_label_probability": 0)", ""),
        ":2: propensity is 0, must be in (0, 1]"},
       {line(cost + p + R"("_log_propensity": -2, "_label_Action": 1)", ""),
        "that of log_propensity"},
       {line(cost + p + R"("pdrop": 1, "_label_Action": 1)", ""),
        "pdrop is 1, must be in [0, 1)"},
       {line(cost + p + R"("o": 3, "_label_Action": 1)", ""), "o is 3"},
       {line(cost + p + R"("_label_Action": 1)", R"(, "User": {"age": 3})"),
        "shared features 'User'; --hash_bits"},
       {line(R"("_outcomes": [])", ""), "at least one slot"},
       {line(R"("_outcomes": [{"_a": [0], "_p": [2], "_label_cost": 0}])", ""),
        "_p is 2, must be in (0, 1]"},
       {line(R"("_outcomes": [{"_a": [7], "_p": [1], "_label_cost": 0}])", ""),
        "different indexes in [0, 2)"},
       {line(R"("_outcomes": [{"_a": [], "_p": [1]}])", ""), "needs _a and _p"},
       {R"({"EventId": "b", "Version": "1"})", "c._multi is missing"},
       {R"({"RewardValue": 1})", "EventId is missing"},
       {R"({"c": {}})", "c._multi is missing"}},
      {"--format=dsjson"});
}

TEST_F(BadLinesTest, Obd) {
  const std::string header =
      ",timestamp,item_id,position,click,propensity_score,user_feature_0,"
      "user-item_affinity_0,user-item_affinity_1\n";
  const std::string time = "2019-11-24 00:00:16.004101+00:00";
  ExpectAllBad(
      header + "0," + time + ",1,3,0,0.5,u,0.5,0\n",
      {{"1," + time + ",2,3,0,0.5,u,0.5,0",
        "'item_id' is '2', must be in [0, 2)"},
       {"1," + time + ",1,0,0,0.5,u,0.5,0", "column 'position' is '0'"},
       {"1," + time + ",1,1,x,0.5,u,0.5,0", "column 'click' is 'x'"},
       {"1," + time + ",1,1,0,0,u,0.5,0", "'propensity_score' is '0', must be"},
       {"1," + time + ",1,1,0,1.01,u,0.5,0", "must be in (0, 1]"},
       {"1,yesterday,1,1,0,0.5,u,0.5,0", "timestamp is 'yesterday'"},
       {"1," + time + ",1,1,0,0.5,u,0.5", "must have 9, as the header"},
       {"1," + time + ",1,1,0,0.5,u,y,0",
        ":3: column 'user-item_affinity_0' is 'y'"}},
      {"--format=obd"});
}

// Bad named columns name file, line, column and value; nothing is written.

constexpr char kColumns[] =
    "schema { "
    "column { name: 'price' type: NUMBER } "
    "column { name: 'tags' type: CATEGORY_SET missing: true } "
    "column { name: 'title' type: TEXT missing: true } "
    "column { name: 'place' type: VECTOR size: 2 missing: true } "
    "column { name: 'city' type: CATEGORY scope: QUERY missing: true } }";

class BadColumnsTest : public BadLinesTest {
 protected:
  void ExpectAllBad(const std::string& format, const std::string& good,
                    const std::vector<BadLine>& bad) {
    BadLinesTest::ExpectAllBad(good, bad,
                               {"--format=" + format, Features(kColumns)});
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
       {line("b", "{}"),
        ":2: the decision has none of the columns of --features (price, tags, "
        "title, place, city); it has no namespaces"},
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
      HasTexts(":1: c has the shared features 'city'", "--features"));
}

}  // namespace
}  // namespace sortition
