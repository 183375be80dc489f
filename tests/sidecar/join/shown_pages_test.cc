#include "sidecar/join/shown_pages.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/shown_reports.h"

namespace sortition {
namespace {

using log::v1::Shown;
using testing::ElementsAre;

TEST(MergeShownTest, OneReportStaysAsItIs) {
  Shown newer = Page(0, {3});
  newer.GetReflection()->MutableUnknownFields(&newer)->AddVarint(500, 7);
  for (const Shown& report :
       {Page(0, {4, 2}), Page(10, {4, 2}), Page(3, {1}, 5, 9), Page(0, {}),
        Viewport(3), NotShown(), newer}) {
    const MergedShown merged = MergeShown({report});
    EXPECT_EQ(merged.shown.SerializeAsString(), report.SerializeAsString())
        << report.ShortDebugString();
    EXPECT_EQ(merged.pages_left_out, 0u);
  }
}

TEST(MergeShownTest, PagesThatFollowEachOtherBecomeOne) {
  const MergedShown merged =
      MergeShown({Page(2, {7}), Page(3, {1, 0}), Page(0, {4, 2})});
  EXPECT_THAT(merged.shown.shown(), ElementsAre(4, 2, 7, 1, 0));
  EXPECT_EQ(merged.shown.first_rank(), 0u);
  EXPECT_FALSE(merged.shown.has_seen_ranks());
  EXPECT_EQ(merged.pages_left_out, 0u);
}

TEST(MergeShownTest, WithoutThePageFromTheTopItBeginsWithTheFirst) {
  const MergedShown merged = MergeShown({Page(12, {3}), Page(10, {1, 2})});
  EXPECT_THAT(merged.shown.shown(), ElementsAre(1, 2, 3));
  EXPECT_EQ(merged.shown.first_rank(), 10u);
}

// Ranks 0 and 1 are there, 2 is not: the pages from 3 and 4 on are left out,
// and their times, but not that the user looked at the first 5 ranks.
TEST(MergeShownTest, PagesBeyondAGapAreLeftOut) {
  const MergedShown merged =
      MergeShown({Page(4, {6}, 1, 5), Page(3, {5}, 2), Page(0, {1, 2}, 3, 1)});
  EXPECT_THAT(merged.shown.shown(), ElementsAre(1, 2));
  EXPECT_EQ(merged.shown.seen_ranks(), 5u);
  EXPECT_EQ(merged.shown.time_us(), 3);
  EXPECT_EQ(merged.pages_left_out, 2u);
}

// The second page says something of ranks 1 to 4, the third only of rank 2.
TEST(MergeShownTest, ARankOfTwoPagesIsThatOfTheOneThatBeginsEarlier) {
  const MergedShown merged =
      MergeShown({Page(1, {9, 8, 7, 6}), Page(0, {1, 2, 3}), Page(2, {5})});
  EXPECT_THAT(merged.shown.shown(), ElementsAre(1, 2, 3, 7, 6));
  EXPECT_EQ(merged.pages_left_out, 0u);
}

TEST(MergeShownTest, TheLargestSeenRanksCount) {
  EXPECT_EQ(
      MergeShown({Page(0, {1, 2, 3}, 1, 2), Viewport(3)}).shown.seen_ranks(),
      3u);
  EXPECT_EQ(
      MergeShown({Page(0, {1, 2, 3}, 1, 2), Viewport(1)}).shown.seen_ranks(),
      2u);
  EXPECT_EQ(MergeShown({Page(0, {1}, 1, 1), Page(1, {2}, 1, 2), Page(2, {3})})
                .shown.seen_ranks(),
            2u);
}

TEST(MergeShownTest, TheTimeIsThatOfTheEarliestReport) {
  EXPECT_EQ(MergeShown({Page(0, {1}, 7), Page(1, {2}, 5), Viewport(1, 6)})
                .shown.time_us(),
            5);
  EXPECT_EQ(MergeShown({Page(0, {1}, 7), Viewport(1, 6)}).shown.time_us(), 6);
}

TEST(MergeShownTest, NothingThatWasShownStandsAlone) {
  for (const Shown& nothing : {NotShown(9), Page(0, {}, 9)}) {
    const MergedShown merged =
        MergeShown({Page(1, {3}, 1, 2), Viewport(4, 2), nothing});
    EXPECT_EQ(merged.shown.SerializeAsString(), nothing.SerializeAsString());
    EXPECT_EQ(merged.pages_left_out, 1u);
  }
}

// A log of others may hold any number.
TEST(MergeShownTest, LargeRanksDoNotOverflow) {
  const uint32_t most = std::numeric_limits<uint32_t>::max();
  const MergedShown merged = MergeShown({Page(most, {1, 2}), Page(0, {3})});
  EXPECT_THAT(merged.shown.shown(), ElementsAre(3));
  EXPECT_EQ(merged.pages_left_out, 1u);
  EXPECT_THAT(
      MergeShown({Page(most, {1, 2}), Page(most - 1, {4})}).shown.shown(),
      ElementsAre(4, 1, 2));
}

// For random pages: the result says of each rank what the first page says that
// has it, up to the first rank that none has, in whatever order they come.
TEST(MergeShownTest, TheOrderOfReportsDoesNotMatter) {
  std::mt19937 random(1);
  const auto below = [&random](uint32_t bound) {
    return static_cast<uint32_t>(random() % bound);
  };
  size_t left_out = 0;
  size_t with_several_pages = 0;
  for (int round = 0; round < 500; ++round) {
    std::map<uint32_t, Shown> pages;
    for (uint32_t n = 1 + below(4); n > 0; --n) {
      std::vector<uint32_t> documents(1 + below(4));
      for (uint32_t& document : documents) document = below(50);
      const uint32_t first_rank = below(9);
      pages[first_rank] = Page(first_rank, documents, below(9), below(9));
    }
    std::vector<Shown> reports;
    for (const auto& [rank, page] : pages) reports.push_back(page);
    if (below(2) == 0) reports.push_back(Viewport(1 + below(9), below(9)));
    const MergedShown merged = MergeShown(reports);
    left_out += merged.pages_left_out;
    with_several_pages += pages.size() > 1;

    std::vector<uint32_t> expected;
    const uint32_t first = pages.begin()->first;
    for (std::optional<uint32_t> document = first; document.has_value();) {
      document.reset();
      const auto rank = first + static_cast<uint32_t>(expected.size());
      for (const auto& [from, page] : pages) {
        const auto size = static_cast<uint32_t>(page.shown_size());
        if (document.has_value() || rank < from || rank >= from + size)
          continue;
        document = page.shown(static_cast<int>(rank - from));
      }
      if (document.has_value()) expected.push_back(*document);
    }
    EXPECT_EQ(merged.shown.first_rank(), first);
    EXPECT_THAT(merged.shown.shown(), testing::ElementsAreArray(expected));

    std::vector<size_t> order(reports.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      std::vector<Shown> permuted;
      for (const size_t i : order) permuted.push_back(reports[i]);
      const MergedShown again = MergeShown(permuted);
      ASSERT_EQ(again.shown.SerializeAsString(),
                merged.shown.SerializeAsString());
      ASSERT_EQ(again.pages_left_out, merged.pages_left_out);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_GT(left_out, 100u);
  EXPECT_GT(with_several_pages, 300u);
}

}  // namespace
}  // namespace sortition
