// A rerank is a call of Rank: the same order, propensity and record, in the
// form that frameworks for retrieval read.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/http.pb.h"
#include "tests/server/http/http_port_fixture.h"
#include "tests/testing/column_model.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RerankTest : public HttpPortFixture {
 protected:
  void SetUp() override { StartServer(); }

  // Parses strictly: an answer has nothing that its message has not.
  v1::RerankResponse Rerank(const std::string& json,
                            const std::string& path = "/v1/rerank",
                            const std::string& headers = kPatient) {
    const HttpReply reply = Post(path, json, headers);
    EXPECT_EQ(reply.code, 200) << reply.body;
    v1::RerankResponse response;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(reply.body, &response).ok())
        << reply.body;
    return response;
  }

  v1::RankResponse Rank(const v1::RankRequest& request) {
    grpc::ClientContext context;
    v1::RankResponse response;
    const grpc::Status status = ranking_->Rank(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // Three documents as Rank is asked for them.
  static v1::RankRequest ThreeTexts(const std::string& id) {
    v1::RankRequest request;
    v1::DecisionContext& context = *request.mutable_context();
    context.set_decision_id(id);
    for (const uint32_t i : {0, 1, 2}) {
      context.mutable_baseline()->add_action(i);
    }
    v1::Columns& columns = *context.mutable_candidates()->mutable_columns();
    columns.set_num_candidates(3);
    v1::Column& text = *columns.add_candidate();
    text.set_name("text");
    for (const char* const each : {"a", "é", "c"}) {
      text.mutable_texts()->add_values(each);
    }
    v1::Column& query = *columns.add_query();
    query.set_name("query");
    query.mutable_texts()->add_values("who?");
    return request;
  }

  static std::vector<uint32_t> Order(const v1::RerankResponse& response) {
    std::vector<uint32_t> order;
    for (const auto& result : response.results()) {
      order.push_back(result.index());
    }
    return order;
  }

  std::vector<log::v1::LogRecord> Records() {
    EXPECT_OK(server_->Drain());
    return ReadSpool(options_.spool().dir());
  }

  // Posts one rerank of these documents and returns the columns of its record.
  v1::Columns ColumnsOf(const std::string& documents) {
    Rerank(absl::StrCat("{\"query\":\"q\",\"documents\":", documents, "}"));
    const auto records = Records();
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? v1::Columns() : records[0].decision().columns();
  }

  void ExpectRefused(const std::string& json, const std::string& message) {
    const HttpReply reply = Post("/v1/rerank", json);
    EXPECT_EQ(reply.code, 400) << json;
    EXPECT_THAT(reply.body, HasSubstr(message)) << json;
  }
};

constexpr char kThree[] = R"("query":"who?","documents":["a","é","c"])";

TEST_F(RerankTest, IsRankBitForBit) {
  for (int i = 0; i < 200; ++i) {
    const std::string id = absl::StrCat("d", i);
    v1::RankRequest request = ThreeTexts(id);
    std::string top;
    if (i % 3 > 0) {
      request.set_top_k(static_cast<uint32_t>(i % 3));
      top = absl::StrCat(",\"top_n\":", i % 3);
    }
    const v1::RankResponse by_rank = Rank(request);
    const v1::RerankResponse by_rerank =
        Rerank(absl::StrCat("{\"decision_id\":\"", id, "\",", kThree, top, "}"),
               i % 2 == 0 ? "/v1/rerank" : "/v2/rerank");
    EXPECT_EQ(by_rerank.id(), id);
    EXPECT_EQ(Order(by_rerank), std::vector<uint32_t>(by_rank.order().begin(),
                                                      by_rank.order().end()));
    // The bytes of doubles are their bits.
    EXPECT_EQ(by_rerank.sortition().SerializeAsString(),
              by_rank.result().SerializeAsString());
  }
  std::vector<log::v1::LogRecord> records = Records();
  ASSERT_EQ(records.size(), 400u);
  for (size_t i = 0; i < records.size(); i += 2) {
    for (log::v1::LogRecord* const record : {&records[i], &records[i + 1]}) {
      record->mutable_decision()->clear_time_us();
    }
    EXPECT_EQ(records[i].SerializeAsString(),
              records[i + 1].SerializeAsString());
  }
}

// (n - rank) / n for n = 3 documents, also where fewer are returned.
TEST_F(RerankTest, ScoresAreOfThePlaceAlone) {
  const v1::RerankResponse all = Rerank(absl::StrCat("{", kThree, "}"));
  ASSERT_EQ(all.results_size(), 3);
  EXPECT_EQ(all.results(0).relevance_score(), 1);
  EXPECT_EQ(all.results(1).relevance_score(), 2.0 / 3);
  EXPECT_EQ(all.results(2).relevance_score(), 1.0 / 3);
  const v1::RerankResponse one =
      Rerank(absl::StrCat("{\"top_n\":1,", kThree, "}"));
  ASSERT_EQ(one.results_size(), 1);
  EXPECT_EQ(one.results(0).relevance_score(), 1);
  // More than there are documents is no shortfall.
  const v1::RerankResponse many =
      Rerank(absl::StrCat("{\"top_n\":10,", kThree, "}"));
  EXPECT_EQ(many.results_size(), 3);
  EXPECT_THAT(many.sortition().degraded(), Not(HasSubstr("top_k")));
}

TEST_F(RerankTest, ReturnsDocumentsOnRequest) {
  const HttpReply without = Post("/v1/rerank", absl::StrCat("{", kThree, "}"));
  EXPECT_THAT(without.body, Not(HasSubstr("document\"")));
  const HttpReply reply =
      Post("/v1/rerank",
           R"({"query":"q","return_documents":true,"documents":
              [{"text":"x","id":9007199254740993,"tags":["b"]}]})");
  EXPECT_THAT(reply.body, HasSubstr(R"("document":{"text":"x",)"
                                    R"("id":9007199254740993,"tags":["b"]})"));
  EXPECT_THAT(Post("/v2/rerank",
                   R"({"query":"q","return_documents":true,"documents":["é"]})")
                  .body,
              AllOf(HasSubstr(R"("document":{"text":"é"})"),
                    HasSubstr(R"("api_version":{"version":"2"})")));
}

