// Label: subsets of the candidates.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decisions/ranking_service.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::GameSubset;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Serves "best" (two of largest precision), "fscore" (any number), "each"
// (independent), "order" and "dcg" (rankings), one feature each, the score; and
// "default" without a version.
class LabelTest : public testing::Test {
 protected:
  LabelTest() {
    options_.set_model_store(directory_ / "models");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    options_.mutable_spool()->set_segment_bytes(1 << 22);
    // Longer than any test.
    options_.mutable_limits()->set_max_game_seconds(3600);
    auto best = MakeModel("best", {1});
    best.mutable_policy()->mutable_game_subset()->set_measure(
        GameSubset::PRECISION);
    best.mutable_policy()->mutable_game_subset()->set_k(2);
    Publish(options_.model_store(), best);
    auto fscore = MakeModel("fscore", {1});
    fscore.mutable_policy()->mutable_game_subset()->set_measure(
        GameSubset::F_BETA);
    Publish(options_.model_store(), fscore);
    auto each = MakeModel("each", {1});
    each.mutable_policy()->mutable_independent_subset()->set_threshold(0.5);
    Publish(options_.model_store(), each);
    Publish(options_.model_store(), MakeRankModel("order", {1}));
    auto dcg = MakeModel("dcg", {1});
    dcg.mutable_policy()->mutable_game_ranking()->set_discount(
        model::v1::GameRanking::DCG);
    Publish(options_.model_store(), dcg);
  }

  void SetUp() override {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_.spool(), ""));
    service_ = std::make_unique<RankingService>(
        options_.limits(), registry_.get(), spool_.get(), &metrics_);
  }

  static v1::LabelRequest Request(const std::string& model,
                                  const std::vector<float>& scores) {
    v1::LabelRequest request;
    request.mutable_context()->set_model(model);
    request.mutable_context()->set_decision_id("d");
    SetDense(1, scores, request.mutable_context());
    return request;
  }

  // So many candidates that the game takes several rounds.
  static v1::LabelRequest HardGame() {
    std::vector<float> scores;
    for (int i = 0; i < 300; ++i) {
      scores.push_back(0.01f * std::sin(static_cast<float>(i)));
    }
    return Request("fscore", scores);
  }

  absl::Status Label(const v1::LabelRequest& request) {
    return service_->Label(request, &scratch_, &label_);
  }

  std::vector<log::v1::LogRecord> Logged() {
    EXPECT_OK(spool_->Close());
    return ReadSpool(options_.spool().dir());
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<RankingService> service_;
  DecisionScratch scratch_;
  v1::LabelResponse label_;
};

// p_i = clip(2 ψ_i + τ): for ψ = 0.1, 0.2 and 0.3, τ = 4/15.
TEST_F(LabelTest, AnswersWhatItLogs) {
  v1::LabelRequest request = Request("best", {0.1f, 0.2f, 0.3f});
  request.mutable_context()->set_return_probabilities(true);
  request.mutable_context()->set_return_game(true);
  request.mutable_context()->set_return_scores(true);
  ASSERT_OK(Label(request));
  ASSERT_THAT(label_.chosen(), SizeIs(2));
  EXPECT_LT(label_.chosen(0), label_.chosen(1));
  EXPECT_THAT(label_.result().probabilities(),
              ElementsAre(DoubleNear(7. / 15, 1e-7), DoubleNear(10. / 15, 1e-7),
                          DoubleNear(13. / 15, 1e-7)));
  // A subset of two of three has the probability that the third is left out.
  const uint32_t out = 3 - label_.chosen(0) - label_.chosen(1);
  EXPECT_NEAR(std::exp(label_.result().log_propensity()),
              1 - label_.result().probabilities(static_cast<int>(out)), 1e-12);
  // d = p / 2 is above ψ everywhere.
  EXPECT_EQ(label_.result().game().lower(), 0);
  EXPECT_EQ(label_.result().game().upper(), 0);
  EXPECT_EQ(label_.result().degraded(), "");

  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(1));
  const log::v1::Decision& decision = records[0].decision();
  EXPECT_EQ(decision.action_kind(), log::v1::SUBSET);
  EXPECT_EQ(decision.top_k(), 2u);
  EXPECT_TRUE(decision.policy().has_game_subset());
  EXPECT_FALSE(decision.has_game_rounds());
  EXPECT_THAT(decision.conditional_log_propensities(), IsEmpty());
  EXPECT_THAT(decision.action(),
              ElementsAre(static_cast<int32_t>(label_.chosen(0)),
                          static_cast<int32_t>(label_.chosen(1))));
  EXPECT_EQ(std::bit_cast<uint64_t>(decision.log_propensity()),
            std::bit_cast<uint64_t>(label_.result().log_propensity()));
}

