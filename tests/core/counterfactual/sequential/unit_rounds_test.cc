#include "core/counterfactual/sequential/unit_rounds.h"

#include <cmath>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/sequential/arm_comparison.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kWindow = 100;

struct Visit {
  uint64_t unit = 0;
  int64_t time_us = 0;
  double share = 0;
  double place = 0;
  double reward = 0;
  bool is_censored = false;
  bool has_unit = true;
};

void Pass(const std::vector<Visit>& visits, UnitRounds* rounds) {
  rounds->BeginPass();
  for (const Visit& visit : visits) {
    const double outcome = visit.is_censored ? kUnknownOutcome : visit.reward;
    rounds->Add({.unit = visit.unit,
                 .has_unit = visit.has_unit,
                 .time_us = visit.time_us,
                 .share = visit.share,
                 .place = visit.place,
                 .is_canary = visit.place < visit.share},
                {&outcome, 1});
  }
}

struct Closed {
  UnitRound round;
  RoundOutcome outcome;
};

std::vector<Closed> CloseUntil(int64_t until_us, UnitRounds* rounds) {
  std::vector<Closed> closed;
  for (const RoundOutcome& outcome : rounds->CloseUntil(0, until_us)) {
    closed.push_back({rounds->rounds()[outcome.round], outcome});
  }
  return closed;
}

std::vector<Closed> RoundsOf(const std::vector<Visit>& visits,
                             int64_t until_us) {
  UnitRounds rounds(kWindow, 1);
  Pass(visits, &rounds);
  return CloseUntil(until_us, &rounds);
}

TEST(UnitRoundsTest, AUnitEarnsTheMeanOfItsWindow) {
  const auto rounds = RoundsOf({{1, 0, 0.1, 0.7, 1},
                                {2, 10, 0.1, 0.05, 0.5},
                                {1, 50, 0.1, 0.7, 0},
                                {1, 99, 0.1, 0.7, 0.5},
                                {1, 100, 0.1, 0.7, 1},
                                {1, 500, 0.1, 0.7, 1}},
                               1000);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].outcome.decisions, 3u);
  EXPECT_DOUBLE_EQ(rounds[0].outcome.mean, 0.5);
  EXPECT_DOUBLE_EQ(rounds[0].round.canary_probability, 0.1);
  EXPECT_FALSE(rounds[0].round.is_canary);
  EXPECT_DOUBLE_EQ(rounds[1].outcome.mean, 0.5);
  EXPECT_TRUE(rounds[1].round.is_canary);
}

TEST(UnitRoundsTest, ARoundClosesWhenItsWindowEnds) {
  UnitRounds rounds(kWindow, 1);
  Pass({{1, 0, 0.1, 0.7, 1}}, &rounds);
  EXPECT_THAT(CloseUntil(99, &rounds), IsEmpty());
  EXPECT_EQ(rounds.num_open(0), 1u);
  EXPECT_EQ(CloseUntil(100, &rounds).size(), 1u);
  EXPECT_EQ(rounds.num_open(0), 0u);
}

// A monitoring probe repeats one decision id. Arm and draw are functions of
// that id, so its repetitions are no new evidence.
TEST(UnitRoundsTest, ARepeatedDecisionIdIsOneUnit) {
  std::vector<Visit> visits;
  for (int i = 0; i < 50; ++i) {
    visits.push_back({.unit = 7,
                      .time_us = 1000 * i,
                      .share = i < 25 ? 0.1 : 0.5,
                      .place = 0.3,
                      .reward = i == 0 ? 1.0 : 0.0,
                      .has_unit = false});
  }
  const auto rounds = RoundsOf(visits, 100'000);
  // Once as a stable unit, and once when the share grew beyond its place.
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].outcome.decisions, 1u);
  EXPECT_DOUBLE_EQ(rounds[0].outcome.mean, 1);
  EXPECT_TRUE(rounds[1].round.is_canary);
  EXPECT_DOUBLE_EQ(rounds[1].round.canary_probability, 0.4 / 0.9);
}

TEST(UnitRoundsTest, WithoutUnitADecisionClosesAtOnce) {
  EXPECT_EQ(RoundsOf({{7, 5, 0.1, 0.7, 1, false, false}}, 5).size(), 1u);
}

