// Shorter forms of bodies mean the same as the proto3 JSON form.
#include <memory>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "server/http/json/json_message.h"
#include "sortition/v1/models.pb.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using testing::HasSubstr;

// "shop" declares columns; "" is the default model, without a schema.
std::optional<ColumnTypes> Types(absl::string_view model) {
  if (model.empty()) return ColumnTypes();
  if (model != "shop") return std::nullopt;
  return ColumnTypes{{"color", ColumnSchema::CATEGORY},
                     {"brand", ColumnSchema::CATEGORY},
                     {"price", ColumnSchema::NUMBER}};
}

template <typename Message>
absl::StatusOr<Message> ParseAs(const std::string& json) {
  rapidjson::Document tree;
  const absl::Status is_json = ParseJsonTree(json, &tree);
  if (!is_json.ok()) return is_json;
  const FindColumnTypes find_types = Types;
  Message message;
  const absl::Status status =
      JsonMessageParser(&find_types).Parse(tree, &message);
  if (!status.ok()) return status;
  return message;
}

template <typename Message>
void ExpectSame(const std::string& json, const std::string& strict) {
  Message expected;
  const auto status =
      google::protobuf::util::JsonStringToMessage(strict, &expected);
  ASSERT_TRUE(status.ok()) << std::string(status.message()) << strict;
  ASSERT_OK_AND_ASSIGN(const Message parsed, ParseAs<Message>(json));
  EXPECT_EQ(parsed.DebugString(), expected.DebugString()) << json;
}

void ExpectSameCandidates(const std::string& json, const std::string& strict) {
  ExpectSame<v1::RankRequest>("{\"context\":{\"candidates\":" + json + "}}",
                              "{\"context\":{\"candidates\":" + strict + "}}");
}

TEST(JsonFormsTest, TheProto3JsonFormIsTaken) {
  for (const std::string& json :
       {std::string("{}"), std::string(R"({"topK":"3","context":null})"),
        std::string(R"({"top_k":3.0,"context":{"version":"7","seed":
              18446744073709551615,"attributes":{"top_k":"","topK":"é\n"},
              "eligible":[true,false],"returnScores":true,
              "baseline":{"action":[1,"0"],"logPropensity":-0.5},
              "candidates":{"numFeatures":2,"ids":["a",""],
              "dense":{"values":[1,"-2.5e-3","NaN","-Infinity",1e-3]}}}})"),
        std::string(R"({"context":{"candidates":{"dense":{"packed":
              "AACAPwAAAEA="}}}})"),
        std::string(R"({"context":{"candidates":{"columns":{
              "num_candidates":1,"candidate":[{"name":"a","missing":[0],
              "vectors":{"size":2,"values":[1,2]}}]}}}})")}) {
    ExpectSame<v1::RankRequest>(json, json);
  }
  ExpectSame<v1::AggregateRequest>(
      R"({"divergence":"TOP","aggregation":{"scale":"RANK","weights":[1,2]}})",
      R"({"divergence":2,"aggregation":{"scale":1,"weights":[1,2]}})");
  ExpectSame<v1::ChangeServingRequest>("{}", "{}");
}

TEST(JsonFormsTest, RowsAreListsOfLists) {
  const std::string strict =
      R"({"num_features":2,"dense":{"values":[0.9,0.1,0.2,0.7]}})";
  ExpectSameCandidates(R"([[0.9,0.1],[0.2,0.7]])", strict);
  ExpectSameCandidates(R"({"dense":[[0.9,0.1],[0.2,0.7]]})", strict);
  ExpectSameCandidates(R"({"dense":{"values":[[0.9,0.1],[0.2,0.7]]}})", strict);
  ExpectSameCandidates(
      R"({"dense":{"values":[[0.9,0.1],[0.2,0.7]]},"num_features":2})", strict);
  ExpectSameCandidates(R"({"num_features":2,"dense":[0.9,0.1,0.2,0.7]})",
                       strict);
}

TEST(JsonFormsTest, AListStandsForAColumnsValues) {
  const auto column = [](const std::string& values) {
    return "{\"columns\":{\"num_candidates\":2,\"candidate\":[{\"name\":"
           "\"a\"," +
           values + "}]}}";
  };
  const auto same = [&](const std::string& json, const std::string& strict) {
    ExpectSameCandidates(column(json), column(strict));
  };
  same(R"("texts":["a","b"])", R"("texts":{"values":["a","b"]})");
  same(R"("numbers":[1,2.5])", R"("numbers":{"values":[1,2.5]})");
  same(R"("categories":["a",7])", R"("categories":{"values":["a","7"]})");
  same(R"("vectors":[[1,2],[3,4]])",
       R"("vectors":{"size":2,"values":[1,2,3,4]})");
  same(R"("category_sets":[["a","b"],[]])",
       R"("category_sets":{"offsets":[0,2,2],"values":["a","b"]})");
  same(R"("category_sets":[[],["a","b"]])",
       R"("category_sets":{"offsets":[0,0,2],"values":["a","b"]})");
  // The number of candidates is that of the values.
  ExpectSameCandidates(
      R"({"columns":{"candidate":[{"name":"a","vectors":[[1],[2],[3]]}]}})",
      R"({"columns":{"num_candidates":3,"candidate":[
          {"name":"a","vectors":{"size":1,"values":[1,2,3]}}]}})");
}