TEST_F(RerankTest, TextEmbeddingsInferenceGetsABareList) {
  const v1::RerankResponse by_cohere =
      Rerank(absl::StrCat("{\"decision_id\":\"d\",", kThree, "}"));
  const HttpReply reply =
      Post("/rerank",
           R"({"decision_id":"d","query":"who?","texts":["a","é","c"],
               "raw_scores":false,"return_text":true})");
  ASSERT_EQ(reply.code, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("x-sortition-decision-id"), "d");
  v1::RerankResponse list;
  std::string expected;
  const std::vector<std::string> texts = {"a", "é", "c"};
  const std::vector<std::string> scores = {"1.0", "0.6666666666666666",
                                           "0.3333333333333333"};
  for (size_t rank = 0; rank < 3; ++rank) {
    const uint32_t index = Order(by_cohere)[rank];
    absl::StrAppend(&expected, expected.empty() ? "[" : ",",
                    "{\"index\":", index, ",\"score\":", scores[rank],
                    ",\"text\":\"", texts[index], "\"}");
  }
  EXPECT_EQ(reply.body, expected + "]\n");
}

TEST_F(RerankTest, AForeignModelNameMeansTheDefaultModel) {
  EXPECT_EQ(
      Rerank(absl::StrCat("{\"model\":\"rerank-v3.5\",", kThree, "}")).model(),
      "fresh");
  EXPECT_EQ(Rerank(absl::StrCat("{", kThree, "}")).model(), "fresh");
  // A model of the server is used, and this one takes no texts.
  ExpectRefused(absl::StrCat("{\"model\":\"rank\",", kThree, "}"),
                "documents is set: must be unset; the model has no schema");
}

class RerankModeTest : public RerankTest {
 protected:
  void SetUp() override {}
};

