#include "server/ranking_service.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Serves "pick" (selection, can abstain) and "order" (ranking), two features
// each, and "default" without a version.
class RankingServiceTest : public testing::Test {
 protected:
  RankingServiceTest() {
    options_.set_model_store(directory_ / "models");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    options_.mutable_spool()->set_segment_bytes(65536);
    options_.mutable_limits()->set_max_candidates(5);
    options_.mutable_limits()->set_max_features(10);
    options_.mutable_limits()->set_max_feedback_batch(3);
    auto pick = MakeSelectModel("pick", {1, 2});
    pick.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
    Publish(options_.model_store(), pick);
    Publish(options_.model_store(), MakeRankModel("order", {1, 2}));
    auto boltzmann = MakeRankModel("boltzmann", {1, 2});
    boltzmann.mutable_policy()->mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::LINEAR);
    Publish(options_.model_store(), boltzmann);
  }

  void SetUp() override {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_.spool(), ""));
    service_ = std::make_unique<RankingService>(
        options_.limits(), registry_.get(), spool_.get(), &metrics_);
  }

  // Three candidates with scores 1, 2 and 3 under weights (1, 2).
  static v1::SelectRequest GoodSelect() {
    v1::SelectRequest request;
    request.mutable_context()->set_model("pick");
    request.mutable_context()->set_decision_id("d-1");
    SetDense(2, {1, 0, 0, 1, 1, 1}, request.mutable_context());
    return request;
  }
  static v1::RankRequest GoodRank() {
    v1::RankRequest request;
    *request.mutable_context() = GoodSelect().context();
    request.mutable_context()->set_model("order");
    return request;
  }

  std::vector<log::v1::LogRecord> Logged() {
    EXPECT_OK(spool_->Close());
    return ReadSpool(options_.spool().dir());
  }

  absl::Status Select(const v1::SelectRequest& request) {
    return service_->Select(request, &scratch_, &select_);
  }
  absl::Status Rank(const v1::RankRequest& request) {
    return service_->Rank(request, &scratch_, &rank_);
  }

  TemporaryDirectory directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<RankingService> service_;
  DecisionScratch scratch_;
  v1::SelectResponse select_;
  v1::RankResponse rank_;
};

