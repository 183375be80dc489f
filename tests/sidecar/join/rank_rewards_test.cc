// Feedback that names a candidate gets the rank at which the user found it.
#include "sidecar/join/rank_rewards.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/shown_reports.h"

namespace sortition {
namespace {

using config::v1::JoinOptions;
using testing::ElementsAre;
using testing::IsEmpty;

log::v1::Decision DecisionOf(const std::vector<int32_t>& action) {
  log::v1::Decision decision;
  decision.mutable_action()->Assign(action.begin(), action.end());
  return decision;
}

TEST(RankOfCandidateTest, IsThePlaceInTheOrder) {
  const log::v1::Decision decision = DecisionOf({4, 0, 2});
  EXPECT_EQ(RankOfCandidate(4, decision, nullptr), 0u);
  EXPECT_EQ(RankOfCandidate(2, decision, nullptr), 2u);
  EXPECT_EQ(RankOfCandidate(1, decision, nullptr), std::nullopt);
  // As a signed number it would be the -1 of a selection that abstained.
  EXPECT_EQ(RankOfCandidate(4294967295u, DecisionOf({-1}), nullptr),
            std::nullopt);
}

// The decided order is 4, 0, 2, 1; the user saw 2 and 4 at its top.
TEST(RankOfCandidateTest, WhatWasShownOverrulesTheOrder) {
  const log::v1::Decision decision = DecisionOf({4, 0, 2, 1});
  const log::v1::Shown shown = Page(0, {2, 4});
  EXPECT_EQ(RankOfCandidate(2, decision, &shown), 0u);
  EXPECT_EQ(RankOfCandidate(4, decision, &shown), 1u);
  // Rank 1 showed candidate 4, so candidate 0 was nowhere.
  EXPECT_EQ(RankOfCandidate(0, decision, &shown), std::nullopt);
  // No report is about rank 3.
  EXPECT_EQ(RankOfCandidate(1, decision, &shown), 3u);
}

TEST(RankOfCandidateTest, LaterPagesBeginAtTheirRank) {
  const log::v1::Decision decision = DecisionOf({4, 0, 2, 1});
  const log::v1::Shown shown = Page(2, {7, 2});
  EXPECT_EQ(RankOfCandidate(7, decision, &shown), 2u);
  EXPECT_EQ(RankOfCandidate(2, decision, &shown), 3u);
  EXPECT_EQ(RankOfCandidate(4, decision, &shown), 0u);
  EXPECT_EQ(RankOfCandidate(1, decision, &shown), std::nullopt);
}

void AddRecord(double reward, std::optional<uint32_t> rank,
               std::optional<uint32_t> index, ClosedDecision* closed) {
  log::v1::Feedback feedback;
  feedback.set_reward(reward);
  if (rank.has_value()) feedback.set_rank(*rank);
  if (index.has_value()) feedback.set_index(*index);
  JoinedRecord record;
  record.reward = reward;
  record.rank = rank;
  record.index = index;
  record.bytes = feedback.SerializeAsString();
  closed->records.push_back(record);
}

JoinOptions OptionsOf(JoinOptions::Repeats repeats) {
  JoinOptions options;
  options.set_aggregation(JoinOptions::SUM);
  options.set_repeats(repeats);
  return options;
}

std::vector<std::string> RanksOf(const ClosedDecision& closed) {
  std::vector<std::string> ranks;
  for (const log::v1::RankReward& rank : closed.rank_rewards) {
    ranks.push_back(
        absl::StrCat(rank.rank(), ":", rank.reward(), " of ", rank.count()));
  }
  return ranks;
}

// Candidate 0 has rank 1: 0.5 by its index and 2 by its rank make 2.5 of two.
// Candidate 4 has rank 0. Candidate 9 is not in the order, and 8 names nothing.
TEST(RankRewardsTest, FeedbackByIndexAndByRankIsOfOneRank) {
  ClosedDecision closed;
  AddRecord(0.5, std::nullopt, 0, &closed);
  AddRecord(2, 1, std::nullopt, &closed);
  AddRecord(0.25, std::nullopt, 4, &closed);
  AddRecord(16, std::nullopt, 9, &closed);
  AddRecord(8, std::nullopt, std::nullopt, &closed);
  SetRewards(DecisionOf({4, 0, 2}).SerializeAsString(),
             OptionsOf(JoinOptions::EACH), &closed);
  EXPECT_THAT(RanksOf(closed), ElementsAre("0:0.25 of 1", "1:2.5 of 2"));
  EXPECT_EQ(closed.reward, 26.75);
}

// Candidate 0 at rank 1 was clicked by its index, by its rank, and by its index
// again: the last one counts. Candidates 9 and 7 have no rank and are two.
TEST(RankRewardsTest, RepeatsCountOnceHoweverTheyNameTheRank) {
  ClosedDecision closed;
  AddRecord(0.5, std::nullopt, 0, &closed);
  AddRecord(2, 1, std::nullopt, &closed);
  AddRecord(1, std::nullopt, 0, &closed);
  AddRecord(16, std::nullopt, 9, &closed);
  AddRecord(32, std::nullopt, 9, &closed);
  AddRecord(64, std::nullopt, 7, &closed);
  AddRecord(128, std::nullopt, std::nullopt, &closed);
  SetRewards(DecisionOf({4, 0, 2}).SerializeAsString(),
             OptionsOf(JoinOptions::ONCE_PER_RANK), &closed);
  EXPECT_THAT(RanksOf(closed), ElementsAre("1:1 of 1"));
  EXPECT_EQ(closed.reward, 1 + 32 + 64 + 128);
}

TEST(RankRewardsTest, ADecisionThatCannotBeReadHasNoRanks) {
  ClosedDecision closed;
  AddRecord(1, std::nullopt, 0, &closed);
  SetRewards("\xff", OptionsOf(JoinOptions::EACH), &closed);
  EXPECT_THAT(RanksOf(closed), IsEmpty());
  EXPECT_EQ(closed.reward, 1);
}

}  // namespace
}  // namespace sortition
