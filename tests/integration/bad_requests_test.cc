// Bad requests are refused with field, value and permitted range, and leave
// nothing in the log.
#include <grpcpp/client_context.h>
#include <signal.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::grpc::StatusCode;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The models have 4 features; the good request has 3 candidates.
constexpr uint32_t kBadRequestFeatures = 4;

v1::DecisionContext GoodContext() {
  return MakeContext(3, kBadRequestFeatures, 0);
}

struct BadContext {
  std::string name;
  std::function<void(v1::DecisionContext*)> spoil;
  StatusCode code;
  std::vector<std::string> message_parts;  // Field, value, range.
};

v1::SparseFeatures* MakeSparse(v1::DecisionContext* context) {
  // Two candidates with x_0 = (0, 1, 0, 0) and x_1 = (1, 0, 0, 1).
  v1::SparseFeatures* sparse = context->mutable_candidates()->mutable_sparse();
  for (const uint32_t offset : {0, 1, 3}) sparse->add_row_offsets(offset);
  for (const uint32_t column : {1, 0, 3}) sparse->add_columns(column);
  for (int i = 0; i < 3; ++i) sparse->add_values(1);
  return sparse;
}

std::vector<BadContext> BadDenseContexts() {
  const auto dense = [](v1::DecisionContext* context) {
    return context->mutable_candidates()->mutable_dense();
  };
  return {
      {"Nan",
       [=](auto* c) { dense(c)->set_values(6, kNan); },
       StatusCode::INVALID_ARGUMENT,
       {"features", "row 1", "column 2", "nan", "finite"}},
      {"Infinity",
       [=](auto* c) { dense(c)->set_values(11, kInfinity); },
       StatusCode::INVALID_ARGUMENT,
       {"features", "row 2", "column 3", "inf", "finite"}},
      {"PartOfARow",
       [=](auto* c) { dense(c)->add_values(1); },
       StatusCode::INVALID_ARGUMENT,
       {"13", "4"}},
      {"NoCandidates",
       [=](auto* c) { dense(c)->clear_values(); },
       StatusCode::INVALID_ARGUMENT,
       {"candidates", "0"}},
      {"NoFeatures",
       [](auto* c) { c->clear_candidates(); },
       StatusCode::INVALID_ARGUMENT,
       {"context.candidates is empty", "dense"}},
      {"ZeroFeatures",
       [](auto* c) { c->mutable_candidates()->set_num_features(0); },
       StatusCode::INVALID_ARGUMENT,
       {"num_features", "0", "1"}},
      {"FeaturesUnlikeTheModel",
       [](auto* c) { c->mutable_candidates()->set_num_features(3); },
       StatusCode::INVALID_ARGUMENT,
       {"num_features", "3", "4"}},
      {"IdsUnlikeCandidates",
       [](auto* c) { c->mutable_candidates()->add_ids("one"); },
       StatusCode::INVALID_ARGUMENT,
       {"ids", "1", "3"}},
      {"EligibleUnlikeCandidates",
       [](auto* c) { c->add_eligible(true); },
       StatusCode::INVALID_ARGUMENT,
       {"eligible", "1", "3"}},
      {"NoneEligible",
       [](auto* c) {
         for (int i = 0; i < 3; ++i) c->add_eligible(false);
       },
       StatusCode::INVALID_ARGUMENT,
       {"eligible", "0", "1"}},
      {"LongDecisionId",
       [](auto* c) { c->set_decision_id(std::string(129, 'x')); },
       StatusCode::INVALID_ARGUMENT,
       {"decision_id", "129", "128"}},
      {"UnknownModel",
       [](auto* c) { c->set_model("nobody"); },
       StatusCode::NOT_FOUND,
       {"model", "nobody"}},
      {"VersionNotLoaded",
       [](auto* c) { c->set_version(99); },
       StatusCode::FAILED_PRECONDITION,
       {"version", "99"}},
      // The server of this test accepts 100 candidates and 50 features.
      {"TooManyCandidates",
       [=](auto* c) {
         for (int i = 0; i < 98 * 4; ++i) dense(c)->add_values(1);
       },
       StatusCode::INVALID_ARGUMENT,
       {"candidates", "101", "100"}},
      {"TooManyFeatures",
       [](auto* c) { c->mutable_candidates()->set_num_features(51); },
       StatusCode::INVALID_ARGUMENT,
       {"num_features", "51", "50"}},
  };
}

