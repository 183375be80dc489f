// Each call of a batch is answered as it would be by itself.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "sortition/v1/http.pb.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;

class BatchTest : public HttpPortFixture {
 protected:
  void SetUp() override { StartServer(); }

  static std::string Call(const std::string& method, const std::string& body) {
    return absl::StrCat("{\"method\":\"", method, "\",\"request\":", body, "}");
  }

  v1::BatchResponse Batch(const std::vector<std::string>& calls) {
    const HttpReply reply =
        Post("/v1/batch",
             absl::StrCat("{\"calls\":[", absl::StrJoin(calls, ","), "]}"));
    EXPECT_EQ(reply.code, 200) << reply.body;
    v1::BatchResponse response;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(reply.body, &response).ok())
        << reply.body;
    EXPECT_EQ(response.answers_size(), static_cast<int>(calls.size()));
    return response;
  }

  static std::string MessageOf(const v1::BatchResponse::Answer& answer) {
    return answer.response().fields().at("message").string_value();
  }
};

TEST_F(BatchTest, AnswersAreThoseOfTheCallsInTheirOrder) {
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"rank", R"({"context":{"decision_id":"a","model":"rank","candidates":
                   [[1,0,0],[0,1,0]]}})"},
      {"select", R"({"context":{"decision_id":"b","candidates":["x","y"]}})"},
      {"label", R"({"context":{"decision_id":"c","model":"none"}})"},
      {"shown", R"({"decision_id":"a"})"},
      {"shown", R"({"decision_id":"a","shown":[1,0]})"},
      {"feedback", R"({"id":"a","index":1,"reward":1})"},
  };
  std::vector<std::string> entries;
  for (const auto& [method, body] : calls) {
    entries.push_back(Call(method, body));
  }
  const v1::BatchResponse response = Batch(entries);
  const std::vector<uint32_t> statuses = {200, 200, 404, 400, 200, 200};
  for (size_t i = 0; i < calls.size(); ++i) {
    const HttpReply alone =
        Post(absl::StrCat("/v1/", calls[i].first), calls[i].second);
    const auto& answer = response.answers(static_cast<int>(i));
    EXPECT_EQ(answer.status(), statuses[i]);
    EXPECT_EQ(static_cast<int>(answer.status()), alone.code);
    google::protobuf::Struct body;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(alone.body, &body).ok());
    EXPECT_EQ(answer.response().DebugString(), body.DebugString());
  }
}

TEST_F(BatchTest, ABadCallSpoilsNoOther) {
  const v1::BatchResponse response =
      Batch({Call("rank", R"({"topk":1})"), Call("reload", "{}"),
             Call("models/list", "{}"), R"({"method":"feedback"})",
             Call("select", R"({"context":{"candidates":["x"]}})")});
  EXPECT_EQ(response.answers(0).status(), 400u);
  EXPECT_THAT(MessageOf(response.answers(0)),
              HasSubstr("unknown field \"calls[0].request.topk\"; did you "
                        "mean \"calls[0].request.top_k\"?"));
  EXPECT_THAT(MessageOf(response.answers(1)),
              HasSubstr("calls[1].method = \"reload\": must be one of "
                        "aggregate, feedback, label, rank, select, shown"));
  EXPECT_EQ(response.answers(2).status(), 400u);
  EXPECT_THAT(MessageOf(response.answers(3)), HasSubstr("feedback has 0"));
  EXPECT_EQ(response.answers(4).status(), 200u);
  ASSERT_OK(server_->Drain());
  EXPECT_EQ(ReadSpool(options_.spool().dir()).size(), 1u);
}

TEST_F(BatchTest, HasALimit) {
  const std::string call = Call("rank", "{}");
  const std::vector<std::string> most(100, call);
  EXPECT_EQ(Batch(most).answers_size(), 100);
  for (const std::string& body :
       {absl::StrCat("{\"calls\":[", absl::StrJoin(most, ","), ",", call, "]}"),
        std::string(R"({"calls":[]})"), std::string("{}")}) {
    const HttpReply reply = Post("/v1/batch", body);
    EXPECT_EQ(reply.code, 400);
    EXPECT_THAT(reply.body, HasSubstr("entries: must have 1 to 100"));
  }
  EXPECT_THAT(Post("/v1/batch", "[]").body,
              HasSubstr("the body is a list: must be a JSON object"));
  EXPECT_THAT(Post("/v1/batch", R"({"requests":[]})").body,
              HasSubstr("unknown field \\\"requests\\\""));
}

}  // namespace
}  // namespace sortition
