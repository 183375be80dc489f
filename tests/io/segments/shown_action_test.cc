#include "io/segments/shown_action.h"

#include <limits>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

using log::v1::BanditTuple;

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
