// Reports of what was shown: pages, and how far the user looked.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"
#include "tests/sidecar/join/shown_reports.h"

namespace sortition {
namespace {

using config::v1::JoinOptions;
using log::v1::Shown;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kNoSegment = std::numeric_limits<uint32_t>::max();

class JoinerShownTest : public JoinerTest {
 protected:
  void Report(const std::string& id, double seconds, Shown shown) {
    shown.set_decision_id(id);
    shown.set_time_us(At(seconds));
    joiner().AddShown(NextPlace(), shown);
    Collect();
  }
  // Begins with a new joiner.
  void StartAgain() {
    joiner_.reset();
    closed_.clear();
    segment_ = 1;
  }
  // Closes all windows, and returns what was shown of the only decision.
  Shown TheShown() {
    Advance(100);
    EXPECT_EQ(closed_.size(), 1u);
    if (closed_.size() != 1 || !closed_[0].shown.has_value()) {
      ADD_FAILURE() << "no report";
      return {};
    }
    return *closed_[0].shown;
  }
};

TEST_F(JoinerShownTest, PagesAndViewportsBecomeOne) {
  Decide("a", 0);
  Report("a", 1, Viewport(1));
  Report("a", 2, Page(2, {7, 8}));
  Report("a", 3, Page(0, {5, 6}));
  Report("a", 4, Viewport(3));
  Report("a", 5, Viewport(2));
  Feed("f", "a", 6, 0.5, 2);
  const Shown shown = TheShown();
  EXPECT_THAT(shown.shown(), ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(shown.first_rank(), 0u);
  EXPECT_EQ(shown.seen_ranks(), 3u);
  // That of the page from rank 2 on: the first viewport report does not count.
  EXPECT_EQ(shown.time_us(), At(2));
  EXPECT_EQ(closed_[0].records.size(), 4u);
  const auto& rank_rewards = closed_[0].rank_rewards;
  ASSERT_EQ(rank_rewards.size(), 1u);
  EXPECT_EQ(rank_rewards[0].rank(), 2u);
  EXPECT_EQ(joiner().counts().shown, 2u);
  EXPECT_EQ(joiner().counts().viewports, 3u);
  EXPECT_EQ(joiner().counts().unused_shown, 0u);
  EXPECT_EQ(joiner().counts().feedback, 1u);
}

// What the dropped page says of how far the user looked counts all the same.
TEST_F(JoinerShownTest, TheFirstReportOfAPageCounts) {
  Decide("a", 0);
  Report("a", 1, Page(0, {5, 6}));
  Shown again = Page(0, {6, 5});
  again.set_seen_ranks(2);
  Report("a", 2, again);
  Report("a", 3, Page(2, {7}));
  Report("a", 4, Page(2, {8}));
  const Shown shown = TheShown();
  EXPECT_THAT(shown.shown(), ElementsAre(5, 6, 7));
  EXPECT_EQ(shown.seen_ranks(), 2u);
  EXPECT_EQ(joiner().counts().shown, 2u);
  EXPECT_EQ(joiner().counts().unused_shown, 2u);
}

TEST_F(JoinerShownTest, PagesBeyondAGapAreCounted) {
  Decide("a", 0);
  Report("a", 1, Page(0, {5}));
  Report("a", 2, Page(2, {7}));
  EXPECT_THAT(TheShown().shown(), ElementsAre(5));
  EXPECT_EQ(joiner().counts().shown, 2u);
  EXPECT_EQ(joiner().counts().pages_left_out, 1u);
}

TEST_F(JoinerShownTest, OnlyTheWindowCounts) {
  Report("a", 0, Page(1, {6}));  // Waits for its decision.
  Report("a", 0, Viewport(2));
  Decide("a", 1);
  Report("a", 11, Page(0, {5}));
  Report("a", 11.000001, Page(2, {7}));
  Report("a", 11.000001, Viewport(3));
  Report("nobody", 11, Viewport(9));
  const Shown shown = TheShown();
  EXPECT_THAT(shown.shown(), ElementsAre(5, 6));
  EXPECT_EQ(shown.seen_ranks(), 2u);
  EXPECT_EQ(joiner().counts().shown, 2u);
  EXPECT_EQ(joiner().counts().viewports, 1u);
  EXPECT_EQ(joiner().counts().unused_shown, 3u);
}

TEST_F(JoinerShownTest, OnlyIfShownAsksWhetherAnythingWas) {
  options_.set_only_if_shown(true);
  for (const char* id : {"page", "later page", "viewport", "not", "not, page",
                         "not, viewport", "silent"}) {
    Decide(id, 0);
  }
  Report("page", 1, Page(0, {1}));
  Report("later page", 1, Page(10, {1}));
  Report("viewport", 1, Viewport(1));
  for (const char* id : {"not", "not, page", "not, viewport"}) {
    Report(id, 1, NotShown());
  }
  Report("not, page", 1, Page(10, {1}));
  Report("not, viewport", 1, Viewport(1));
  Advance(20);
  std::vector<bool> wanted;
  for (const ClosedDecision& closed : closed_) {
    wanted.push_back(closed.is_wanted);
  }
  EXPECT_THAT(wanted,
              ElementsAre(true, true, true, false, false, false, false));
}

// Nothing is what an abstention shows, so a report of nothing says that it was
// carried out. An abstention that no report came for is left out, as every
// decision is.
TEST_F(JoinerShownTest, OnlyIfShownKeepsAbstentionsThatAreReported) {
  options_.set_only_if_shown(true);
  for (const char* id : {"not", "viewport", "something else", "silent"}) {
    Abstain(id, 0);
  }
  Report("not", 1, NotShown());
  Report("viewport", 1, Viewport(1));
  Report("something else", 1, Page(0, {1}));
  Advance(20);
  std::vector<bool> wanted;
  for (const ClosedDecision& closed : closed_) {
    wanted.push_back(closed.is_wanted);
  }
  EXPECT_THAT(wanted, ElementsAre(true, true, true, false));
}

// A world of known truth: an abstention earns 0.3, candidate 0 earns 0.9 and
// candidate 1 earns 0.1 on average. The logging policy abstains with 1/2 and
// takes each candidate with 1/4. Whether the page reaches the user, with 0.6,
// depends on nothing. The importance-weighted mean of a policy over what
// only_if_shown keeps must be the worth of the policy; leaving the abstentions
// out takes 0.9 / 2 and 0.1 / 2 for the worth of a policy that abstains half of
// the time.
TEST_F(JoinerShownTest, OnlyIfShownDoesNotBiasEstimatesByAbstentions) {
  options_.set_only_if_shown(true);
  options_.set_default_reward(0);
  constexpr int kDecisions = 20000;
  const double logged[] = {0.25, 0.25, 0.5};
  const double worth[] = {0.9, 0.1, 0.3};
  const double target[] = {0.4, 0.1, 0.5};
  std::mt19937 random(7);
  const auto uniform = [&random] {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
  std::map<int64_t, size_t> actions;  // By time.
  for (int i = 0; i < kDecisions; ++i) {
    const std::string id = "d" + std::to_string(i);
    const double u = uniform();
    const size_t action = u < logged[0] ? 0 : u < logged[0] + logged[1] ? 1 : 2;
    const double seconds = i * 0.001;
    actions[At(seconds)] = action;
    action == 2 ? Abstain(id, seconds) : Decide(id, seconds);
    const bool is_seen = uniform() < 0.6;
    if (!is_seen) continue;
    Report(id, seconds,
           action == 2 ? NotShown() : Page(0, {static_cast<uint32_t>(action)}));
    if (uniform() < worth[action]) Feed("f" + id, id, seconds, 1);
  }
  Advance(1000);
  double sum = 0;
  double squares = 0;
  double kept = 0;
  for (const ClosedDecision& closed : closed_) {
    if (!closed.is_wanted) continue;
    const size_t action = actions.at(closed.time_us);
    const double value = closed.reward * target[action] / logged[action];
    ++kept;
    sum += value;
    squares += value * value;
  }
  ASSERT_EQ(closed_.size(), static_cast<size_t>(kDecisions));
  const double mean = sum / kept;
  const double error = std::sqrt((squares / kept - mean * mean) / kept);
  // 0.4 * 0.9 + 0.1 * 0.1 + 0.5 * 0.3 = 0.52, within five standard errors.
  // Without the abstentions it is 2 * (0.36 + 0.01) = 0.74.
  EXPECT_NEAR(mean, 0.52, 5 * error);
  EXPECT_LT(error, 0.01);
  EXPECT_NEAR(kept, 0.6 * kDecisions, 5 * std::sqrt(0.24 * kDecisions));
}

// Pages of different ranks, two of which hold a rank twice, one beyond a gap,
// and reports of viewports, of which two say the same at different times.
TEST_F(JoinerShownTest, TheOrderOfArrivalDoesNotMatter) {
  Shown with_seen = Page(4, {9, 8});
  with_seen.set_seen_ranks(6);
  const std::vector<Shown> reports = {Page(0, {1, 2, 3}), Page(2, {5, 4}),
                                      with_seen,          Page(9, {7}),
                                      Viewport(7),        Viewport(7)};
  const std::vector<double> times = {3, 2, 5, 1, 4, 2.5};
  std::vector<size_t> order(reports.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    StartAgain();
    Decide("a", 0);
    for (const size_t i : order) Report("a", times[i], reports[i]);
    const Shown shown = TheShown();
    ASSERT_THAT(shown.shown(), ElementsAre(1, 2, 3, 4, 9, 8));
    ASSERT_EQ(shown.first_rank(), 0u);
    ASSERT_EQ(shown.seen_ranks(), 7u);
    ASSERT_EQ(shown.time_us(), At(2));
    ASSERT_EQ(joiner().counts().shown, 4u);
    ASSERT_EQ(joiner().counts().pages_left_out, 1u);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Of 120 pages of one rank the first hundred ranks are kept, from whatever end
// they come. What the last one says of the viewport counts.
TEST_F(JoinerShownTest, KeepsAHundredPages) {
  constexpr uint32_t kPages = 120;
  std::vector<uint32_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  for (const bool is_reversed : {false, true}) {
    StartAgain();
    Decide("a", 0);
    for (uint32_t i = 0; i < kPages; ++i) {
      const uint32_t rank = is_reversed ? kPages - 1 - i : i;
      Shown page = Page(rank, {rank});
      if (rank == kPages - 1) page.set_seen_ranks(kPages);
      Report("a", 1, page);
    }
    const Shown shown = TheShown();
    EXPECT_THAT(shown.shown(), testing::ElementsAreArray(expected));
    EXPECT_EQ(shown.seen_ranks(), kPages);
    EXPECT_EQ(joiner().counts().shown, 100u);
    EXPECT_EQ(joiner().counts().unused_shown, 20u);
    EXPECT_EQ(closed_[0].records.size(), 101u);
    EXPECT_EQ(joiner().OldestNeededSegment(), kNoSegment);
  }
}

// Three pages of which the first one takes most of the bytes that there are:
// the second does not fit, and the third is not kept without it, though it
// would.
TEST_F(JoinerShownTest, KeepsAMebibyteOfPages) {
  const auto page = [](uint32_t first_rank, size_t size) {
    // Takes 3 bytes each.
    std::vector<uint32_t> documents(size);
    std::iota(documents.begin(), documents.end(), 20000 + first_rank);
    return Page(first_rank, documents);
  };
  const std::vector<Shown> pages = {page(0, 300000), page(300000, 100000),
                                    page(400000, 10)};
  std::vector<size_t> order = {0, 1, 2};
  do {
    StartAgain();
    Decide("a", 0);
    for (const size_t i : order) Report("a", 1, pages[i]);
    EXPECT_EQ(TheShown().shown_size(), 300000);
    EXPECT_EQ(closed_[0].records.size(), 1u);
    EXPECT_EQ(joiner().OldestNeededSegment(), kNoSegment);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Of reports of viewports one is kept, however many come.
TEST_F(JoinerShownTest, NeedsTheSegmentsOfWhatItKeepsAlone) {
  Report("a", 0.5, Viewport(3));
  segment_ = 2;
  Report("a", 0.6, Page(0, {1}));
  segment_ = 3;
  Decide("a", 1);
  EXPECT_EQ(joiner().OldestNeededSegment(), 1u);
  segment_ = 4;
  Report("a", 2, Viewport(2));
  EXPECT_EQ(joiner().OldestNeededSegment(), 1u);
  Report("a", 3, Viewport(5));  // In place of that in segment 1.
  EXPECT_EQ(joiner().OldestNeededSegment(), 2u);
  segment_ = 5;
  Report("a", 4, Page(0, {2}));  // Does not count.
  EXPECT_EQ(joiner().OldestNeededSegment(), 2u);
  EXPECT_THAT(TheShown().shown(), ElementsAre(1));
  EXPECT_EQ(closed_[0].records.size(), 2u);
  EXPECT_EQ(joiner().OldestNeededSegment(), kNoSegment);
}

// What a joiner says does not depend on segments that it has not needed any
// more: after a restart they may be gone.
TEST_F(JoinerShownTest, WhatWasReplacedMayBeMissingAfterARestart) {
  std::vector<std::string> results;
  for (const bool is_missing : {false, true}) {
    StartAgain();
    if (!is_missing) Report("a", 0.5, Viewport(3));
    Decide("a", 1);
    if (!is_missing) Report("a", 2, Viewport(4));
    Report("a", 3, Viewport(5));
    results.push_back(TheShown().SerializeAsString());
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(JoinerShownTest, AReportAfterTheTupleIsUnused) {
  Decide("a", 0);
  Advance(12);
  Report("a", 9, Viewport(3));
  Report("a", 9, Page(0, {1}));
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_FALSE(closed_[0].shown.has_value());
  EXPECT_EQ(joiner().counts().unused_shown, 2u);
  EXPECT_THAT(late_, IsEmpty());
}

}  // namespace
}  // namespace sortition