TEST_F(RerankModeTest, TheGivenOrderIsTheBaseline) {
  // Mode SHADOW decides by the baseline.
  std::filesystem::create_directories(options_.model_store() + "/fresh");
  std::ofstream(options_.model_store() + "/fresh/SERVING.textproto")
      << "mode: SHADOW\n";
  StartServer();
  const v1::RerankResponse response =
      Rerank(absl::StrCat("{\"top_n\":2,", kThree, "}"));
  EXPECT_TRUE(response.sortition().is_baseline());
  EXPECT_THAT(Order(response), ElementsAre(0, 1));
  // Of the eligible ones.
  EXPECT_THAT(
      Order(Rerank(absl::StrCat(
          R"({"sortition":{"eligible":[false,true,true]},)", kThree, "}"))),
      ElementsAre(1, 2));
  // A caller that has another order says so.
  EXPECT_THAT(
      Order(Rerank(absl::StrCat(
          R"({"sortition":{"baseline":{"action":[2,0,1]}},)", kThree, "}"))),
      ElementsAre(2, 0, 1));
}

TEST_F(RerankTest, IdsComeFromFieldsOrHeaders) {
  EXPECT_EQ(
      Rerank(absl::StrCat("{\"decision_id\":17,\"user\":4711,", kThree, "}"))
          .id(),
      "17");
  const std::string headers = absl::StrCat(
      kPatient, "X-Sortition-Decision-Id: h\r\nX-Sortition-Unit-Id: u\r\n");
  EXPECT_EQ(Rerank(absl::StrCat("{", kThree, "}"), "/v1/rerank", headers).id(),
            "h");
  EXPECT_EQ(
      Rerank(absl::StrCat(R"({"sortition":{"decision_id":"s","attributes":)"
                          R"({"country":"NZ"},"seed":3},)",
                          kThree, "}"),
             "/v1/rerank", headers)
          .id(),
      "s");
  const auto records = Records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].decision().unit_id(), "4711");
  EXPECT_EQ(records[1].decision().unit_id(), "u");
  EXPECT_EQ(records[2].decision().attributes().at("country"), "NZ");
  EXPECT_EQ(records[2].decision().seed(), 3u);
}

TEST_F(RerankTest, FieldsOfDocumentsBecomeColumns) {
  const v1::Columns columns = ColumnsOf(
      R"([{"text":"a","price":3,"new":true,"tags":["x","y","x"],"at":[0.5,1]},
          "b",
          {"price":null,"tags":[],"color":"red","nothing":null}])");
  EXPECT_EQ(columns.num_candidates(), 3u);
  ASSERT_EQ(columns.candidate_size(), 6);
  EXPECT_EQ(columns.candidate(0).ShortDebugString(),
            R"(name: "text" missing: 2 texts { values: "a" values: "b" )"
            R"(values: "" })");
  EXPECT_EQ(columns.candidate(1).ShortDebugString(),
            R"(name: "price" missing: 1 missing: 2 numbers { values: 3 )"
            R"(values: 0 values: 0 })");
  EXPECT_EQ(columns.candidate(2).ShortDebugString(),
            R"(name: "new" missing: 1 missing: 2 numbers { values: 1 )"
            R"(values: 0 values: 0 })");
  EXPECT_EQ(columns.candidate(3).ShortDebugString(),
            R"(name: "tags" missing: 1 category_sets { offsets: 0 offsets: 2 )"
            R"(offsets: 2 offsets: 2 values: "x" values: "y" })");
  EXPECT_EQ(columns.candidate(4).ShortDebugString(),
            R"(name: "at" missing: 1 missing: 2 vectors { size: 2 )"
            R"(values: 0.5 values: 1 values: 0 values: 0 values: 0 values: 0 )"
            R"(})");
  EXPECT_EQ(columns.candidate(5).name(), "color");
  ASSERT_EQ(columns.query_size(), 1);
  EXPECT_EQ(columns.query(0).ShortDebugString(),
            R"(name: "query" texts { values: "q" })");
}

