// What is wrong with a request is said in the same words as over gRPC; what
// only JSON can get wrong is said, too.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/http/http_errors.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class JsonRefusalsTest : public HttpPortFixture {
 protected:
  void SetUp() override {
    options_.mutable_limits()->set_max_candidates(100);
    options_.mutable_limits()->set_max_features(50);
    options_.mutable_limits()->set_max_feedback_batch(3);
    StartServer();
  }
  void TearDown() override {
    ASSERT_OK(server_->Drain());
    EXPECT_TRUE(ReadSpool(options_.spool().dir()).empty());
  }

  void ExpectSame(const std::string& path, const grpc::Status& status,
                  const google::protobuf::Message& request) {
    ASSERT_FALSE(status.ok()) << request.ShortDebugString();
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    const HttpReply reply = Post(path, JsonOf(request, true));
    EXPECT_EQ(reply.code, HttpCode(code));
    EXPECT_EQ(reply.body,
              ErrorAnswer(absl::Status(code, status.error_message())).body);
    ++num_compared_;
  }

  static v1::DecisionContext GoodContext(const std::string& model) {
    v1::DecisionContext context;
    SetDense(kFeatures, {1, 0, 0, 0, 1, 0}, &context);
    context.set_model(model);
    return context;
  }

  void ExpectSameContext(
      const std::function<void(v1::DecisionContext*)>& spoil) {
    v1::RankRequest request;
    *request.mutable_context() = GoodContext("rank");
    spoil(request.mutable_context());
    grpc::ClientContext context;
    v1::RankResponse response;
    ExpectSame("/v1/rank", ranking_->Rank(&context, request, &response),
               request);
  }
  void ExpectSameShown(
      const std::function<void(v1::ReportShownRequest*)>& spoil) {
    v1::ReportShownRequest request;
    request.set_decision_id("d");
    request.add_shown(0);
    spoil(&request);
    grpc::ClientContext context;
    v1::ReportShownResponse response;
    ExpectSame("/v1/shown", ranking_->ReportShown(&context, request, &response),
               request);
  }
  void ExpectSameFeedback(const std::function<void(v1::Feedback*)>& spoil,
                          int count = 1) {
    v1::ReportFeedbackRequest request;
    for (int i = 0; i < count; ++i) {
      v1::Feedback* const feedback = request.add_feedback();
      feedback->set_feedback_id(absl::StrCat("f", i));
      feedback->set_decision_id("d");
      feedback->set_reward(1);
      spoil(feedback);
    }
    grpc::ClientContext context;
    v1::ReportFeedbackResponse response;
    ExpectSame("/v1/feedback",
               ranking_->ReportFeedback(&context, request, &response), request);
  }
  void ExpectSameAggregate(
      const std::function<void(v1::AggregateRequest*)>& spoil) {
    v1::AggregateRequest request;
    *request.mutable_context() = GoodContext("");
    spoil(&request);
    grpc::ClientContext context;
    v1::AggregateResponse response;
    ExpectSame("/v1/aggregate",
               ranking_->Aggregate(&context, request, &response), request);
  }

  void ExpectRefused(const std::string& json, const std::string& message,
                     int code = 400) {
    const HttpReply reply = Post("/v1/rank", json);
    EXPECT_EQ(reply.code, code) << json.substr(0, 100);
    EXPECT_THAT(reply.body,
                AllOf(HasSubstr("\"INVALID_ARGUMENT\""), HasSubstr(message)))
        << json.substr(0, 100);
  }

  int num_compared_ = 0;
};

