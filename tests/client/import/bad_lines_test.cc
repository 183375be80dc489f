// A bad line names file, line and what is permitted; nothing is written.
#include "gmock/gmock.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;

struct BadLine {
  std::string text;
  std::string message;
};

class BadLinesTest : public ExchangeFixture {
 protected:
  void ExpectAllBad(const std::string& first_lines,
                    const std::vector<BadLine>& bad,
                    const std::vector<std::string>& flags) {
    ASSERT_OK(ImportText(first_lines, flags));
    std::filesystem::remove_all(imported());
    for (const auto& [text, message] : bad) {
      EXPECT_THAT(ImportText(first_lines + text + "\n", flags),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           testing::AllOf(HasSubstr(input() + ":"),
                                          HasSubstr(message))))
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
       {"{\"id\": \"\xff\"}", ":2: column "},
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
       {"b,1,0.5,1,0,0\nb,2,0.5,1,0,0", "must be one index"},
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
    EXPECT_THAT(
        ImportText(text, {"--format=csv"}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_TRUE(NothingImported());
  }
  EXPECT_THAT(ImportText("", {"--format=csv", "--columns=colour=x"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be FIELD=COLUMN")));
  EXPECT_THAT(ImportText("a,b\n", {"--format=csv", "--columns=id=x"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'x' is missing; the columns are")));
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
       {R"({"EventId": "b", "RewardValue": 1})", "c._multi is missing"},
       {R"({"c": {}})", "EventId is missing"}},
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

}  // namespace
}  // namespace sortition