TEST_F(RerankTest, BadRequestsAreRefusedInTheirOwnWords) {
  ExpectRefused("", "the body is empty: must be a JSON object");
  ExpectRefused("[]", "the body is a list: must be a JSON object");
  ExpectRefused(R"({"documents":["a"]})", "query is absent");
  ExpectRefused(R"({"query":"q"})", "documents is absent");
  ExpectRefused(R"({"query":"q","documents":[]})",
                "documents is an empty list");
  ExpectRefused(R"({"query":"q","documents":"a"})",
                "documents = \\\"a\\\": must be a list");
  ExpectRefused(R"({"query":"q","documents":[["a"]]})",
                "documents[0] is a list: must be a text, or an object");
  ExpectRefused(R"({"query":"q","documents":["a"],"texts":["a"]})",
                "\\\"documents\\\" and \\\"texts\\\" are both there");
  ExpectRefused(R"({"query":["q"],"documents":["a"]})",
                "query is a list: must be a text");
  ExpectRefused(R"({"query":"q","documents":["a"],"top_n":0})",
                "top_n = 0: must be at least 1");
  ExpectRefused(R"({"query":"q","documents":["a"],"topN":"many"})",
                "topN = \\\"many\\\": must be a whole number");
  ExpectRefused(R"({"query":"q","documents":["a"],"top_k":1})",
                "unknown field \\\"top_k\\\"; did you mean \\\"top_n\\\"?");
  ExpectRefused(R"({"query":"q","documents":[{"a":1},{"a":"x"}]})",
                "documents[1].a = \\\"x\\\": must be a number");
  ExpectRefused(R"({"query":"q","documents":[{"a":{"b":1}}]})",
                "documents[0].a is an object");
  ExpectRefused(R"({"query":"q","documents":[{"a":[1]},{"a":[1,2]}]})",
                "documents[1].a has 2 numbers: must have 1");
  ExpectRefused(R"({"query":"q","documents":["a"],"user":"u","unit_id":"v"})",
                "only one of them may be");
  ExpectRefused(R"({"query":"q","documents":["a"],"sortition":{"model":"m"}})",
                "\\\"sortition.model\\\" and \\\"model\\\"");
  ExpectRefused(R"({"query":"q","documents":["a"],"sortition":{"version":7}})",
                "version = 7: not loaded");
  EXPECT_TRUE(Records().empty());
}

// Types come from the schema of the model that serves, for every call.
class ServedSchemaTest : public RerankTest {
 protected:
  void SetUp() override {
    Publish(options_.model_store(), MakeColumnModel("columns", 1));
    StartServer();
  }
};

TEST_F(ServedSchemaTest, DeclaresTypesOfColumns) {
  const HttpReply reply =
      Post("/v1/select",
           R"({"context":{"model":"columns","candidates":{"columns":{
          "candidate":{"price":[1,2],"color":["red",null],"tags":[["a"],[]],
                       "sentence":["x","y"],"place":[[1,2,3],[4,5,6]]},
          "query":{"question":"who?","city":7,"home":[1,2,3]}}}}})");
  ASSERT_EQ(reply.code, 200) << reply.body;
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  const v1::Columns& columns = records[0].decision().columns();
  EXPECT_EQ(columns.candidate(1).ShortDebugString(),
            R"(name: "color" missing: 1 categories { values: "red" )"
            R"(values: "" })");
  EXPECT_TRUE(columns.candidate(3).has_texts());
  EXPECT_EQ(columns.query(1).ShortDebugString(),
            R"(name: "city" categories { values: "7" })");
}

// Fields that only part of the objects have make a large matrix of little text.
TEST_F(RerankTest, AShortBodyCannotClaimMuchMemory) {
  std::string documents;
  for (int i = 0; i < 1001; ++i) {
    absl::StrAppend(&documents, i == 0 ? "" : ",", "{\"f", i, "\":1}");
  }
  ExpectRefused(
      absl::StrCat("{\"query\":\"q\",\"documents\":[", documents, "]}"),
      "must have at most 1000 fields");
}

}  // namespace
}  // namespace sortition