TEST_F(RankingServiceTest, SelectAnswersWhatItLogs) {
  v1::SelectRequest request = GoodSelect();
  for (const char* id : {"a", "b", "c"}) {
    request.mutable_context()->mutable_candidates()->add_ids(id);
  }
  ASSERT_OK(Select(request));
  EXPECT_EQ(select_.result().decision_id(), "d-1");
  EXPECT_EQ(select_.result().model().name(), "pick");
  EXPECT_EQ(select_.result().model().version(), 1u);
  EXPECT_EQ(select_.result().degraded(), "");
  // Softmax over the scores 1, 2, 3 and the abstain score 0.
  const double normaliser =
      std::log(std::exp(1) + std::exp(2) + std::exp(3) + std::exp(0));
  const double score = select_.has_selected() ? select_.selected() + 1 : 0;
  EXPECT_NEAR(select_.result().log_propensity(), score - normaliser, 1e-12);

  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(1));
  const log::v1::Decision& decision = records[0].decision();
  EXPECT_EQ(decision.decision_id(), "d-1");
  EXPECT_EQ(decision.model(), "pick");
  EXPECT_EQ(decision.version(), 1u);
  EXPECT_EQ(decision.action_kind(), log::v1::SELECT);
  EXPECT_TRUE(decision.can_abstain());
  EXPECT_TRUE(decision.policy().has_softmax_selection());
  EXPECT_EQ(decision.num_candidates(), 3u);
  EXPECT_EQ(decision.num_features(), 2u);
  EXPECT_THAT(decision.dense_values(), ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_THAT(decision.candidate_ids(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(decision.eligible(), IsEmpty());
  EXPECT_THAT(decision.action(),
              ElementsAre(select_.has_selected()
                              ? static_cast<int32_t>(select_.selected())
                              : kAbstain));
  EXPECT_EQ(std::bit_cast<uint64_t>(decision.log_propensity()),
            std::bit_cast<uint64_t>(select_.result().log_propensity()));
  // Microseconds since the epoch, of this century.
  EXPECT_GT(decision.time_us(), int64_t{1'600'000'000'000'000});
  EXPECT_LT(decision.time_us(), int64_t{5'000'000'000'000'000});
}

TEST_F(RankingServiceTest, RankAnswersWhatItLogs) {
  v1::RankRequest request = GoodRank();
  request.set_top_k(2);
  ASSERT_OK(Rank(request));
  ASSERT_THAT(rank_.order(), SizeIs(2));
  ASSERT_THAT(rank_.conditional_log_propensities(), SizeIs(2));
  EXPECT_NE(rank_.order(0), rank_.order(1));
  // Plackett–Luce over scores 1, 2, 3: each rank is a softmax over what is
  // left.
  const double scores[] = {1, 2, 3};
  const double all = std::exp(1) + std::exp(2) + std::exp(3);
  const double first = scores[rank_.order(0)];
  const double second = scores[rank_.order(1)];
  EXPECT_NEAR(rank_.conditional_log_propensities(0), first - std::log(all),
              1e-12);
  EXPECT_NEAR(rank_.conditional_log_propensities(1),
              second - std::log(all - std::exp(first)), 1e-12);
  EXPECT_NEAR(rank_.result().log_propensity(),
              rank_.conditional_log_propensities(0) +
                  rank_.conditional_log_propensities(1),
              1e-12);

  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(1));
  const log::v1::Decision& decision = records[0].decision();
  EXPECT_EQ(decision.action_kind(), log::v1::RANK);
  EXPECT_EQ(decision.top_k(), 2u);
  EXPECT_FALSE(decision.can_abstain());
  EXPECT_THAT(decision.action(),
              ElementsAre(static_cast<int32_t>(rank_.order(0)),
                          static_cast<int32_t>(rank_.order(1))));
  EXPECT_EQ(decision.log_propensity(), rank_.result().log_propensity());
  EXPECT_THAT(decision.conditional_log_propensities(),
              ElementsAre(rank_.conditional_log_propensities(0),
                          rank_.conditional_log_propensities(1)));
}

// Scores 1, 2, 3 and weights 0, -1, -2 of the ranks: an order with score s at
// rank r weighs exp(-Σ r s), so that its first rank has, over the orders of the
// others, exp(-2a - b) + exp(-a - 2b) for these of scores a, b.
TEST_F(RankingServiceTest, RankDrawsBoltzmannOrders) {
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_model("boltzmann");
  request.mutable_context()->set_return_probabilities(true);
  request.set_top_k(1);
  ASSERT_OK(Rank(request));
  const auto weight = [](double a, double b) {
    return std::exp(-2 * a - b) + std::exp(-a - 2 * b);
  };
  const double weights[] = {weight(2, 3), weight(1, 3), weight(1, 2)};
  const double all = weights[0] + weights[1] + weights[2];
  ASSERT_THAT(rank_.order(), SizeIs(1));
  EXPECT_NEAR(rank_.result().log_propensity(),
              std::log(weights[rank_.order(0)] / all), 1e-12);
  EXPECT_THAT(rank_.result().probabilities(),
              ElementsAre(DoubleNear(weights[0] / all, 1e-12),
                          DoubleNear(weights[1] / all, 1e-12),
                          DoubleNear(weights[2] / all, 1e-12)));
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_TRUE(records[0].decision().policy().has_boltzmann_ranking());
}

TEST_F(RankingServiceTest, SparseFeaturesDecideLikeTheSameDenseOnes) {
  ASSERT_OK(Select(GoodSelect()));
  const v1::SelectResponse dense = select_;
  v1::SelectRequest request = GoodSelect();
  v1::SparseFeatures& sparse =
      *request.mutable_context()->mutable_candidates()->mutable_sparse();
  for (const uint32_t offset : {0, 1, 2, 4}) sparse.add_row_offsets(offset);
  for (const uint32_t column : {0, 1, 0, 1}) sparse.add_columns(column);
  for (int i = 0; i < 4; ++i) sparse.add_values(1);
  ASSERT_OK(Select(request));
  EXPECT_EQ(select_.SerializeAsString(), dense.SerializeAsString());
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[1].decision().sparse().row_offsets(),
              ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(records[1].decision().dense_values(), IsEmpty());
}

TEST_F(RankingServiceTest, SameIdSameAnswerOtherIdsOtherAnswers) {
  v1::RankRequest request = GoodRank();
  ASSERT_OK(Rank(request));
  const std::string answer = rank_.SerializeAsString();
  std::set<std::vector<uint32_t>> orders;
  for (int i = 0; i < 50; ++i) {
    request.mutable_context()->set_decision_id("other-" + std::to_string(i));
    ASSERT_OK(Rank(request));
    orders.insert({rank_.order().begin(), rank_.order().end()});
  }
  // The likeliest of the six orders has probability 0.49: fifty times the same
  // is a chance of 1e-15.
  EXPECT_GT(orders.size(), 1u);
  request.mutable_context()->set_decision_id("d-1");
  ASSERT_OK(Rank(request));
  EXPECT_EQ(rank_.SerializeAsString(), answer);
}

TEST_F(RankingServiceTest, SeedReplacesTheIdInTheDrawAndIsLogged) {
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_seed(42);
  ASSERT_OK(Rank(request));
  const std::vector<uint32_t> order(rank_.order().begin(), rank_.order().end());
  for (int i = 0; i < 20; ++i) {
    request.mutable_context()->set_decision_id("other-" + std::to_string(i));
    ASSERT_OK(Rank(request));
    EXPECT_EQ(std::vector<uint32_t>(rank_.order().begin(), rank_.order().end()),
              order);
  }
  EXPECT_EQ(Logged()[0].decision().seed(), 42u);
}

TEST_F(RankingServiceTest, MakesTimeOrderedIdsWhereNoneComes) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->clear_decision_id();
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(Select(request));
    // RFC 9562: version 7, variant 10.
    EXPECT_THAT(select_.result().decision_id(),
                testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-"
                                      "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
    ids.insert(select_.result().decision_id());
  }
  EXPECT_THAT(ids, SizeIs(100));
}

TEST_F(RankingServiceTest, MaskedCandidatesAreNeverChosen) {
  v1::RankRequest rank = GoodRank();
  v1::SelectRequest select = GoodSelect();
  for (const bool eligible : {true, false, true}) {
    rank.mutable_context()->add_eligible(eligible);
    select.mutable_context()->add_eligible(eligible);
  }
  select.mutable_context()->set_return_probabilities(true);
  select.mutable_context()->set_return_scores(true);
  for (int i = 0; i < 50; ++i) {
    rank.mutable_context()->set_decision_id("m-" + std::to_string(i));
    ASSERT_OK(Rank(rank));
    EXPECT_THAT(rank_.order(), testing::UnorderedElementsAre(0, 2));
    EXPECT_EQ(rank_.result().degraded(), "");
    select.mutable_context()->set_decision_id("s-" + std::to_string(i));
    ASSERT_OK(Select(select));
    EXPECT_TRUE(!select_.has_selected() || select_.selected() != 1);
  }
  // Renormalised over scores 1 and 3 and the abstain score 0.
  const double sum = std::exp(1) + std::exp(3) + 1;
  EXPECT_THAT(select_.result().probabilities(),
              ElementsAre(DoubleNear(std::exp(1) / sum, 1e-12), 0,
                          DoubleNear(std::exp(3) / sum, 1e-12)));
  EXPECT_NEAR(select_.abstain_probability(), 1 / sum, 1e-12);
  EXPECT_THAT(select_.result().scores(), ElementsAre(1, 0, 3));
}

TEST_F(RankingServiceTest, TopKBeyondTheEligibleIsCutAndSaidSo) {
  v1::RankRequest request = GoodRank();
  for (const bool eligible : {true, false, false}) {
    request.mutable_context()->add_eligible(eligible);
  }
  request.set_top_k(3);
  ASSERT_OK(Rank(request));
  EXPECT_THAT(rank_.order(), ElementsAre(0));
  EXPECT_EQ(rank_.result().degraded(),
            "top_k = 3 cut to 1, as many as are eligible");
  EXPECT_EQ(rank_.result().log_propensity(), 0);
  EXPECT_EQ(Logged()[0].decision().degraded(), rank_.result().degraded());
}

TEST_F(RankingServiceTest, WithoutAVersionServesUniformlyAndSaysSo) {
  v1::SelectRequest select = GoodSelect();
  select.mutable_context()->clear_model();
  ASSERT_OK(Select(select));
  EXPECT_EQ(select_.result().model().name(), "default");
  EXPECT_EQ(select_.result().model().version(), 0u);
  EXPECT_EQ(select_.result().degraded(), "no model loaded: uniform policy");
  EXPECT_TRUE(select_.has_selected());
  EXPECT_NEAR(select_.result().log_propensity(), -std::log(3), 1e-15);
  v1::RankRequest rank = GoodRank();
  rank.mutable_context()->set_model("default");
  ASSERT_OK(Rank(rank));
  EXPECT_NEAR(rank_.result().log_propensity(), -std::log(6), 1e-15);
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].decision().policy().kind_case(),
            model::v1::Policy::KIND_NOT_SET);
  EXPECT_EQ(records[0].decision().version(), 0u);
}

TEST_F(RankingServiceTest, ServedVersionMayBeNamed) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_version(1);
  EXPECT_OK(Select(request));
}

TEST_F(RankingServiceTest, ReportsAreLogged) {
  v1::ReportShownRequest shown;
  shown.set_decision_id("d-1");
  shown.add_shown(2);
  shown.add_shown(0);
  v1::ReportShownResponse shown_response;
  ASSERT_OK(service_->ReportShown(shown, &scratch_, &shown_response));
  v1::ReportFeedbackRequest feedback;
  v1::Feedback& first = *feedback.add_feedback();
  first.set_feedback_id("f-1");
  first.set_decision_id("d-1");
  first.set_reward(0.5);
  first.set_rank(1);
  v1::Feedback& second = *feedback.add_feedback();
  second.set_feedback_id("f-2");
  second.set_decision_id("d-1");
  second.set_loss(0.25);
  v1::ReportFeedbackResponse response;
  ASSERT_OK(service_->ReportFeedback(feedback, &scratch_, &response));
  EXPECT_EQ(response.accepted(), 2u);

  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].shown().decision_id(), "d-1");
  EXPECT_THAT(records[0].shown().shown(), ElementsAre(2, 0));
  EXPECT_EQ(records[1].feedback().feedback_id(), "f-1");
  EXPECT_EQ(records[1].feedback().reward(), 0.5);
  EXPECT_EQ(records[1].feedback().rank(), 1u);
  EXPECT_EQ(records[2].feedback().reward(), -0.25);  // reward = -loss
  EXPECT_FALSE(records[2].feedback().has_rank());
}

