#include "core/counterfactual/sequential/unit_rounds.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;

constexpr int64_t kWindow = 100;

struct Visit {
  uint64_t unit = 0;
  int64_t time_us = 0;
  double share = 0;
  bool is_canary = false;
  double reward = 0;
  bool has_unit = true;
};

std::vector<UnitRound> RoundsOf(const std::vector<Visit>& visits,
                                int64_t until_us, uint64_t* later = nullptr) {
  std::vector<UnitRound> given;
  UnitRounds rounds(kWindow,
                    [&](const UnitRound& round) { given.push_back(round); });
  for (const Visit& visit : visits) {
    rounds.Add({.unit = visit.unit,
                .has_unit = visit.has_unit,
                .time_us = visit.time_us,
                .share = visit.share,
                .is_canary = visit.is_canary},
               {&visit.reward, 1});
  }
  rounds.CloseUntil(until_us);
  if (later != nullptr) *later = rounds.num_later();
  return given;
}

TEST(UnitRoundsTest, AUnitEarnsTheMeanOfItsWindow) {
  uint64_t later = 0;
  const auto rounds = RoundsOf({{1, 0, 0.1, false, 1},
                                {2, 10, 0.1, true, 0.5},
                                {1, 50, 0.1, false, 0},
                                {1, 99, 0.1, false, 0.5},
                                {1, 100, 0.1, false, 1},
                                {1, 500, 0.1, false, 1}},
                               1000, &later);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].decisions, 3u);
  EXPECT_THAT(rounds[0].means, ElementsAre(0.5));
  EXPECT_DOUBLE_EQ(rounds[0].canary_probability, 0.1);
  EXPECT_FALSE(rounds[0].is_canary);
  EXPECT_THAT(rounds[1].means, ElementsAre(0.5));
  EXPECT_TRUE(rounds[1].is_canary);
  EXPECT_EQ(later, 2u);
}

TEST(UnitRoundsTest, DecisionsWithoutUnitAreRoundsOfTheirOwn) {
  const auto rounds =
      RoundsOf({{7, 0, 0.1, false, 1, false}, {7, 1, 0.1, true, 0, false}}, 1);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_TRUE(rounds[1].is_canary);
}

TEST(UnitRoundsTest, WhatWasGivenStaysWhenTheLogGrows) {
  std::vector<Visit> visits;
  for (int i = 0; i < 200; ++i) {
    const uint64_t unit = static_cast<uint64_t>(i * i % 37);
    const double share = i < 100 ? 0.1 : 0.5;
    const double place = static_cast<double>(unit) / 37;
    visits.push_back(
        {unit, i * 7, share, place < share, static_cast<double>(i % 3) / 2});
  }
  const auto all = RoundsOf(visits, 10000);
  for (const size_t known : {20u, 90u, 130u, 199u}) {
    const std::vector<Visit> before(visits.begin(),
                                    visits.begin() + static_cast<long>(known));
    const auto rounds = RoundsOf(before, before.back().time_us);
    ASSERT_LE(rounds.size(), all.size());
    for (size_t i = 0; i < rounds.size(); ++i) {
      EXPECT_EQ(rounds[i].decisions, all[i].decisions);
      EXPECT_EQ(rounds[i].means, all[i].means);
      EXPECT_EQ(rounds[i].canary_probability, all[i].canary_probability);
    }
  }
}

// A unit that visits in three stages, at each of its 1,000 possible places:
// whatever rounds there were, the next one is fair.
TEST(UnitRoundsTest, EachRoundIsFairGivenThoseBefore) {
  constexpr double kShares[] = {0.1, 0.5, 0.8};
  constexpr int kPlaces = 1000;
  double sums[3] = {};
  int counts[3] = {};
  for (int i = 0; i < kPlaces; ++i) {
    const double place = (i + 0.5) / kPlaces;
    std::vector<Visit> visits;
    for (int stage = 0; stage < 3; ++stage) {
      visits.push_back(
          {1, 1000 * stage, kShares[stage], place < kShares[stage], 1});
      visits.push_back(
          {1, 1000 * stage + 1, kShares[stage], place < kShares[stage], 1});
    }
    const auto rounds = RoundsOf(visits, 10000);
    // It is in the canary from one round on, and that is its last.
    for (size_t r = 0; r < rounds.size(); ++r) {
      const double q = rounds[r].canary_probability;
      sums[r] += rounds[r].is_canary ? 1 / q : -1 / (1 - q);
      ++counts[r];
      EXPECT_EQ(rounds[r].decisions, 2u);
      EXPECT_EQ(rounds[r].is_canary, r + 1 == rounds.size() && place < 0.8);
    }
  }
  EXPECT_THAT(counts, ElementsAre(1000, 900, 500));
  for (int r = 0; r < 3; ++r) EXPECT_NEAR(sums[r] / counts[r], 0, 1e-9) << r;
}

TEST(UnitRoundsTest, ReplicasThatLagBehindAddNothing) {
  uint64_t later = 0;
  const auto rounds = RoundsOf({{1, 0, 0.5, true, 1},
                                // Another replica has not yet moved on.
                                {1, 10, 0.1, false, 0},
                                {1, 20, 0.5, true, 1}},
                               1000, &later);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].decisions, 2u);
  EXPECT_THAT(rounds[0].means, ElementsAre(1));
  EXPECT_EQ(later, 1u);
}

}  // namespace
}  // namespace sortition