std::vector<BadContext> BadSparseContexts() {
  return {
      {"SparseNan",
       [](auto* c) { MakeSparse(c)->set_values(2, kNan); },
       StatusCode::INVALID_ARGUMENT,
       {"features", "row 1", "column 3", "nan", "finite"}},
      {"ColumnTooLarge",
       [](auto* c) { MakeSparse(c)->set_columns(2, 4); },
       StatusCode::INVALID_ARGUMENT,
       {"columns", "4"}},
      {"ColumnsNotAscending",
       [](auto* c) { MakeSparse(c)->set_columns(2, 0); },
       StatusCode::INVALID_ARGUMENT,
       {"columns"}},
      {"OffsetsNotFromZero",
       [](auto* c) { MakeSparse(c)->set_row_offsets(0, 1); },
       StatusCode::INVALID_ARGUMENT,
       {"row_offsets", "0"}},
      {"OffsetsDecrease",
       [](auto* c) {
         MakeSparse(c)->set_row_offsets(1, 3);
         c->mutable_candidates()->mutable_sparse()->set_row_offsets(2, 2);
       },
       StatusCode::INVALID_ARGUMENT,
       {"row_offsets"}},
      {"OffsetsEndElsewhere",
       [](auto* c) { MakeSparse(c)->set_row_offsets(2, 2); },
       StatusCode::INVALID_ARGUMENT,
       {"row_offsets", "2", "3"}},
      {"ValuesUnlikeColumns",
       [](auto* c) { MakeSparse(c)->add_values(1); },
       StatusCode::INVALID_ARGUMENT,
       {"values", "4", "3"}},
  };
}

class BadRequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(deployment_.store().Publish(
        SelectionModel(kBadRequestFeatures, 1), nullptr, {}));
    model::v1::Model ranking = RankingModel(kBadRequestFeatures, 1);
    ranking.set_name("ranking");
    ASSERT_OK(deployment_.store().Publish(ranking, nullptr, {}));
    model::v1::Model labelling = RankingModel(kBadRequestFeatures, 1);
    labelling.set_name("labelling");
    labelling.mutable_policy()->mutable_game_subset()->set_measure(
        model::v1::GameSubset::F_BETA);
    ASSERT_OK(deployment_.store().Publish(labelling, nullptr, {}));
    ASSERT_OK(deployment_.StartServer(
        {"--limits.max_candidates=100", "--limits.max_features=50",
         "--limits.max_feedback_batch=3", "--limits.max_message_bytes=65536"}));
    stub_ = v1::Ranking::NewStub(deployment_.NewChannel());
  }

  // Stops the server cleanly and expects that it logged nothing.
  void ExpectNothingLogged() {
    // A channel that no call polls keeps its connection for seconds.
    stub_.reset();
    deployment_.server().Signal(SIGTERM);
    EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
    int records = 0;
    ASSERT_OK(VisitRecords(deployment_.spool(), true, [&](const auto& record) {
      if (!record.has_header() && !record.has_footer()) ++records;
    }));
    EXPECT_EQ(records, 0);
  }

  grpc::Status Select(const v1::DecisionContext& decision) {
    grpc::ClientContext context;
    v1::SelectRequest request;
    v1::SelectResponse response;
    *request.mutable_context() = decision;
    return stub_->Select(&context, request, &response);
  }

  grpc::Status Rank(const v1::DecisionContext& decision,
                    std::optional<uint32_t> top_k) {
    grpc::ClientContext context;
    v1::RankRequest request;
    v1::RankResponse response;
    *request.mutable_context() = decision;
    request.mutable_context()->set_model("ranking");
    if (top_k.has_value()) request.set_top_k(*top_k);
    return stub_->Rank(&context, request, &response);
  }

  grpc::Status Label(const v1::DecisionContext& decision,
                     std::optional<uint32_t> k) {
    grpc::ClientContext context;
    v1::LabelRequest request;
    v1::LabelResponse response;
    *request.mutable_context() = decision;
    request.mutable_context()->set_model("labelling");
    if (k.has_value()) request.set_k(*k);
    return stub_->Label(&context, request, &response);
  }

  grpc::Status ReportShown(const v1::ReportShownRequest& request) {
    grpc::ClientContext context;
    v1::ReportShownResponse response;
    return stub_->ReportShown(&context, request, &response);
  }

  grpc::Status ReportFeedback(const v1::ReportFeedbackRequest& request) {
    grpc::ClientContext context;
    v1::ReportFeedbackResponse response;
    return stub_->ReportFeedback(&context, request, &response);
  }

  static void ExpectRefused(const grpc::Status& status, StatusCode code,
                            const std::vector<std::string>& message_parts) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    for (const std::string& part : message_parts) {
      EXPECT_THAT(status.error_message(), HasSubstr(part));
    }
  }

  Deployment deployment_;
  std::unique_ptr<v1::Ranking::Stub> stub_;
};

