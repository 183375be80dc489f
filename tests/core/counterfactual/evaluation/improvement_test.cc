#include "core/counterfactual/evaluation/improvement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/betting.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

constexpr double kConfidence = 0.95;

struct Log {
  std::vector<double> rewards;
  std::vector<double> log_weights;
  std::vector<uint64_t> units;
  double largest_unit = 1;

  UnitSample sample() const {
    return {rewards, log_weights, units, largest_unit};
  }
};

// Units of `size` decisions. Each has an action of its own that it likes and
// no other: on average all are equally good, so that the new policy is no
// better. It is as much a feature of the unit as its name.
Log TasteLog(size_t num_units, int size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Log log;
  log.largest_unit = size;
  for (size_t unit = 0; unit < num_units; ++unit) {
    const size_t liked = random.Below(kActions);
    for (int i = 0; i < size; ++i) {
      const size_t action = DrawAction(&random);
      log.rewards.push_back(action == liked ? 1 : 0);
      log.log_weights.push_back(std::log(kNew[action] / kLogging[action]));
      log.units.push_back(UnitKey(std::to_string(unit), ""));
    }
  }
  return log;
}

TEST(ImprovementTest, UnitsThatComeBackDoNotPassFalsely) {
  constexpr int kLogs = 400;
  for (const int size : {1, 10, 50}) {
    int passed = 0;
    int covered = 0;
    int passed_by_decision = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      Log taste = TasteLog(60, size, 1000 + log);
      const Interval interval =
          EstimateImprovement(taste.sample(), kConfidence);
      passed += interval.lower > 0 ? 1 : 0;
      covered += interval.lower <= 0 && interval.upper >= 0 ? 1 : 0;
      for (size_t i = 0; i < taste.units.size(); ++i) {
        taste.units[i] = UnitKey("", std::to_string(i));
      }
      taste.largest_unit = 1;
      passed_by_decision +=
          EstimateImprovement(taste.sample(), kConfidence).lower > 0 ? 1 : 0;
    }
    const double side = (1 - kConfidence) / 2;
    const double slack = 4 * std::sqrt(kLogs * side);
    EXPECT_LE(passed, kLogs * side + slack) << size;
    EXPECT_GE(covered, kLogs * kConfidence - 2 * slack) << size;
    // What units are there for.
    if (size == 50) {
      EXPECT_GT(passed_by_decision, 3 * kLogs * side);
    }
  }
}

// 4,999 units gain 0.1 with one decision each; one account loses 0.2 with each
// of a thousand. It counts as √5,000 / 2 decisions.
TEST(ImprovementTest, OneLargeAccountDoesNotDecide) {
  constexpr uint64_t kUnits = 5000;
  Log log;
  log.largest_unit = 1000;
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    const bool is_large = unit == 0;
    for (int i = 0; i < (is_large ? 1000 : 1); ++i) {
      log.rewards.push_back(is_large ? 0.4 : 0.1);
      log.log_weights.push_back(std::log(is_large ? 0.5 : 2));
      log.units.push_back(UnitKey(std::to_string(unit), ""));
    }
  }
  const Interval interval = EstimateImprovement(log.sample(), kConfidence);
  const double large = std::sqrt(kUnits) / 2;
  const double small = kUnits - 1;
  EXPECT_NEAR(interval.value, (0.1 * small - 0.2 * large) / (small + large),
              1e-12);
  EXPECT_GT(interval.lower, 0);
}