TEST_F(JsonRefusalsTest, BadRequestsGetTheErrorsOfGrpc) {
  const auto dense = [](v1::DecisionContext* context) {
    return context->mutable_candidates()->mutable_dense();
  };
  const auto sparse = [](v1::DecisionContext* context) {
    v1::SparseFeatures* const made =
        context->mutable_candidates()->mutable_sparse();
    for (const uint32_t offset : {0, 1, 3}) made->add_row_offsets(offset);
    for (const uint32_t column : {1, 0, 2}) made->add_columns(column);
    for (int i = 0; i < 3; ++i) made->add_values(1);
    return made;
  };
  const std::vector<std::function<void(v1::DecisionContext*)>> contexts = {
      [=](auto* c) { dense(c)->set_values(4, kNan); },
      [=](auto* c) { dense(c)->set_values(4, -kInfinity); },
      [=](auto* c) { dense(c)->add_values(1); },
      [=](auto* c) { dense(c)->clear_values(); },
      [=](auto* c) { dense(c)->set_packed("1234"); },
      [](auto* c) { c->clear_candidates(); },
      [](auto* c) { c->mutable_candidates()->set_num_features(0); },
      [](auto* c) { c->mutable_candidates()->set_num_features(2); },
      [](auto* c) { c->mutable_candidates()->set_num_features(51); },
      [](auto* c) { c->mutable_candidates()->add_ids("one"); },
      [](auto* c) { c->add_eligible(true); },
      [](auto* c) { c->add_eligible(false), c->add_eligible(false); },
      [](auto* c) { c->set_decision_id(std::string(129, 'x')); },
      [](auto* c) { c->set_decision_id("a\nb"); },
      [](auto* c) { c->set_unit_id(std::string(129, 'x')); },
      [](auto* c) { (*c->mutable_attributes())[""] = "x"; },
      [](auto* c) { c->set_model("nobody"); },
      [](auto* c) { c->set_model("select"); },
      [](auto* c) { c->set_version(99); },
      [](auto* c) { c->set_label("stable"); },
      [=](auto* c) {
        for (int i = 0; i < 300; ++i) dense(c)->add_values(1);
      },
      [=](auto* c) { sparse(c)->set_values(2, kNan); },
      [=](auto* c) { sparse(c)->set_columns(2, 3); },
      [=](auto* c) { sparse(c)->set_columns(2, 0); },
      [=](auto* c) { sparse(c)->set_row_offsets(0, 1); },
      [=](auto* c) { sparse(c)->set_row_offsets(2, 2); },
      [=](auto* c) { sparse(c)->add_values(1); },
      [](auto* c) { c->mutable_candidates()->mutable_columns(); }};
  for (const auto& spoil : contexts) ExpectSameContext(spoil);
  ExpectSameShown([](auto* r) { r->clear_decision_id(); });
  ExpectSameShown([](auto* r) { r->set_not_shown(true); });
  ExpectSameShown([](auto* r) { r->set_first_rank(4294967295); });
  ExpectSameShown([](auto* r) { r->set_seen_ranks(0); });
  ExpectSameShown([](auto* r) { r->add_shown(0); });
  ExpectSameFeedback([](auto* f) { f->clear_feedback_id(); });
  ExpectSameFeedback([](auto* f) { f->clear_decision_id(); });
  ExpectSameFeedback([](auto* f) { f->clear_value(); });
  ExpectSameFeedback([](auto* f) { f->set_loss(kNan); });
  ExpectSameFeedback([](auto* f) { f->set_rank(100); });
  ExpectSameFeedback([](auto*) {}, 4);
  ExpectSameFeedback([](auto*) {}, 0);
  ExpectSameAggregate([](auto* r) { r->set_cutoff(2'000'000); });
  ExpectSameAggregate([](auto* r) { r->set_concentration(-1); });
  ExpectSameAggregate([](auto* r) { r->set_uniform_mixture(0.5); });
  ExpectSameAggregate([](auto* r) { r->set_confidence(1); });
  EXPECT_GE(num_compared_, 35);
}

TEST_F(JsonRefusalsTest, SaysWhereJsonIsBroken) {
  ExpectRefused("{\"context\":{}", "line 1, column 14");
  ExpectRefused("{\"top_k\": 1,\n\"top_k\": 2}",
                "\\\"top_k\\\" stands there twice");
  ExpectRefused("{\"context\":{\"model\":NaN}}", "line 1, column 21");
  ExpectRefused(std::string(100'000, '['), "nested more than 64");
  ExpectRefused("\xff", "not JSON");
}

TEST_F(JsonRefusalsTest, AsksForJsonAndForHeadersThatMakeSense) {
  const auto post = [&](const std::string& headers) {
    return AskHttp(http_port(),
                   absl::StrCat("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\n",
                                headers, "Content-Length: 2\r\n\r\n{}"));
  };
  // What a form of another site can send without asking.
  for (const char* const type :
       {"", "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "Content-Type: application/jsonx\r\n"}) {
    const HttpReply reply = post(type);
    EXPECT_EQ(reply.code, 415) << type;
    EXPECT_THAT(reply.body, HasSubstr("must be application/json"));
  }
  // JSON in another charset would be read as UTF-8.
  for (const char* const charset :
       {"utf-16", "ISO-8859-1", "\"latin1\"", "utf-8x"}) {
    const HttpReply reply = post(absl::StrCat(
        "Content-Type: application/json; charset=", charset, "\r\n"));
    EXPECT_EQ(reply.code, 415) << charset;
    EXPECT_THAT(reply.body, HasSubstr("charset must be utf-8 or absent"));
  }
  for (const char* const parameters :
       {"", "; charset=\"UTF-8\"", ";charset=us-ascii", "; q=1; Charset=utf-8",
        ";"}) {
    EXPECT_EQ(
        post(absl::StrCat("Content-Type: application/json", parameters, "\r\n"))
            .code,
        400)
        << parameters;
  }
  // Refused without waiting for the body.
  EXPECT_EQ(AskHttp(http_port(),
                    "POST /v1/rank HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: text/xml\r\nContent-Length: 1000000\r\n"
                    "\r\n")
                .code,
            415);
  const std::string json = "Content-Type: Application/JSON; charset=utf-8\r\n";
  for (const char* const timeout : {"0", "10001", "-1", "x", "1.5"}) {
    const HttpReply reply =
        post(absl::StrCat(json, "X-Timeout-Ms: ", timeout, "\r\n"));
    EXPECT_EQ(reply.code, 400);
    EXPECT_THAT(reply.body, HasSubstr("[1, 10000]")) << timeout;
  }
  EXPECT_THAT(post(json + "X-Request-Id: \xc3\xa9\r\n").body,
              HasSubstr("printable ASCII"));
  // The request itself is what is wrong here.
  EXPECT_THAT(post(json).body, HasSubstr("candidates is empty"));
}

}  // namespace
}  // namespace sortition