TEST_F(LabelTest, UnitIsLoggedAndChangesNoDraw) {
  v1::LabelRequest request = Request("best", {0.1f, 0.2f, 0.3f});
  for (int i = 0; i < 20; ++i) {
    request.mutable_context()->set_decision_id("unit-" + std::to_string(i));
    request.mutable_context()->clear_unit_id();
    ASSERT_OK(Label(request));
    const std::string answer = label_.SerializeAsString();
    request.mutable_context()->set_unit_id("user-1");
    ASSERT_OK(Label(request));
    EXPECT_EQ(label_.SerializeAsString(), answer);
  }
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(40));
  EXPECT_EQ(records[0].decision().unit_id(), "");
  EXPECT_EQ(records[1].decision().unit_id(), "user-1");
}

TEST_F(LabelTest, ChoosesAsManyAsAskedFor) {
  for (const char* model : {"best", "each", "default"}) {
    for (const uint32_t k : {1u, 3u}) {
      v1::LabelRequest request = Request(model, {0.4f, 0.2f, 0.3f, 0.9f});
      request.set_k(k);
      ASSERT_OK(Label(request));
      EXPECT_THAT(label_.chosen(), SizeIs(k));
    }
  }
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(6));
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].decision().top_k(), i % 2 == 0 ? 1u : 3u);
  }
}

TEST_F(LabelTest, CutsToTheEligibleAndSaysSo) {
  v1::LabelRequest request = Request("best", {0.1f, 0.2f, 0.3f});
  for (const bool eligible : {false, true, false}) {
    request.mutable_context()->add_eligible(eligible);
  }
  ASSERT_OK(Label(request));
  EXPECT_THAT(label_.chosen(), ElementsAre(1));
  EXPECT_EQ(label_.result().log_propensity(), 0);
  EXPECT_EQ(label_.result().degraded(),
            "k = 2 cut to 1, as many as are eligible");
  request.set_k(3);
  ASSERT_OK(Label(request));
  EXPECT_EQ(label_.result().degraded(),
            "k = 3 cut to 1, as many as are eligible");
  const auto records = Logged();
  EXPECT_EQ(records[1].decision().top_k(), 1u);
  EXPECT_EQ(records[1].decision().degraded(), label_.result().degraded());
}

TEST_F(LabelTest, AnyNumberMayBeRight) {
  std::set<int> sizes;
  v1::LabelRequest request = Request("fscore", {0.2f, 0.1f, -0.1f});
  request.mutable_context()->set_return_game(true);
  request.mutable_context()->set_return_probabilities(true);
  for (int i = 0; i < 100; ++i) {
    request.mutable_context()->set_decision_id(std::to_string(i));
    ASSERT_OK(Label(request));
    sizes.insert(label_.chosen_size());
  }
  // Sizes 0, 2 and 3 have the probabilities 4/15, 0.6 and 2/15.
  EXPECT_THAT(sizes, ElementsAre(0, 2, 3));
  EXPECT_NEAR(label_.result().game().lower(), 4. / 15, 1e-7);
  EXPECT_NEAR(label_.result().game().upper(), 4. / 15, 1e-7);
  EXPECT_EQ(label_.result().game().rounds(), 0u);
  EXPECT_NEAR(label_.result().probabilities(0), 11. / 15, 1e-7);
  EXPECT_EQ(Logged()[0].decision().top_k(), 0u);
}

TEST_F(LabelTest, WithoutAVersionEverySubsetIsEquallyLikely) {
  v1::LabelRequest request = Request("default", {0.1f, 0.2f, 0.3f});
  request.mutable_context()->set_return_game(true);
  ASSERT_OK(Label(request));
  EXPECT_EQ(label_.result().degraded(), "no model loaded: uniform policy");
  EXPECT_NEAR(label_.result().log_propensity(), -std::log(8), 1e-15);
  EXPECT_FALSE(label_.result().has_game());
  request.set_k(2);
  ASSERT_OK(Label(request));
  EXPECT_NEAR(label_.result().log_propensity(), -std::log(3), 1e-15);
}

// A call whose deadline has passed plays the first strategy without a search.
TEST_F(LabelTest, StopsTheGameAtTheDeadlineAndSaysSo) {
  ASSERT_OK(Label(HardGame()));
  EXPECT_EQ(label_.result().degraded(), "");
  scratch_.seconds_left = -1;
  v1::LabelRequest request = HardGame();
  request.mutable_context()->set_return_game(true);
  request.mutable_context()->set_return_probabilities(true);
  ASSERT_OK(Label(request));
  EXPECT_THAT(label_.result().degraded(),
              HasSubstr("game stopped after 0 rounds, gap "));
  EXPECT_EQ(label_.result().game().rounds(), 0u);
  EXPECT_LT(label_.result().game().lower(), label_.result().game().upper());
  EXPECT_TRUE(std::isfinite(label_.result().log_propensity()));
  EXPECT_THAT(label_.result().probabilities(), SizeIs(300));
  EXPECT_EQ(metrics_.Counter("sortition_games_stopped_total", "")->value(), 1);
  EXPECT_EQ(metrics_.Counter("sortition_degraded_total", "")->value(), 1);
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_FALSE(records[0].decision().has_game_rounds());
  EXPECT_TRUE(records[1].decision().has_game_rounds());
  EXPECT_EQ(records[1].decision().game_rounds(), 0u);
  EXPECT_EQ(records[1].decision().degraded(), label_.result().degraded());
}

