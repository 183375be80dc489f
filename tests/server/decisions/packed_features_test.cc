// Features as packed bytes, and ids that come back.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decisions/aggregate_service.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PackedFeaturesTest : public RankingServiceTest {
 protected:
  static void SetPacked(const std::vector<float>& values,
                        v1::DecisionContext* context) {
    context->mutable_candidates()->mutable_dense()->set_packed(
        std::string(BytesOf(values)));
  }
  // Moves the features of a request from `values` to `packed`.
  static void Pack(v1::DecisionContext* context) {
    auto* dense = context->mutable_candidates()->mutable_dense();
    const std::vector<float> values(dense->values().begin(),
                                    dense->values().end());
    dense->clear_values();
    SetPacked(values, context);
  }
  static void AddIds(v1::DecisionContext* context) {
    for (const char* id : {"a", "b", "c"}) {
      context->mutable_candidates()->add_ids(id);
    }
  }
};

// What is logged is what was scored: the same record as for values.
TEST_F(PackedFeaturesTest, AreDecidedAndLoggedAsValues) {
  v1::RankRequest rank = GoodRank();
  v1::SelectRequest select = GoodSelect();
  ASSERT_OK(Rank(rank));
  ASSERT_OK(Select(select));
  const std::string ranked = rank_.SerializeAsString();
  const std::string selected = select_.SerializeAsString();
  Pack(rank.mutable_context());
  Pack(select.mutable_context());
  ASSERT_OK(Rank(rank));
  ASSERT_OK(Select(select));
  EXPECT_EQ(rank_.SerializeAsString(), ranked);
  EXPECT_EQ(select_.SerializeAsString(), selected);
  auto records = Logged();
  ASSERT_THAT(records, SizeIs(4));
  for (auto& record : records) record.mutable_decision()->set_time_us(0);
  EXPECT_THAT(records[2].decision().dense_values(),
              ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_EQ(records[2].DebugString(), records[0].DebugString());
  EXPECT_EQ(records[3].DebugString(), records[1].DebugString());
}

TEST_F(PackedFeaturesTest, OneFeatureOfOneCandidateIsRead) {
  v1::RankRequest rank = GoodRank();
  rank.mutable_context()->set_model("default");
  rank.mutable_context()->mutable_candidates()->set_num_features(1);
  rank.mutable_context()->mutable_candidates()->mutable_dense()->Clear();
  SetPacked({0.5f}, rank.mutable_context());
  ASSERT_OK(Rank(rank));
  EXPECT_THAT(rank_.order(), ElementsAre(0));
  EXPECT_THAT(Logged()[0].decision().dense_values(), ElementsAre(0.5f));
}

// Two sources; the means of their scores are 1, 2 and 3 halves.
TEST_F(PackedFeaturesTest, AreAggregated) {
  AggregateService aggregates(options_.limits(), spool_.get(), &metrics_);
  v1::AggregateRequest request;
  request.mutable_aggregation()->set_scale(v1::Aggregation::NONE);
  request.mutable_context()->set_return_scores(true);
  request.mutable_context()->mutable_candidates()->set_num_features(2);
  SetPacked({1, 0, 0, 2, 1, 2}, request.mutable_context());
  v1::AggregateResponse response;
  request.set_top_k(7);
  ASSERT_OK(aggregates.Aggregate(request, &scratch_, &response));
  EXPECT_THAT(response.order(), ElementsAre(2, 1, 0));
  EXPECT_THAT(response.result().scores(), ElementsAre(0.5, 1, 1.5));
  EXPECT_EQ(response.result().degraded(),
            "top_k = 7 cut to 3, as many as are eligible");
  EXPECT_THAT(Logged()[0].decision().dense_values(),
              ElementsAre(1, 0, 0, 2, 1, 2));
}

TEST_F(PackedFeaturesTest, WrongOnesAreRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::string field = "context.candidates.dense.packed";
  const auto refused = [&](const std::string& bytes, bool values,
                           const std::string& message) {
    v1::RankRequest request = GoodRank();
    auto* dense =
        request.mutable_context()->mutable_candidates()->mutable_dense();
    if (!values) dense->clear_values();
    dense->set_packed(bytes);
    EXPECT_THAT(Rank(request), StatusIs(StatusCode::kInvalidArgument,
                                        HasSubstr(field + message)));
  };
  const std::vector<float> nan = {1, 2, 3, kNan};
  const std::vector<float> infinite = {1, -HUGE_VALF};
  refused(std::string(BytesOf(nan)), false,
          ": features (row 1, column 1) is nan, must be finite");
  refused(std::string(BytesOf(infinite)), false,
          ": features (row 0, column 1) is -inf, must be finite");
  refused(std::string(9, '\0'), false,
          " has 9 bytes: must be a multiple of 8, 4 * num_features");
  refused(std::string(12, '\0'), false, " has 12 bytes: must be a multiple");
  // The cap comes before the values are read.
  refused(std::string(6 * 8 - 1, '\xFF'), false,
          " holds 6 candidates: must be in [1, 5]");
  refused(std::string(24, '\0'), true,
          " has 24 bytes: must be empty where context.candidates.dense.values "
          "is set, which has 6 entries");
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(PackedFeaturesTest, OrdersHaveTheIdsOfTheRequest) {
  v1::RankRequest request = GoodRank();
  ASSERT_OK(Rank(request));
  EXPECT_THAT(rank_.order_ids(), IsEmpty());
  AddIds(request.mutable_context());
  request.set_top_k(2);
  for (int i = 0; i < 20; ++i) {
    request.mutable_context()->set_decision_id(std::to_string(i));
    ASSERT_OK(Rank(request));
    ASSERT_THAT(rank_.order_ids(), SizeIs(2));
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(rank_.order_ids(rank),
                std::string(1, static_cast<char>('a' + rank_.order(rank))));
    }
  }
}

TEST_F(PackedFeaturesTest, SelectionsHaveTheIdOrSayThatTheyAbstained) {
  v1::SelectRequest request = GoodSelect();
  ASSERT_OK(Select(request));
  EXPECT_EQ(select_.selected_id(), "");
  AddIds(request.mutable_context());
  int abstained = 0;
  // The policy abstains with probability 1 / (1 + e + e^2 + e^3) = 0.03.
  for (int i = 0; i < 500; ++i) {
    request.mutable_context()->set_decision_id(std::to_string(i));
    ASSERT_OK(Select(request));
    EXPECT_EQ(select_.abstained(), !select_.has_selected());
    abstained += select_.abstained() ? 1 : 0;
    EXPECT_EQ(
        select_.selected_id(),
        select_.abstained()
            ? ""
            : std::string(1, static_cast<char>('a' + select_.selected())));
  }
  EXPECT_GT(abstained, 0);
  EXPECT_LT(abstained, 100);
}

TEST_F(PackedFeaturesTest, SubsetsHaveTheIdsOfTheRequest) {
  v1::LabelRequest request;
  *request.mutable_context() = GoodRank().context();
  request.mutable_context()->set_model("default");
  v1::LabelResponse response;
  request.set_k(2);
  ASSERT_OK(service_->Label(request, &scratch_, &response));
  EXPECT_THAT(response.chosen_ids(), IsEmpty());
  AddIds(request.mutable_context());
  request.set_k(9);
  ASSERT_OK(service_->Label(request, &scratch_, &response));
  EXPECT_THAT(response.chosen_ids(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(response.result().degraded(),
            "no model loaded: uniform policy; k = 9 cut to 3, as many as are "
            "eligible");
}

}  // namespace
}  // namespace sortition