TEST(JsonFormsTest, ColumnsAreNamedByKeys) {
  const std::string strict =
      R"({"columns":{"num_candidates":2,"candidate":[
          {"name":"price","missing":[1],"numbers":{"values":[3,0]}},
          {"name":"title","texts":{"values":["a","b"]}}],
          "query":[{"name":"question","texts":{"values":["who?"]}}]}})";
  ExpectSameCandidates(
      R"({"columns":{"price":[3,null],"title":["a","b"],"question":"who?"}})",
      strict);
  ExpectSameCandidates(
      R"({"columns":{"candidate":{"price":[3,null],"title":["a","b"]},
          "query":{"question":"who?"}}})",
      strict);
  // A column may have the name of a field.
  ExpectSameCandidates(R"({"columns":{"text":["a"],"query":"who?"}})",
                       R"({"columns":{"num_candidates":1,"candidate":[
          {"name":"text","texts":{"values":["a"]}}],"query":[
          {"name":"query","texts":{"values":["who?"]}}]}})");
  // In a query a list is one value.
  ExpectSameCandidates(
      R"({"columns":{"candidate":{"a":[1]},"query":{"home":[1,2],"x":["y"]}}})",
      R"({"columns":{"num_candidates":1,"candidate":[
          {"name":"a","numbers":{"values":[1]}}],"query":[
          {"name":"home","vectors":{"size":2,"values":[1,2]}},
          {"name":"x","category_sets":{"offsets":[0,1],"values":["y"]}}]}})");
}

TEST(JsonFormsTest, CandidatesAreObjectsOrTexts) {
  ExpectSameCandidates(R"([{"title":"a","price":3},{"title":"b","price":2.5}])",
                       R"({"columns":{"num_candidates":2,"candidate":[
          {"name":"title","texts":{"values":["a","b"]}},
          {"name":"price","numbers":{"values":[3,2.5]}}]}})");
  ExpectSameCandidates(R"(["a","b"])",
                       R"({"columns":{"num_candidates":2,"candidate":[
                           {"name":"text","texts":{"values":["a","b"]}}]}})");
}

TEST(JsonFormsTest, TheSchemaOfTheModelDeclaresTypes) {
  // The model may come behind what depends on it.
  ExpectSame<v1::SelectRequest>(
      R"({"context":{"candidates":[
          {"color":"red","brand":4711,"price":1,"name":"x"},
          {"color":true,"price":null}],"model":"shop"}})",
      R"({"context":{"model":"shop","candidates":{"columns":{
          "num_candidates":2,"candidate":[
          {"name":"color","categories":{"values":["red","true"]}},
          {"name":"brand","missing":[1],"categories":{"values":["4711",""]}},
          {"name":"price","missing":[1],"numbers":{"values":[1,0]}},
          {"name":"name","missing":[1],"texts":{"values":["x",""]}}]}}}})");
  EXPECT_THAT(
      ParseAs<v1::SelectRequest>(
          R"({"context":{"model":"shop","candidates":[{"price":"3"}]}})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("context.candidates[0].price = \"3\": must be a "
                         "number, true, false or null; the schema of the model "
                         "declares it as NUMBER")));
}

TEST(JsonFormsTest, NumbersAreIds) {
  ExpectSame<v1::RankRequest>(
      R"({"context":{"decision_id":17,"unit_id":18446744073709551615}})",
      R"({"context":{"decision_id":"17","unit_id":"18446744073709551615"}})");
  ExpectSame<v1::ReportShownRequest>(R"({"id":-1,"shown":[2,0]})",
                                     R"({"decision_id":"-1","shown":[2,0]})");
}

TEST(JsonFormsTest, FeedbackIsOneObjectOrAList) {
  const std::string full =
      R"({"feedback_id":"f","decision_id":"d","index":3,"reward":1})";
  ExpectSame<v1::ReportFeedbackRequest>(
      R"({"feedback_id":"f","id":"d","index":3,"reward":1})",
      "{\"feedback\":[" + full + "]}");
  ExpectSame<v1::ReportFeedbackRequest>(
      "[" + full + "," + full + "]",
      "{\"feedback\":[" + full + "," + full + "]}");
}

// A repetition must count once, and other feedback must count too.
TEST(JsonFormsTest, FeedbackWithoutAnIdHasTheIdOfWhatItReports) {
  const auto id = [](const std::string& json) {
    const auto parsed = ParseAs<v1::ReportFeedbackRequest>(json);
    EXPECT_OK(parsed);
    return parsed.ok() ? parsed->feedback(0).feedback_id() : "";
  };
  const std::string first = id(R"({"id":"d","index":3,"reward":1})");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(id(R"([{"reward":1,"decision_id":"d","index":3}])"), first);
  EXPECT_NE(id(R"({"id":"d","index":2,"reward":1})"), first);
  EXPECT_NE(id(R"({"id":"d","rank":3,"reward":1})"), first);
  EXPECT_NE(id(R"({"id":"d","index":3,"reward":2})"), first);
  EXPECT_NE(id(R"({"id":"e","index":3,"reward":1})"), first);
  // The full form leaves it to the server to refuse what has no id.
  EXPECT_EQ(id(R"({"feedback":[{"decision_id":"d","reward":1}]})"), "");
}

}  // namespace
}  // namespace sortition