// In whatever round a game was stopped, its record reproduces the decision.
TEST_F(LabelTest, StoppedDecisionsAreRepeatedFromTheirRecords) {
  for (int i = 0; i < 60; ++i) {
    v1::LabelRequest request = HardGame();
    request.mutable_context()->set_decision_id(std::to_string(i));
    scratch_.seconds_left = 1e-4 * i;
    ASSERT_OK(Label(request));
  }
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(60));
  for (const log::v1::LogRecord& record : records) {
    const log::v1::Decision& decision = record.decision();
    ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                         LinearPolicy::Create(decision.policy(), {1}));
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked({decision.dense_values().data(), 300}, 1);
    if (decision.has_game_rounds()) query.game.rounds = decision.game_rounds();
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(query,
                  DecisionKey("fscore", 1, decision.decision_id(), kDrawSalt),
                  &workspace, &draw);
    EXPECT_TRUE(std::ranges::equal(draw.action, decision.action()));
    EXPECT_EQ(draw.log_propensity, decision.log_propensity());
    EXPECT_EQ(draw.game_rounds, query.game.rounds);
  }
}

TEST_F(LabelTest, ALimitOfNothingStopsEveryGame) {
  options_.mutable_limits()->set_max_game_seconds(0);
  RankingService service(options_.limits(), registry_.get(), spool_.get(),
                         &metrics_);
  ASSERT_OK(service.Label(HardGame(), &scratch_, &label_));
  EXPECT_THAT(label_.result().degraded(), HasSubstr("game stopped after"));
  // A game with a closed form is never stopped.
  ASSERT_OK(service.Label(Request("fscore", {0.2f, 0.1f, -0.1f}), &scratch_,
                          &label_));
  EXPECT_EQ(label_.result().degraded(), "");
}

// In the game of two equal potentials of 3/2, both documents are positive. With
// the discounts 1 and 0.63 its value is 1.63 - 3.
TEST_F(LabelTest, RankSaysWhatItsGameIsWorth) {
  v1::RankRequest request;
  *request.mutable_context() = Request("dcg", {1.5f, 1.5f}).context();
  v1::RankResponse response;
  ASSERT_OK(service_->Rank(request, &scratch_, &response));
  EXPECT_FALSE(response.result().has_game());
  request.mutable_context()->set_return_game(true);
  ASSERT_OK(service_->Rank(request, &scratch_, &response));
  EXPECT_NEAR(response.result().game().lower(), 1 / std::log2(3) - 2, 1e-12);
  EXPECT_NEAR(response.result().game().upper(), 1 / std::log2(3) - 2, 1e-12);
  request.mutable_context()->set_model("order");
  ASSERT_OK(service_->Rank(request, &scratch_, &response));
  EXPECT_FALSE(response.result().has_game());
}

TEST_F(LabelTest, BadSizesAreRefused) {
  v1::LabelRequest request = Request("best", {0.1f, 0.2f, 0.3f});
  request.set_k(0);
  EXPECT_THAT(Label(request), StatusIs(StatusCode::kInvalidArgument,
                                       HasSubstr("k = 0: must be at least 1")));
  request = Request("fscore", {0.1f, 0.2f, 0.3f});
  request.set_k(2);
  EXPECT_THAT(Label(request), StatusIs(StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("k = 2: must be unset"),
                                             HasSubstr("\"fscore\""))));
  request = Request("each", std::vector<float>(20000, 0.5f));
  request.set_k(1000);
  EXPECT_THAT(Label(request),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("k = 1000 of 20000 eligible"),
                             HasSubstr("at most 10000000"))));
  request = Request("each", {0.1f});
  request.mutable_context()->set_version(7);
  EXPECT_THAT(Label(request), StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("context.version = 7")));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(LabelTest, ModelsAnswerOnlyTheirKindOfAction) {
  EXPECT_THAT(Label(Request("order", {1, 2})),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("plackett_luce, which answers Rank, not "
                                 "Label")));
  v1::RankRequest rank;
  *rank.mutable_context() = Request("best", {1, 2}).context();
  v1::RankResponse ranked;
  EXPECT_THAT(service_->Rank(rank, &scratch_, &ranked),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("game_subset, which answers Label, not "
                                 "Rank")));
  v1::SelectRequest select;
  *select.mutable_context() = Request("each", {1, 2}).context();
  v1::SelectResponse selected;
  EXPECT_THAT(service_->Select(select, &scratch_, &selected),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("independent_subset, which answers Label, "
                                 "not Select")));
  EXPECT_THAT(Logged(), IsEmpty());
}

}  // namespace
}  // namespace sortition