TEST_F(RankingServiceTest, NoAnswerWhereTheSpoolRefuses) {
  ASSERT_OK(spool_->Close());
  EXPECT_THAT(Select(GoodSelect()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not logged")));
}

TEST_F(RankingServiceTest, FullSpoolIsResourceExhausted) {
  config::v1::SpoolOptions small = options_.spool();
  small.set_dir(directory_ / "small");
  small.set_max_bytes(131072);  // Two segments.
  ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(small, ""));
  RankingService service(options_.limits(), registry_.get(), spool_.get(),
                         &metrics_);
  v1::SelectRequest request = GoodSelect();
  for (int i = 0; i < 3; ++i) {
    request.mutable_context()->mutable_candidates()->add_ids(
        std::string(100, 'x'));
  }
  // Each record holds more than 300 bytes: at most 437 of them fit.
  absl::Status status;
  int answered = 0;
  for (; answered < 500 && status.ok(); ++answered) {
    status = service.Select(request, &scratch_, &select_);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted,
                               HasSubstr("not logged, so not answered")));
  EXPECT_OK(spool_->Close());
  EXPECT_THAT(ReadSpool(small.dir()), SizeIs(answered - 1));
}

TEST_F(RankingServiceTest, WithoutASpoolDecidesButTakesNoReports) {
  RankingService service(options_.limits(), registry_.get(), nullptr,
                         &metrics_);
  EXPECT_OK(service.Select(GoodSelect(), &scratch_, &select_));
  v1::ReportShownRequest shown;
  shown.set_decision_id("d");
  v1::ReportShownResponse response;
  EXPECT_THAT(service.ReportShown(shown, &scratch_, &response),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("spool.dir is empty")));
}

