#include "io/segments/decision_view.h"

#include <limits>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/shown_action.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using log::v1::BanditTuple;

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
              IsInvalidArgument("eligible has 2 entries and none is true"));
  EXPECT_EQ(NumEligible(decision), 0u);
}

TEST(DecisionViewTest, RefusesWhatContradictsTheFeatures) {
  log::v1::Decision decision = TwoCandidates();
  decision.add_eligible(true);
  EXPECT_THAT(ViewQuery(decision),
              IsInvalidArgument("eligible has 1 entries, must have 2"));
  decision = TwoCandidates();
  decision.set_num_candidates(3);
  EXPECT_OK(ViewQuery(decision));
  EXPECT_THAT(ViewDecision(decision),
              IsInvalidArgument("num_candidates is 3, must be 2"));
  decision = TwoCandidates();
  decision.set_dense_values(3, std::numeric_limits<float>::infinity());
  EXPECT_THAT(ViewQuery(decision), IsInvalidArgument("must be finite"));
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

BanditTuple Decided(log::v1::ActionKind kind, const std::vector<int>& action) {
  BanditTuple tuple;
  tuple.mutable_decision()->set_action_kind(kind);
  tuple.mutable_decision()->mutable_action()->Assign(action.begin(),
                                                     action.end());
  return tuple;
}

// An order of four ranks of which a page was shown.
BanditTuple Paged(uint32_t first_rank, const std::vector<uint32_t>& documents,
                  std::optional<uint32_t> seen_ranks = std::nullopt) {
  BanditTuple tuple = Decided(log::v1::RANK, {7, 3, 5, 1});
  log::v1::Shown& shown = *tuple.mutable_shown();
  shown.set_first_rank(first_rank);
  shown.mutable_shown()->Assign(documents.begin(), documents.end());
  if (seen_ranks.has_value()) shown.set_seen_ranks(*seen_ranks);
  return tuple;
}

struct PageCase {
  uint32_t first_rank;
  std::vector<uint32_t> documents;
  bool differs;
  uint32_t shown_ranks;
};

TEST(ShownActionTest, ComparesAPageWithTheActionFromItsFirstRankOn) {
  const uint32_t most = std::numeric_limits<uint32_t>::max();
  const std::vector<PageCase> cases = {
      {0, {7, 3, 5, 1}, false, 4},    // All of it.
      {0, {7, 3}, false, 2},          // The first page.
      {2, {5}, false, 3},             // The user has passed ranks 0 and 1.
      {3, {1}, false, 4},             //
      {0, {3, 7}, true, 0},           // Two ranks changed places.
      {0, {7, 5, 3}, true, 1},        // The first one agrees.
      {2, {1, 5}, true, 2},           //
      {2, {7, 3}, true, 2},           // The first page on the second.
      {0, {7, 3, 5, 1, 9}, true, 4},  // More than was decided.
      {3, {1, 2}, true, 4},           //
      {4, {1}, true, 4},              //
      {9, {1}, true, 4},              //
      {most, {1, 2, 3}, true, 4},     //
      {0, {4294967295}, true, 0}};    // Not an abstention.
  for (const PageCase& page : cases) {
    const BanditTuple tuple = Paged(page.first_rank, page.documents);
    EXPECT_EQ(ShownDiffers(tuple), page.differs) << tuple.ShortDebugString();
    EXPECT_EQ(ShownRanks(tuple), page.shown_ranks) << tuple.ShortDebugString();
    EXPECT_EQ(SeenRanks(tuple), page.shown_ranks) << tuple.ShortDebugString();
  }
}

TEST(ShownActionTest, WithoutAReportAllRanksCountAsShown) {
  const BanditTuple tuple = Decided(log::v1::RANK, {7, 3, 5, 1});
  EXPECT_FALSE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 4u);
  EXPECT_EQ(SeenRanks(tuple), 4u);
}

TEST(ShownActionTest, AViewportSaysThatTheActionWasShown) {
  for (uint32_t seen = 1; seen <= 6; ++seen) {
    const BanditTuple tuple = Paged(0, {}, seen);
    EXPECT_TRUE(IsViewportOnly(tuple.shown()));
    EXPECT_FALSE(ShownDiffers(tuple));
    EXPECT_EQ(ShownRanks(tuple), 4u);
    EXPECT_EQ(SeenRanks(tuple), seen < 4 ? seen : 4);
  }
}

