#include "server/decisions/ranking_service.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
  // Microseconds since the epoch, in this century.
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
  // Plackett–Luce over scores 1, 2, 3: each rank is a softmax over the
  // candidates that are left.
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
// rank r weighs exp(-Σ r s). The orders with a given candidate first, whose
// other candidates have scores a and b, weigh exp(-2a - b) + exp(-a - 2b)
// together.
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
  // The likeliest of the six orders has probability 0.49: fifty equal orders
  // have probability 1e-15.
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

// Whoever does not know the salt cannot choose an id or a seed for its draw.
TEST_F(RankingServiceTest, DrawsDependOnTheSaltOfTheVersion) {
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy policy,
      LinearPolicy::Create(MakeRankModel("order", {1, 2}).policy(), {1, 2}));
  const std::vector<float> features = {1, 0, 0, 1, 1, 1};
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 2);
  PolicyWorkspace workspace;
  Draw draw;
  int unsalted = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    v1::RankRequest request = GoodRank();
    const std::string id = std::to_string(i);
    request.mutable_context()->set_decision_id(id);
    if (i % 2 == 0) request.mutable_context()->set_seed(i);
    ASSERT_OK(Rank(request));
    const auto key = [&](const std::string& salt) {
      return i % 2 == 0 ? SeedKey(i, salt) : DecisionKey("order", 1, id, salt);
    };
    policy.Decide(query, key(kDrawSalt), &workspace, &draw);
    EXPECT_TRUE(std::ranges::equal(draw.action, rank_.order()));
    policy.Decide(query, key(""), &workspace, &draw);
    if (std::ranges::equal(draw.action, rank_.order())) ++unsalted;
  }
  // Two draws of the six orders are the same with probability below 0.49.
  EXPECT_LT(unsalted, 40);
}

TEST_F(RankingServiceTest, UnitAndAttributesAreLoggedAndChangeNoDraw) {
  v1::SelectRequest select = GoodSelect();
  v1::RankRequest rank = GoodRank();
  for (int i = 0; i < 20; ++i) {
    for (v1::DecisionContext* context :
         {select.mutable_context(), rank.mutable_context()}) {
      context->set_decision_id("unit-" + std::to_string(i));
      context->clear_unit_id();
      context->clear_attributes();
    }
    ASSERT_OK(Select(select));
    ASSERT_OK(Rank(rank));
    const std::string selected = select_.SerializeAsString();
    const std::string ranked = rank_.SerializeAsString();
    select.mutable_context()->set_unit_id("user-1");
    (*select.mutable_context()->mutable_attributes())["device"] = "phone";
    rank.mutable_context()->set_unit_id("user-2");
    ASSERT_OK(Select(select));
    ASSERT_OK(Rank(rank));
    EXPECT_EQ(select_.SerializeAsString(), selected);
    EXPECT_EQ(rank_.SerializeAsString(), ranked);
  }
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(80));
  EXPECT_EQ(records[0].decision().unit_id(), "");
  EXPECT_EQ(records[2].decision().unit_id(), "user-1");
  EXPECT_EQ(records[2].decision().attributes().at("device"), "phone");
  EXPECT_EQ(records[3].decision().unit_id(), "user-2");
  EXPECT_THAT(records[2].decision().dense_values(),
              ElementsAre(1, 0, 0, 1, 1, 1));
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
  // The softmax is renormalised over the scores 1 and 3 and the abstain score
  // 0.
  const double sum = std::exp(1) + std::exp(3) + 1;
  EXPECT_THAT(select_.result().probabilities(),
              ElementsAre(DoubleNear(std::exp(1) / sum, 1e-12), 0,
                          DoubleNear(std::exp(3) / sum, 1e-12)));
  EXPECT_NEAR(select_.abstain_probability(), 1 / sum, 1e-12);
  EXPECT_THAT(select_.result().scores(), ElementsAre(1, 0, 3));
  // Without the mask in the log the propensity could not be recomputed.
  for (const log::v1::LogRecord& record : Logged()) {
    EXPECT_THAT(record.decision().eligible(), ElementsAre(true, false, true));
  }
}

TEST_F(RankingServiceTest, TopKBeyondTheCandidatesIsCutAndSaidSo) {
  v1::RankRequest request = GoodRank();
  request.set_top_k(4);
  ASSERT_OK(Rank(request));
  EXPECT_THAT(rank_.order(), SizeIs(3));
  EXPECT_EQ(rank_.result().degraded(),
            "top_k = 4 cut to 3, as many as are eligible");
  EXPECT_EQ(Logged()[0].decision().top_k(), 3u);
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
  // Each record has more than 300 bytes, so that at most 437 of them fit.
  absl::Status status;
  int answered = 0;
  for (; answered < 500 && status.ok(); ++answered) {
    status = service.Select(request, &scratch_, &select_);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted,
                               HasSubstr("not logged, so not answered")));
  EXPECT_OK(spool_->Close());
  // The last record says that a call was refused.
  const auto records = ReadSpool(small.dir());
  ASSERT_THAT(records, SizeIs(answered));
  EXPECT_EQ(records.back().gap().refused_calls(), 1u);
}

TEST_F(RankingServiceTest, DecidesWithoutASpool) {
  RankingService service(options_.limits(), registry_.get(), nullptr,
                         &metrics_);
  EXPECT_OK(service.Select(GoodSelect(), &scratch_, &select_));
}

}  // namespace
}  // namespace sortition
