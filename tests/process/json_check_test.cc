#include "process/json_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

void ExpectRefused(absl::string_view json, absl::string_view place,
                   absl::string_view what) {
  EXPECT_THAT(CheckJson(json), StatusIs(StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr(std::string(place)),
                                              HasSubstr(std::string(what)))))
      << json;
}

TEST(JsonCheckTest, TakesWhatIsJson) {
  for (const char* const json :
       {"{}", "[]", " 1 ", "\"\\u00e9é\"", "1e300", "-0.0",
        R"({"a":{"a":[{"a":1},{"a":2}]},"b":null})"}) {
    EXPECT_OK(CheckJson(json)) << json;
  }
}

TEST(JsonCheckTest, SaysWhereItBreaks) {
  ExpectRefused("", "line 1, column 1", "empty");
  ExpectRefused("{\"a\":1,\n  \"b\" 2}", "line 2, column 7", "colon");
  ExpectRefused("{\"a\":NaN}", "line 1, column 6", "Invalid value");
  ExpectRefused("[1,2", "line 1, column 5", "comma or ']'");
  ExpectRefused("[1,1e999]", "line 1, column 4", "too big");
  ExpectRefused("{} x", "line 1, column 4", "root");
  ExpectRefused("{'a':1}", "line 1, column 2", "name");
  ExpectRefused("[01]", "line 1, column 3", "comma or ']'");
  ExpectRefused("\"\xff\"", "line 1, column 2", "encoding");
  ExpectRefused(absl::string_view("{}\0{}", 5), "column 3", "byte 0");
}

TEST(JsonCheckTest, RefusesEqualKeysOfOneObject) {
  ExpectRefused("{\"a\":1,\"b\":{\"c\":1,\n\"c\":2}}", "line 2", "key \"c\"");
  ExpectRefused("{\"a\":1,\"\\u0061\":2}", "line 1", "key \"a\"");
}

TEST(JsonCheckTest, RefusesWhatIsNestedTooDeep) {
  const std::string open(kMaxJsonDepth, '[');
  const std::string close(kMaxJsonDepth, ']');
  EXPECT_OK(CheckJson(open + close));
  ExpectRefused("[" + open + close + "]", "column 65", "deep");
  ExpectRefused(std::string(1 << 20, '['), "column 65", "deep");
}

void ExpectRefusedAsRank(absl::string_view json, absl::string_view what) {
  EXPECT_THAT(
      CheckJson(json, v1::RankRequest::descriptor()),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(what))))
      << json;
}

TEST(JsonCheckTest, RefusesTooManyKeysOfOneObject) {
  std::string json = "{\"context\":{\"attributes\":{\"0\":\"\"";
  for (size_t i = 1; i < kMaxJsonKeys; ++i) {
    absl::StrAppend(&json, ",\"", i, "\":\"\"");
  }
  EXPECT_OK(CheckJson(json + "}}}", v1::RankRequest::descriptor()));
  ExpectRefusedAsRank(json + ",\"x\":\"\"}}}", "more than 4096 keys");
}

TEST(JsonCheckTest, TakesTheJsonFormOfAMessage) {
  for (const char* const json :
       {R"({"context":{"candidates":{"numFeatures":1,"ids":["a","b"],
            "dense":{"values":[1,"-2.5e-3","NaN","-Infinity"]}},
            "eligible":[true,false],"attributes":{"a":"x"}},"topK":2})",
        R"({"context":{"candidates":null,"eligible":null,"attributes":null},
            "top_k":null})",
        R"({"nobody":[[null],[1]],"knows":{"this":[null]}})", "[]", "7"}) {
    EXPECT_OK(CheckJson(json, v1::RankRequest::descriptor())) << json;
  }
}

TEST(JsonCheckTest, RefusesTwoSpellingsOfOneField) {
  ExpectRefusedAsRank(R"({"top_k":1,"topK":2})", "key \"top_k\"");
  ExpectRefusedAsRank(R"({"context":{"decisionId":"a","decision_id":"b"}})",
                      "key \"decision_id\"");
  // Keys of a map are no fields.
  EXPECT_OK(CheckJson(R"({"context":{"attributes":{"top_k":"","topK":""}}})",
                      v1::RankRequest::descriptor()));
}

TEST(JsonCheckTest, RefusesWhatWouldBecomeAnotherList) {
  const auto dense = [](const std::string& values) {
    return absl::StrCat(
        "{\"context\":{\"candidates\":{\"dense\":{\"values\":", values, "}}}}");
  };
  const std::string values = "field \"values\" ";
  ExpectRefusedAsRank(dense("[0.9,null,0.1]"), values + "must have no entry");
  ExpectRefusedAsRank(dense("[[0.9],[0.5]]"), values + "must have no list");
  ExpectRefusedAsRank(dense("0.5"), values + "must be a list");
  ExpectRefusedAsRank(dense("\"0.5\""), values + "must be a list");
  ExpectRefusedAsRank(dense("{}"), values + "must be a list");
  for (
      const char* const field :
      {R"("eligible":[true,null])", R"("eligible":true)",
       R"("candidates":{"ids":["a",null]})", R"("candidates":{"ids":"a"})",
       R"("candidates":[])", R"("decision_id":["a"])", R"("attributes":[])",
       R"("attributes":"x")", R"("attributes":{"a":null})",
       R"("attributes":{"a":["x"]})",
       R"("candidates":{"sparse":{"row_offsets":[0,null]}})",
       R"("candidates":{"columns":{"query":{"name":"a"}}})",
       R"("candidates":{"columns":{"query":[null]}})",
       R"("candidates":{"columns":{"query":[{"texts":{"values":[null]}}]}})",
       R"("candidates":{"columns":{"query":[{"numbers":{"values":[null]}}]}})"}) {
    ExpectRefusedAsRank(absl::StrCat("{\"context\":{", field, "}}"), "must ");
  }
  EXPECT_FALSE(CheckJson(R"({"feedback":[null,{}]})",
                         v1::ReportFeedbackRequest::descriptor())
                   .ok());
  EXPECT_FALSE(
      CheckJson(R"({"feedback":{}})", v1::ReportFeedbackRequest::descriptor())
          .ok());
}

TEST(JsonCheckTest, RefusesTextsThatAreNoNumbersInJson) {
  for (const char* const text : {"0x1p3", "+1", " 1", "1 ", "", "1.", ".5", "-",
                                 "1e", "inf", "nan", "1_0", "--1"}) {
    ExpectRefusedAsRank(
        absl::StrCat("{\"context\":{\"candidates\":{\"dense\":{\"values\":[\"",
                     text, "\"]}}}}"),
        "must be a decimal number");
    ExpectRefusedAsRank(absl::StrCat("{\"top_k\":\"", text, "\"}"),
                        "must be a decimal number");
  }
}

}  // namespace
}  // namespace sortition