TEST(ShownActionTest, NoMoreIsSeenThanIsShown) {
  EXPECT_EQ(SeenRanks(Paged(0, {7, 3}, 1)), 1u);
  EXPECT_EQ(SeenRanks(Paged(0, {7, 3}, 3)), 2u);
  EXPECT_EQ(SeenRanks(Paged(2, {5}, 1)), 1u);
  EXPECT_EQ(SeenRanks(Paged(2, {5}, 4)), 3u);
  EXPECT_EQ(SeenRanks(Paged(0, {3}, 1)), 0u);  // Something else was.
}

TEST(ShownActionTest, NothingShownIsNoRank) {
  BanditTuple tuple = Paged(0, {});
  EXPECT_FALSE(IsViewportOnly(tuple.shown()));
  EXPECT_TRUE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 0u);
  tuple.mutable_shown()->set_not_shown(true);
  EXPECT_TRUE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 0u);
  EXPECT_EQ(SeenRanks(tuple), 0u);
  // No server logs that.
  tuple.mutable_shown()->set_seen_ranks(2);
  EXPECT_FALSE(IsViewportOnly(tuple.shown()));
  EXPECT_TRUE(ShownDiffers(tuple));
  EXPECT_EQ(SeenRanks(tuple), 0u);
}

TEST(ShownActionTest, AnAbstentionHasNoRanks) {
  BanditTuple tuple = Decided(log::v1::SELECT, {-1});
  EXPECT_EQ(NumRanks(tuple.decision()), 0u);
  EXPECT_EQ(ShownRanks(tuple), 0u);
  tuple.mutable_shown()->set_not_shown(true);
  EXPECT_FALSE(ShownDiffers(tuple));
  tuple.mutable_shown()->set_not_shown(false);
  EXPECT_FALSE(ShownDiffers(tuple));
  tuple.mutable_shown()->add_shown(0);
  EXPECT_TRUE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 0u);
}

TEST(ShownActionTest, ASelectionHasOneRank) {
  BanditTuple tuple = Decided(log::v1::SELECT, {2});
  EXPECT_EQ(NumRanks(tuple.decision()), 1u);
  tuple.mutable_shown()->add_shown(2);
  EXPECT_FALSE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 1u);
  tuple.mutable_shown()->set_shown(0, 1);
  EXPECT_TRUE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 0u);
}

// A later page of a subset stands for the members before it, whichever they
// are.
TEST(ShownActionTest, ASubsetHasNoOrder) {
  BanditTuple tuple = Decided(log::v1::SUBSET, {1, 4, 6});
  const auto show = [&tuple](uint32_t first_rank,
                             const std::vector<uint32_t>& documents) {
    tuple.mutable_shown()->set_first_rank(first_rank);
    tuple.mutable_shown()->mutable_shown()->Assign(documents.begin(),
                                                   documents.end());
    EXPECT_EQ(ShownRanks(tuple), ShownDiffers(tuple) ? 0u : 3u);
    return !ShownDiffers(tuple);
  };
  EXPECT_TRUE(show(0, {6, 1, 4}));
  EXPECT_FALSE(show(0, {6, 1}));
  EXPECT_FALSE(show(0, {6, 1, 4, 2}));
  EXPECT_FALSE(show(0, {6, 1, 2}));
  EXPECT_TRUE(show(2, {1}));
  EXPECT_FALSE(show(2, {2}));
  EXPECT_FALSE(show(1, {1}));
  EXPECT_FALSE(show(0, {}));
  tuple.mutable_shown()->set_seen_ranks(2);
  EXPECT_FALSE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 3u);
  EXPECT_EQ(SeenRanks(tuple), 2u);
}

TEST(ShownActionTest, ShowingNothingIsRightForAnEmptySubset) {
  BanditTuple tuple = Decided(log::v1::SUBSET, {});
  tuple.mutable_shown()->set_not_shown(true);
  EXPECT_FALSE(ShownDiffers(tuple));
  EXPECT_EQ(ShownRanks(tuple), 0u);
}

}  // namespace
}  // namespace sortition