TEST_F(BadRequestsTest, BadContextsOfEveryDecision) {
  std::vector<BadContext> all = BadDenseContexts();
  for (BadContext& bad : BadSparseContexts()) all.push_back(std::move(bad));
  for (const BadContext& bad : all) {
    SCOPED_TRACE(bad.name);
    v1::DecisionContext context = GoodContext();
    bad.spoil(&context);
    ExpectRefused(Select(context), bad.code, bad.message_parts);
    if (bad.name != "UnknownModel") {
      ExpectRefused(Rank(context, std::nullopt), bad.code, bad.message_parts);
      ExpectRefused(Label(context, std::nullopt), bad.code, bad.message_parts);
    }
  }
  ExpectNothingLogged();
}

// Above the number of candidates it is cut, which is no error.
TEST_F(BadRequestsTest, TopKOfZero) {
  ExpectRefused(Rank(GoodContext(), 0), StatusCode::INVALID_ARGUMENT,
                {"top_k", "0", "at least 1"});
  ExpectNothingLogged();
}

TEST_F(BadRequestsTest, SubsetSizeOutOfRange) {
  ExpectRefused(Label(GoodContext(), 0), StatusCode::INVALID_ARGUMENT,
                {"k = 0", "at least 1"});
  // An F-score game chooses its own size.
  ExpectRefused(Label(GoodContext(), 2), StatusCode::INVALID_ARGUMENT,
                {"k = 2", "must be unset", "labelling"});
  ExpectNothingLogged();
}

TEST_F(BadRequestsTest, ActionThatTheModelDoesNotServe) {
  v1::DecisionContext context = GoodContext();
  context.set_model("ranking");
  ExpectRefused(Select(context), StatusCode::FAILED_PRECONDITION, {"ranking"});
  ExpectNothingLogged();
}

TEST_F(BadRequestsTest, MessageOverTheSizeLimit) {
  // 20,000 floats are 80,000 bytes; the limit is 65,536.
  v1::DecisionContext context = GoodContext();
  for (int i = 0; i < 20000; ++i) {
    context.mutable_candidates()->mutable_dense()->add_values(1);
  }
  ExpectRefused(Select(context), StatusCode::RESOURCE_EXHAUSTED, {"65536"});
  ExpectNothingLogged();
}

TEST_F(BadRequestsTest, BadShown) {
  v1::ReportShownRequest request;
  request.add_shown(0);
  ExpectRefused(ReportShown(request), StatusCode::INVALID_ARGUMENT,
                {"decision_id"});
  request.set_decision_id(std::string(129, 'x'));
  ExpectRefused(ReportShown(request), StatusCode::INVALID_ARGUMENT,
                {"decision_id", "129", "128"});
  request.set_decision_id("d");
  request.set_not_shown(true);
  ExpectRefused(ReportShown(request), StatusCode::INVALID_ARGUMENT,
                {"not_shown", "shown"});
  request.set_not_shown(false);
  request.set_first_rank(4294967295);
  ExpectRefused(ReportShown(request), StatusCode::INVALID_ARGUMENT,
                {"first_rank", "4294967295", "[0, "});
  request.clear_first_rank();
  request.set_seen_ranks(0);
  ExpectRefused(ReportShown(request), StatusCode::INVALID_ARGUMENT,
                {"seen_ranks", "0", "[1, "});
  ExpectNothingLogged();
}