TEST(UnitRoundsTest, ACensoredFirstDecisionMakesARoundVoid) {
  const auto rounds = RoundsOf({{1, 0, 0.1, 0.7, 1, true},
                                {2, 1, 0.1, 0.7, 1},
                                {1, 2, 0.1, 0.7, 0},
                                {2, 3, 0.1, 0.7, 0, true},
                                {2, 4, 0.1, 0.7, 0}},
                               1000);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].outcome.why_void, RoundVoid::kCensored);
  EXPECT_EQ(rounds[0].outcome.decisions, 0u);
  EXPECT_EQ(rounds[1].outcome.why_void, RoundVoid::kNotVoid);
  EXPECT_EQ(rounds[1].outcome.decisions, 2u);
  EXPECT_DOUBLE_EQ(rounds[1].outcome.mean, 0.5);
}

// The first decision of every unit is censored, and only units of one arm
// return: every unit registers anyway, and none of them is judged.
TEST(UnitRoundsTest, WhetherAUnitComesBackDecidesNothing) {
  std::vector<Visit> visits;
  for (uint64_t unit = 0; unit < 100; ++unit) {
    const double place = (static_cast<double>(unit) + 0.5) / 100;
    visits.push_back({unit, 0, 0.5, place, 1, true});
  }
  for (uint64_t unit = 0; unit < 50; ++unit) {
    const double place = (static_cast<double>(unit) + 0.5) / 100;
    visits.push_back({unit, 10, 0.5, place, 1});
  }
  const auto rounds = RoundsOf(visits, 1000);
  ASSERT_EQ(rounds.size(), 100u);
  for (const Closed& closed : rounds) {
    EXPECT_EQ(closed.outcome.why_void, RoundVoid::kCensored);
  }
}

TEST(UnitRoundsTest, ARoundWhoseFirstTupleIsGoneIsVoid) {
  UnitRounds rounds(kWindow, 1);
  Pass({{1, 0, 0.1, 0.7, 1}, {1, 50, 0.1, 0.7, 1}}, &rounds);
  EXPECT_THAT(CloseUntil(99, &rounds), IsEmpty());
  Pass({{1, 50, 0.1, 0.7, 1}}, &rounds);
  const auto closed = CloseUntil(100, &rounds);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].outcome.why_void, RoundVoid::kGone);
  // Nor does it register again.
  Pass({{1, 50, 0.1, 0.7, 1}, {1, 200, 0.1, 0.7, 1}}, &rounds);
  EXPECT_THAT(CloseUntil(1000, &rounds), IsEmpty());
}

TEST(UnitRoundsTest, ATupleThatComesLateChangesNothing) {
  UnitRounds rounds(kWindow, 1);
  Pass({{1, 50, 0.1, 0.7, 1}}, &rounds);
  Pass({{1, 10, 0.1, 0.7, 0}, {1, 50, 0.1, 0.7, 1}, {1, 160, 0.1, 0.7, 0}},
       &rounds);
  const auto closed = CloseUntil(150, &rounds);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_DOUBLE_EQ(closed[0].outcome.mean, 1);
  Pass({{1, 10, 0.1, 0.7, 0}, {1, 20, 0.1, 0.7, 0}}, &rounds);
  EXPECT_THAT(CloseUntil(1000, &rounds), IsEmpty());
}

TEST(UnitRoundsTest, EachOutcomeIsVoidOnItsOwn) {
  UnitRounds rounds(kWindow, 2);
  const std::vector<double> first = {kUnknownOutcome, 4};
  const std::vector<double> second = {1, kUnknownOutcome};
  rounds.BeginPass();
  for (const auto& [time_us, outcomes] :
       {std::pair(0, first), std::pair(1, second), std::pair(2, second)}) {
    rounds.Add({.unit = 1, .has_unit = true, .time_us = time_us, .share = 0.5},
               outcomes);
  }
  EXPECT_EQ(rounds.CloseUntil(0, 100)[0].why_void, RoundVoid::kCensored);
  const RoundOutcome known = rounds.CloseUntil(1, 100)[0];
  EXPECT_EQ(known.decisions, 1u);
  EXPECT_DOUBLE_EQ(known.mean, 4);
}

TEST(UnitRoundsTest, OutcomesCloseOnTheirOwn) {
  UnitRounds rounds(kWindow, 2);
  const std::vector<double> outcomes = {1, -1};
  const auto add = [&] {
    rounds.BeginPass();
    rounds.Add({.unit = 1, .has_unit = true, .time_us = 0, .share = 0.5},
               outcomes);
  };
  add();
  EXPECT_EQ(rounds.CloseUntil(0, 100).size(), 1u);
  EXPECT_THAT(rounds.CloseUntil(1, 99), IsEmpty());
  add();
  EXPECT_THAT(rounds.CloseUntil(0, 1000), IsEmpty());
  const auto second = rounds.CloseUntil(1, 100);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_DOUBLE_EQ(second[0].mean, -1);
}