// One unit in 200 has 100 decisions and loses 1 with each; the others gain 0.1
// with one. A unit counts as at most N decisions, N that of the largest unit of
// another log, or √400 / 2: the mean is (199 · 0.1 - N) / (199 + N). One log in
// seven lacks large units, and bets on that gained 0.09 at least.
TEST(ImprovementTest, RareLargeUnitsThatLoseDoNotPassWhereTheyAreMissing) {
  constexpr int kLogs = 500;
  constexpr uint64_t kUnits = 400;
  const auto draw = [](uint64_t seed) {
    RandomSequence random(SeedKey(seed));
    Log log;
    for (uint64_t unit = 0; unit < kUnits; ++unit) {
      const bool is_large = random.Uniform() < 1.0 / 200;
      for (int i = 0; i < (is_large ? 100 : 1); ++i) {
        log.rewards.push_back(is_large ? 1 : 0.1);
        log.log_weights.push_back(is_large ? -HUGE_VAL : std::log(2));
        log.units.push_back(UnitKey(std::to_string(unit), ""));
      }
    }
    return log;
  };
  int failures = 0;
  int missing = 0;
  for (uint64_t seed = 0; seed < kLogs; ++seed) {
    const Log validation = draw(20000 + seed);
    Log test = draw(30000 + seed);
    test.largest_unit = static_cast<double>(LargestUnit(validation.units));
    const double most = std::min(test.largest_unit, std::sqrt(kUnits) / 2);
    const double truth = (199 * 0.1 - most) / (199 + most);
    failures += EstimateImprovement(test.sample(), kConfidence).lower > truth;
    missing += LargestUnit(test.units) == 1 ? 1 : 0;
  }
  const double side = (1 - kConfidence) / 2;
  EXPECT_LE(failures, kLogs * side + 4 * std::sqrt(kLogs * side));
  EXPECT_GT(missing, kLogs / 10);
}

TEST(ImprovementTest, ValueIsUnbiasedAndBothBoundsClose) {
  RandomSequence random(SeedKey(3));
  Log log;
  for (int i = 0; i < 20000; ++i) {
    const size_t action = DrawAction(&random);
    log.rewards.push_back(random.Uniform() < kReward[action] ? 1 : 0);
    log.log_weights.push_back(std::log(kNew[action] / kLogging[action]));
    log.units.push_back(UnitKey("", std::to_string(i)));
  }
  const Interval interval = EstimateImprovement(log.sample(), kConfidence);
  const double truth = kNewValue - kLoggedValue;
  // E[(ρ - 1)² r²] = 3.6, so that the standard error is 0.0133.
  EXPECT_NEAR(interval.value, truth, 4 * 0.0133);
  EXPECT_LT(interval.lower, truth);
  EXPECT_GT(interval.upper, truth);
  EXPECT_LT(interval.value - interval.lower, 4 * 0.0133);
  EXPECT_LT(interval.upper - interval.value, 4 * 0.0133);
  EXPECT_EQ(NumUnits(log.units), 20000u);
}

// Rounds of several units would limit all bets to the largest of them.
TEST(ImprovementTest, EachOfFewUnitsIsARoundInTheOrderOfHashes) {
  RandomSequence random(SeedKey(4));
  Log log;
  log.largest_unit = 2;
  std::map<uint64_t, BettingRound> rounds;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t unit = UnitKey(std::to_string(i / 2), "");
    const double reward = random.Uniform() < 0.5 ? 1 : 0;
    const double weight = 1 + 0.2 * (reward - 0.5);
    log.rewards.push_back(reward);
    log.log_weights.push_back(std::log(weight));
    log.units.push_back(unit);
    rounds[unit].sum += (weight - 1) * reward;
    rounds[unit].count += 1;
  }
  std::vector<BettingRound> in_order;
  for (const auto& [unit, round] : rounds) in_order.push_back(round);
  EXPECT_NEAR(EstimateImprovement(log.sample(), kConfidence).lower,
              BettingLowerBound({in_order, /*least=*/1, /*largest_count=*/2},
                                (1 - kConfidence) / 2),
              1e-12);
}

TEST(ImprovementTest, NothingIsKnownOfAnEmptyLog) {
  const Interval interval = EstimateImprovement({}, kConfidence);
  EXPECT_EQ(interval.value, 0);
  EXPECT_EQ(interval.lower, -1);
  EXPECT_EQ(interval.upper, 1);
}

}  // namespace
}  // namespace sortition