v1::ReportFeedbackRequest GoodFeedback(int count) {
  v1::ReportFeedbackRequest request;
  for (int i = 0; i < count; ++i) {
    v1::Feedback* feedback = request.add_feedback();
    feedback->set_feedback_id(absl::StrCat("f", i));
    feedback->set_decision_id("d");
    feedback->set_reward(1);
  }
  return request;
}

TEST_F(BadRequestsTest, BadFeedbackRefusesTheWholeBatch) {
  const std::vector<
      std::pair<std::function<void(v1::Feedback*)>, std::vector<std::string>>>
      cases = {
          {[](auto* f) { f->clear_feedback_id(); }, {"feedback_id"}},
          {[](auto* f) { f->set_feedback_id(std::string(129, 'x')); },
           {"feedback_id", "129", "128"}},
          {[](auto* f) { f->clear_decision_id(); }, {"decision_id"}},
          {[](auto* f) { f->set_decision_id(std::string(129, 'x')); },
           {"decision_id", "129", "128"}},
          {[](auto* f) { f->clear_value(); }, {"reward"}},
          {[](auto* f) { f->set_reward(kNan); }, {"reward", "nan", "finite"}},
          {[](auto* f) { f->set_loss(-kInfinity); }, {"loss", "inf", "finite"}},
      };
  for (const auto& [spoil, message_parts] : cases) {
    v1::ReportFeedbackRequest request = GoodFeedback(2);
    spoil(request.mutable_feedback(1));
    ExpectRefused(ReportFeedback(request), StatusCode::INVALID_ARGUMENT,
                  message_parts);
  }
  ExpectRefused(ReportFeedback(GoodFeedback(0)), StatusCode::INVALID_ARGUMENT,
                {"feedback", "0", "1 to 3"});
  ExpectRefused(ReportFeedback(GoodFeedback(4)), StatusCode::INVALID_ARGUMENT,
                {"feedback", "4", "1 to 3"});
  ExpectNothingLogged();
}

TEST_F(BadRequestsTest, GoodRequestsAreAnsweredAndLogged) {
  EXPECT_TRUE(Select(GoodContext()).ok());
  v1::DecisionContext sparse = GoodContext();
  MakeSparse(&sparse);
  EXPECT_TRUE(Select(sparse).ok());
  EXPECT_TRUE(Rank(GoodContext(), 3).ok());
  EXPECT_TRUE(ReportFeedback(GoodFeedback(3)).ok());
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> ids,
                       SpoolDecisionIds(deployment_.spool()));
  EXPECT_EQ(ids.size(), 3);
}

TEST(FullSpoolTest, RefusesAtTheLimitAndLogsExactlyWhatItAnswered) {
  Deployment deployment;
  ASSERT_OK(deployment.store().Publish(SelectionModel(kBadRequestFeatures, 1),
                                       nullptr, {}));
  ASSERT_OK(deployment.StartServer(
      {"--spool.max_bytes=131072", "--spool.segment_bytes=65536"}));
  const auto stub = v1::Ranking::NewStub(deployment.NewChannel());
  v1::SelectRequest request;
  *request.mutable_context() = GoodContext();
  // A record has more than 48 bytes of features, so the limit is reached before
  // 131072 / 48 < 2731 answers.
  std::vector<std::string> answered;
  grpc::Status status;
  for (int i = 0; i < 2731 && status.ok(); ++i) {
    grpc::ClientContext context;
    v1::SelectResponse response;
    status = stub->Select(&context, request, &response);
    if (status.ok()) answered.push_back(response.result().decision_id());
  }
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("131072"));
  EXPECT_GT(answered.size(), 100);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> ids,
                       SpoolDecisionIds(deployment.spool()));
  EXPECT_EQ(ids, answered);
}

}  // namespace
}  // namespace sortition
