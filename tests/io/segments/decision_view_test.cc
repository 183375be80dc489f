#include "io/segments/decision_view.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

log::v1::Decision TwoCandidates() {
  log::v1::Decision decision;
  decision.set_num_candidates(2);
  decision.set_num_features(2);
  for (const float value : {1.f, 2.f, 3.f, 4.f}) {
    decision.add_dense_values(value);
  }
  decision.set_top_k(1);
  return decision;
}

log::v1::Decision TwoSparseCandidates() {
  log::v1::Decision decision = TwoCandidates();
  decision.clear_dense_values();
  for (const uint32_t offset : {0u, 1u, 2u}) {
    decision.mutable_sparse()->add_row_offsets(offset);
  }
  decision.mutable_sparse()->add_columns(0);
  decision.mutable_sparse()->add_columns(1);
  decision.mutable_sparse()->add_values(5);
  decision.mutable_sparse()->add_values(6);
  return decision;
}

TEST(DecisionViewTest, ViewsTheLoggedFloats) {
  const log::v1::Decision decision = TwoCandidates();
  ASSERT_OK_AND_ASSIGN(const DecisionView view, ViewDecision(decision));
  EXPECT_EQ(view.candidates.values().data(), decision.dense_values().data());
  EXPECT_EQ(view.candidates.num_candidates(), 2u);
  EXPECT_EQ(view.top_k, 1u);
  EXPECT_TRUE(view.is_eligible(0));
  EXPECT_TRUE(view.is_eligible(1));
  EXPECT_OK(CheckDecidable(view));

  const log::v1::Decision sparse = TwoSparseCandidates();
  ASSERT_OK_AND_ASSIGN(const DecisionView sparse_view, ViewDecision(sparse));
  EXPECT_EQ(sparse_view.candidates.values().data(),
            sparse.sparse().values().data());
  EXPECT_EQ(sparse_view.candidates.columns().data(),
            sparse.sparse().columns().data());
}

TEST(DecisionViewTest, ViewsTheMask) {
  log::v1::Decision decision = TwoCandidates();
  decision.add_eligible(false);
  decision.add_eligible(true);
  ASSERT_OK_AND_ASSIGN(const DecisionView view, ViewDecision(decision));
  EXPECT_EQ(view.eligible.data(), decision.eligible().data());
  EXPECT_FALSE(view.is_eligible(0));
  EXPECT_OK(CheckDecidable(view));
  EXPECT_EQ(NumEligible(decision), 1u);
}

TEST(DecisionViewTest, NothingEligibleCannotBeDecided) {
  log::v1::Decision decision = TwoCandidates();
  decision.add_eligible(false);
  decision.add_eligible(false);
  ASSERT_OK_AND_ASSIGN(const DecisionView view, ViewDecision(decision));
  EXPECT_THAT(CheckDecidable(view),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("eligible has 2 entries and none is true")));
  EXPECT_EQ(NumEligible(decision), 0u);
}

TEST(DecisionViewTest, RefusesWhatContradictsTheFeatures) {
  log::v1::Decision decision = TwoCandidates();
  decision.add_eligible(true);
  EXPECT_THAT(ViewQuery(decision),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("eligible has 1 entries, must have 2")));
  decision = TwoCandidates();
  decision.set_num_candidates(3);
  EXPECT_OK(ViewQuery(decision));
  EXPECT_THAT(ViewDecision(decision),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("num_candidates is 3, must be 2")));
  decision = TwoCandidates();
  decision.set_dense_values(3, std::numeric_limits<float>::infinity());
  EXPECT_THAT(ViewQuery(decision), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("must be finite")));
  decision = TwoSparseCandidates();
  decision.mutable_sparse()->set_columns(1, 2);
  EXPECT_FALSE(ViewQuery(decision).ok());
}

TEST(DecisionViewTest, OnlyAggregationsWithoutAPolicyAreCertain) {
  log::v1::Decision decision = TwoCandidates();
  EXPECT_FALSE(IsCertain(decision));  // Uniform.
  decision.mutable_aggregation()->add_weights(1);
  EXPECT_TRUE(IsCertain(decision));
  decision.mutable_policy()->mutable_plackett_luce();
  EXPECT_FALSE(IsCertain(decision));
}

TEST(DecisionViewTest, ABaselineThatDoesNotDrawIsCertain) {
  log::v1::Decision decision = TwoCandidates();
  decision.mutable_policy()->mutable_softmax_selection();
  for (const auto mode :
       {model::v1::APPRENTICE, model::v1::SHADOW, model::v1::OFF}) {
    decision.mutable_baseline()->set_mode(mode);
    EXPECT_TRUE(IsOfBaseline(decision));
    EXPECT_TRUE(IsCertain(decision));
    decision.mutable_baseline()->set_log_propensity(0);
    EXPECT_TRUE(IsOfBaseline(decision));
    EXPECT_FALSE(IsCertain(decision));
    decision.mutable_baseline()->clear_log_propensity();
  }
  decision.mutable_baseline()->set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
  EXPECT_TRUE(IsCertain(decision));  // The model was not asked.
  decision.mutable_baseline()->set_model_log_propensity(-1);
  EXPECT_FALSE(IsOfBaseline(decision));
  EXPECT_FALSE(IsCertain(decision));
  decision.clear_baseline();
  EXPECT_FALSE(IsOfBaseline(decision));
}

TEST(DecisionViewTest, LabelsAreNoServedKind) {
  log::v1::Decision decision;
  EXPECT_EQ(ActionKindOf(decision), std::nullopt);
  decision.set_action_kind(log::v1::LABELS);
  EXPECT_EQ(ActionKindOf(decision), std::nullopt);
  decision.set_action_kind(log::v1::SUBSET);
  EXPECT_EQ(ActionKindOf(decision), ActionKind::kSubset);
}

}  // namespace
}  // namespace sortition