// A replayed ledger continues with the same rounds as one that was kept in
// memory.
TEST(UnitRoundsTest, WhatWasClosedStaysWhenTheLedgerIsReplayed) {
  std::vector<Visit> visits;
  for (int i = 0; i < 200; ++i) {
    const auto unit = static_cast<uint64_t>(i * i % 37);
    visits.push_back({unit, i * 7, i < 100 ? 0.1 : 0.5,
                      static_cast<double>(unit) / 37,
                      static_cast<double>(i % 3) / 2, i % 5 == 0});
  }
  const auto all = RoundsOf(visits, 10000);
  std::vector<UnitRound> registered;
  std::vector<RoundOutcome> closed;
  for (const size_t known : {20u, 90u, 130u, 199u, 200u}) {
    UnitRounds rounds(kWindow, 1);
    for (const UnitRound& round : registered) rounds.Restore(round);
    for (const RoundOutcome& outcome : closed) {
      EXPECT_TRUE(rounds.RestoreClosed(outcome));
      EXPECT_FALSE(rounds.RestoreClosed(outcome));
    }
    Pass({visits.begin(), visits.begin() + static_cast<long>(known)}, &rounds);
    const int64_t until =
        known == visits.size() ? 10000 : visits[known - 1].time_us;
    for (const RoundOutcome& outcome : rounds.CloseUntil(0, until)) {
      closed.push_back(outcome);
    }
    registered = rounds.rounds();
  }
  ASSERT_EQ(closed.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(closed[i].round, all[i].outcome.round);
    EXPECT_EQ(closed[i].decisions, all[i].outcome.decisions);
    EXPECT_EQ(closed[i].mean, all[i].outcome.mean);
    EXPECT_EQ(closed[i].why_void, all[i].outcome.why_void);
  }
  UnitRounds empty(kWindow, 1);
  EXPECT_FALSE(empty.RestoreClosed({.round = 0}));
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
      visits.push_back({1, 1000 * stage, kShares[stage], place, 1});
      visits.push_back({1, 1000 * stage + 1, kShares[stage], place, 1});
    }
    const auto rounds = RoundsOf(visits, 10000);
    // It is in the canary from one round on, and that is its last.
    for (size_t r = 0; r < rounds.size(); ++r) {
      const UnitRound& round = rounds[r].round;
      const double q = round.canary_probability;
      sums[r] += round.is_canary ? 1 / q : -1 / (1 - q);
      ++counts[r];
      EXPECT_EQ(rounds[r].outcome.decisions, 2u);
      EXPECT_EQ(round.is_canary, r + 1 == rounds.size() && place < 0.8);
    }
  }
  EXPECT_THAT(counts, ElementsAre(1000, 900, 500));
  for (int r = 0; r < 3; ++r) EXPECT_NEAR(sums[r] / counts[r], 0, 1e-9) << r;
}

// Tuples of the first stage were removed before they were read. It is unknown
// which units they had, and this may depend on the arm.
TEST(UnitRoundsTest, AfterAGapUnitsRegisterOnlyWhenTheShareGrows) {
  constexpr int kPlaces = 1000;
  double sum = 0;
  int count = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const double place = (i + 0.5) / kPlaces;
    UnitRounds rounds(kWindow, 1);
    rounds.NoteGap(0.1);
    Pass({{1, 0, 0.1, place, 1}, {1, 1000, 0.5, place, 1}}, &rounds);
    EXPECT_EQ(rounds.num_unknown(), place < 0.1 ? 2u : 1u);
    for (const Closed& closed : CloseUntil(10000, &rounds)) {
      EXPECT_EQ(closed.round.time_us, 1000);
      const double q = closed.round.canary_probability;
      EXPECT_DOUBLE_EQ(q, 0.4 / 0.9);
      sum += closed.round.is_canary ? 1 / q : -1 / (1 - q);
      ++count;
    }
  }
  EXPECT_EQ(count, 900);
  EXPECT_NEAR(sum / count, 0, 1e-9);
}

TEST(UnitRoundsTest, ReplicasThatLagBehindAddNothing) {
  const auto rounds = RoundsOf({{1, 0, 0.5, 0.2, 1},
                                // Another replica has not yet moved on.
                                {1, 10, 0.1, 0.2, 0},
                                {1, 20, 0.5, 0.2, 1}},
                               1000);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].outcome.decisions, 2u);
  EXPECT_DOUBLE_EQ(rounds[0].outcome.mean, 1);
}

}  // namespace
}  // namespace sortition