struct BadRequest {
  std::string name;
  std::function<void(v1::DecisionContext*)> spoil;
  StatusCode code;
  std::vector<std::string> words;  // Field, value, permitted range.
};

std::vector<BadRequest> BadContexts() {
  const auto invalid = StatusCode::kInvalidArgument;
  const auto dense = [](uint32_t d, std::vector<float> values) {
    return [=](v1::DecisionContext* c) { SetDense(d, values, c); };
  };
  const auto sparse = [](std::vector<uint32_t> offsets,
                         std::vector<uint32_t> columns,
                         std::vector<float> values) {
    return [=](v1::DecisionContext* c) {
      auto& s = *c->mutable_candidates()->mutable_sparse();
      s.mutable_row_offsets()->Assign(offsets.begin(), offsets.end());
      s.mutable_columns()->Assign(columns.begin(), columns.end());
      s.mutable_values()->Assign(values.begin(), values.end());
    };
  };
  const auto mask = [](std::vector<bool> eligible) {
    return [=](v1::DecisionContext* c) {
      for (const bool e : eligible) c->add_eligible(e);
    };
  };
  const auto id = [](std::string text) {
    return [=](v1::DecisionContext* c) { c->set_decision_id(text); };
  };
  const auto ids = [](std::vector<std::string> texts) {
    return [=](v1::DecisionContext* c) {
      for (const auto& text : texts) c->mutable_candidates()->add_ids(text);
    };
  };
  return {
      {"NanFeature",
       dense(2, {1, 2, 3, kNan}),
       invalid,
       {"dense", "row 1, column 1", "nan", "finite"}},
      {"InfiniteFeature",
       dense(2, {kInfinity, 2}),
       invalid,
       {"dense", "row 0, column 0", "inf", "finite"}},
      {"RowColumnMismatch",
       dense(2, {1, 2, 3}),
       invalid,
       {"dense", "3 values", "multiple", "2"}},
      {"NoCandidates",
       dense(2, {}),
       invalid,
       {"dense", "0 candidates", "[1, 5]"}},
      {"TooManyCandidates",
       dense(2, std::vector<float>(12)),
       invalid,
       {"dense", "6 candidates", "[1, 5]", "limits.max_candidates"}},
      {"NoFeatures",
       [](auto* c) { c->mutable_candidates()->clear_dense(); },
       invalid,
       {"context.candidates.features", "unset", "dense or sparse"}},
      {"ZeroNumFeatures",
       dense(0, {1, 2}),
       invalid,
       {"num_features = 0", "[1, 10]"}},
      {"TooManyFeatures",
       dense(11, std::vector<float>(11)),
       invalid,
       {"num_features = 11", "[1, 10]", "limits.max_features"}},
      {"NotTheModelsFeatures",
       dense(3, {1, 2, 3}),
       invalid,
       {"num_features = 3", "must be 2"}},
      {"SparseWithoutOffsets",
       sparse({}, {}, {}),
       invalid,
       {"sparse", "0 candidates", "[1, 5]"}},
      {"SparseFirstOffset",
       sparse({1, 1}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[0] is 1", "must be 0"}},
      {"SparseOffsetsDecrease",
       sparse({0, 2, 1}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[2] is 1", "at least 2"}},
      {"SparseOffsetsEnd",
       sparse({0, 2}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[1] is 2", "must be 1"}},
      {"SparseColumnRange",
       sparse({0, 1}, {2}, {1}),
       invalid,
       {"sparse", "columns[0]", "is 2", "below num_features = 2"}},
      {"SparseColumnOrder",
       sparse({0, 2}, {1, 1}, {1, 1}),
       invalid,
       {"sparse", "columns[1]", "is 1", "above 1"}},
      {"SparseValues",
       sparse({0, 1}, {0}, {1, 2}),
       invalid,
       {"sparse", "2 values", "must have 1"}},
      {"SparseNan",
       sparse({0, 0, 1}, {1}, {kNan}),
       invalid,
       {"sparse", "row 1, column 1", "nan"}},
      {"SparseTooMany",
       sparse({0, 0, 0, 0, 0, 0, 0}, {}, {}),
       invalid,
       {"sparse", "6 candidates", "[1, 5]"}},
      {"NoneEligible",
       mask({false, false, false}),
       invalid,
       {"context.eligible", "0 true", "1 to 3"}},
      {"EligibleLength",
       mask({true, true}),
       invalid,
       {"context.eligible has 2", "must have 3"}},
      {"IdsLength",
       ids({"a"}),
       invalid,
       {"context.candidates.ids has 1", "must have 3"}},
      {"IdTooLong",
       ids({"a", std::string(129, 'x'), "c"}),
       invalid,
       {"ids[1]", "129 bytes", "at most 128"}},
      {"DecisionIdTooLong",
       id(std::string(129, 'x')),
       invalid,
       {"context.decision_id", "129 bytes", "at most 128"}},
      {"DecisionIdControl",
       id("a\nb"),
       invalid,
       {"context.decision_id", "a\\nb", "control character at byte 1"}},
      {"DecisionIdDelete", id("a\x7F"), invalid, {"control character"}},
      {"DecisionIdOverlong",
       id("\xC0\x80"),
       invalid,
       {"invalid UTF-8 at byte 0"}},
      {"DecisionIdSurrogate",
       id("x\xED\xA0\x80"),
       invalid,
       {"invalid UTF-8 at byte 1"}},
      {"DecisionIdCutShort",
       id("x\xE2\x82"),
       invalid,
       {"invalid UTF-8 at byte 1"}},
      {"UnknownModel",
       [](auto* c) { c->set_model("nobody"); },
       StatusCode::kNotFound,
       {"context.model", "nobody", "default, order, pick"}},
      {"VersionNotLoaded",
       [](auto* c) { c->set_version(7); },
       StatusCode::kFailedPrecondition,
       {"context.version = 7", "must be 1"}},
  };
}

class BadContextTest : public RankingServiceTest,
                       public testing::WithParamInterface<BadRequest> {};

TEST_P(BadContextTest, IsRefusedBySelectAndRankAndNotLogged) {
  const BadRequest& bad = GetParam();
  v1::SelectRequest select = GoodSelect();
  bad.spoil(select.mutable_context());
  v1::RankRequest rank = GoodRank();
  bad.spoil(rank.mutable_context());
  for (const absl::Status& status : {Select(select), Rank(rank)}) {
    EXPECT_EQ(status.code(), bad.code) << status;
    for (const std::string& word : bad.words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    }
  }
  EXPECT_THAT(Logged(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, BadContextTest, testing::ValuesIn(BadContexts()),
                         [](const auto& test) { return test.param.name; });

TEST_F(RankingServiceTest, LongestAndUnicodeIdsAreFine) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_decision_id(std::string(128, 'x'));
  EXPECT_OK(Select(request));
  request.mutable_context()->set_decision_id(
      "żółć-\xF0\x9F\x8E\xB2-\xEF\xBF\xBD");
  EXPECT_OK(Select(request));
}

TEST_F(RankingServiceTest, BadTopKIsRefused) {
  for (const uint32_t top_k : {0u, 4u}) {
    v1::RankRequest request = GoodRank();
    request.set_top_k(top_k);
    EXPECT_THAT(Rank(request),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("top_k = " + std::to_string(top_k)),
                               HasSubstr("[1, 3]"))));
  }
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(RankingServiceTest, ModelsAnswerOnlyTheirKindOfAction) {
  v1::RankRequest rank = GoodRank();
  rank.mutable_context()->set_model("pick");
  EXPECT_THAT(Rank(rank),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"pick\""),
                             HasSubstr("softmax_selection, which answers "
                                       "Select, not Rank"))));
  v1::SelectRequest select = GoodSelect();
  select.mutable_context()->set_model("order");
  EXPECT_THAT(Select(select), StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("Rank, not Select")));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(RankingServiceTest, BadReportsOfWhatWasShownAreRefused) {
  v1::ReportShownRequest good;
  good.set_decision_id("d");
  good.add_shown(1);
  const auto refused = [&](const v1::ReportShownRequest& request,
                           const std::string& words) {
    v1::ReportShownResponse response;
    EXPECT_THAT(service_->ReportShown(request, &scratch_, &response),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  auto request = good;
  request.clear_decision_id();
  refused(request, "decision_id = \"\": must have 1 to 128 bytes");
  request = good;
  request.set_not_shown(true);
  refused(request, "shown has 1 entries: must have none where not_shown");
  request = good;
  request.add_shown(5);
  refused(request, "shown[1] = 5: must be in [0, 4]");
  request = good;
  request.add_shown(1);
  refused(request, "document_index 1 more than once");
  for (int i = 0; i < 5; ++i) request.add_shown(0);
  refused(request, "shown has 7 entries: must have at most 5");
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(RankingServiceTest, BadFeedbackIsRefusedWithItsWholeBatch) {
  v1::Feedback good;
  good.set_feedback_id("f");
  good.set_decision_id("d");
  good.set_reward(1);
  const auto refused = [&](const v1::Feedback& second,
                           const std::string& words) {
    v1::ReportFeedbackRequest request;
    *request.add_feedback() = good;
    *request.add_feedback() = second;
    v1::ReportFeedbackResponse response;
    EXPECT_THAT(service_->ReportFeedback(request, &scratch_, &response),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("feedback[1]: "), HasSubstr(words))));
  };
  auto bad = good;
  bad.clear_feedback_id();
  refused(bad, "feedback_id = \"\": must have 1 to 128 bytes");
  bad = good;
  bad.set_decision_id(std::string(200, 'x'));
  refused(bad, "decision_id");
  bad = good;
  bad.clear_value();
  refused(bad, "value is unset: must be a finite reward or loss");
  bad = good;
  bad.set_reward(kNan);
  refused(bad, "reward = nan: must be finite");
  bad = good;
  bad.set_loss(-kInfinity);
  refused(bad, "loss = -inf: must be finite");
  bad = good;
  bad.set_rank(5);
  refused(bad, "rank = 5: must be in [0, 4]");

  v1::ReportFeedbackRequest batch;
  v1::ReportFeedbackResponse response;
  EXPECT_THAT(service_->ReportFeedback(batch, &scratch_, &response),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("feedback has 0 entries: must have 1 to 3")));
  for (int i = 0; i < 4; ++i) *batch.add_feedback() = good;
  EXPECT_THAT(service_->ReportFeedback(batch, &scratch_, &response),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("feedback has 4 entries: must have 1 to 3")));
  EXPECT_THAT(Logged(), IsEmpty());
}

}  // namespace
}  // namespace sortition
