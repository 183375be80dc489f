#include "trainer/offpolicy/forecast.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/tuples/scan/present_rate.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr double kForecastFailure = 0.025;

// One decision of each of 100 units with the reward 1: the policy would repeat
// `good` of them twice as often, and the others never. So (ρ - 1) r is 1 or -1.
WeightedTuples TuplesOfUnits(int good) {
  WeightedTuples part;
  for (int i = 0; i < 100; ++i) {
    part.rewards.push_back(1);
    part.log_weights.push_back(
        i < good ? std::log(2) : -std::numeric_limits<double>::infinity());
    part.log_propensities.push_back(std::log(0.2));
    part.units.push_back(static_cast<uint64_t>(i));
  }
  return part;
}

config::v1::TrainReport::Forecast ForecastOf(const WeightedTuples& part,
                                             double improvement,
                                             const Arrivals& arrivals,
                                             uint64_t min_test_units = 0) {
  model::v1::Estimate estimate;
  estimate.set_value(improvement);
  return MakeForecast({.part = part,
                       .improvement = estimate,
                       .failure_probability = kForecastFailure,
                       .test_units = 100,
                       .min_test_units = min_test_units,
                       .test_fraction = 0.25,
                       .arrivals = arrivals});
}

// The mean of 60 times 1 and 40 times -1 is 0.2, its standard error
// √(60 · 0.8² + 40 · 1.2²) / 100 = 0.09798. Bets are √(2 ln 40) = 2.716
// standard errors below it, and 0.8416 more give the power 0.8: to see 0.2
// takes 100 (0.09798 · 3.558 / 0.2)² = 304 test units. There are 100, and a
// quarter of new units comes to the test part: 400 + 4 · 204 = 1,216, rounded
// up to 1,300. One standard error more or less than 0.2: 137 and 1,168 test
// units.
TEST(ForecastTest, IsByTheVarianceAndTheEstimate) {
  const auto forecast =
      ForecastOf(TuplesOfUnits(60), 0.2, {.decisions = 400, .units = 400});
  EXPECT_NEAR(forecast.standard_error(), 0.09798, 1e-5);
  EXPECT_EQ(forecast.so_far(), 400u);
  EXPECT_FALSE(forecast.by_units());
  EXPECT_EQ(forecast.needed(), 1300u);
  EXPECT_EQ(forecast.needed_least(), 550u);
  EXPECT_EQ(forecast.needed_most(), 4700u);
}

TEST(ForecastTest, UnitsThatReturnDoNotCountAgain) {
  const auto forecast =
      ForecastOf(TuplesOfUnits(60), 0.2, {.decisions = 9000, .units = 400});
  EXPECT_TRUE(forecast.by_units());
  EXPECT_EQ(forecast.so_far(), 400u);
  EXPECT_EQ(forecast.needed(), 1300u);
}

// 0.09 is less than one standard error above 0.
TEST(ForecastTest, HasNoUpperEndIfTheEstimateMayBeLuck) {
  const auto forecast =
      ForecastOf(TuplesOfUnits(60), 0.09, {.decisions = 400, .units = 400});
  EXPECT_FALSE(forecast.has_needed_most());
  EXPECT_LT(forecast.needed_least(), forecast.needed());
}

// 500 test units are known to be too few: 400 + 4 · 400 = 2,000.
TEST(ForecastTest, IsNotLessThanWhatIsKnownNotToSuffice) {
  EXPECT_EQ(
      ForecastOf(TuplesOfUnits(60), 0.2, {.decisions = 400, .units = 400}, 500)
          .needed(),
      2000u);
}

// Of 100 rewards 20 are 1, and one of five actions was drawn: a policy that
// always takes one has the variance 0.2 (5 - 1) = 0.8. To see 0.2 takes
// 0.8 · 3.558² / 0.2² = 254 test decisions, 1,016 in all.
TEST(UnitsToDoubleTest, IsByRewardsAndPropensities) {
  WeightedTuples part = TuplesOfUnits(60);
  for (size_t i = 20; i < 100; ++i) part.rewards[i] = 0;
  double improvement = 0;
  EXPECT_EQ(UnitsToDouble(part, kForecastFailure, 0.25, &improvement), 1100u);
  EXPECT_DOUBLE_EQ(improvement, 0.2);
  // No reward differs from the smallest.
  part.rewards.assign(100, 0);
  EXPECT_EQ(UnitsToDouble(part, kForecastFailure, 0.25, &improvement), 0u);
}

constexpr int64_t kForecastSecondUs = 1'000'000;

// One decision a second for 2,000 s, by new units only in the first half and
// every tenth of the second one.
Arrivals TrafficOfNewUnits() {
  ArrivalCounter counter;
  for (int i = 1; i <= 2001; ++i) {
    const bool is_new = i <= 1001 || i % 10 == 0;
    counter.Add(is_new ? static_cast<uint64_t>(i) : 7, i * kForecastSecondUs);
  }
  return counter.Finish();
}

TEST(ArrivalsTest, CountsNewUnitsOfTheSecondHalf) {
  const Arrivals arrivals = TrafficOfNewUnits();
  EXPECT_EQ(arrivals.decisions, 2001u);
  EXPECT_EQ(arrivals.units, 1101u);
  EXPECT_EQ(arrivals.recent_decisions, 1000u);
  EXPECT_EQ(arrivals.recent_units, 100u);
  EXPECT_EQ(arrivals.recent_seconds, 1000);
  EXPECT_EQ(arrivals.newest_us, 2001 * kForecastSecondUs);
}

// 100 new users in 1,000 s: 8,640 a day, 3,000 of them in 30,000 s.
TEST(PresentRateTest, IsThatOfNewUsers) {
  EXPECT_EQ(AtPresentRate(3000, TrafficOfNewUnits(), 2001 * kForecastSecondUs),
            ", at the present rate of about 8600 new users a day in about 9 "
            "hours");
  EXPECT_EQ(AtPresentDecisionRate(1000, 4, TrafficOfNewUnits(),
                                  2001 * kForecastSecondUs),
            ", at the present rate of about 3600 decisions an hour in about 67 "
            "minutes");
}

// A quarter of the log's time is 500 s, less than ten minutes.
TEST(PresentRateTest, TrafficThatHasStoppedHasNone) {
  Arrivals arrivals = TrafficOfNewUnits();
  const auto text = [&](int64_t seconds) {
    return AtPresentRate(3000, arrivals, (2001 + seconds) * kForecastSecondUs);
  };
  EXPECT_THAT(text(600), HasSubstr("at the present rate"));
  EXPECT_THAT(text(601), HasSubstr("traffic has stopped: the newest decision "
                                   "is of 1970-01-01T00:33:21"));
  // Tuples wait for rewards.
  arrivals.reward_wait_seconds = 3600;
  EXPECT_THAT(text(4200), HasSubstr("at the present rate"));
  EXPECT_THAT(text(4201), HasSubstr("traffic has stopped"));
}

TEST(PresentRateTest, LogsWithoutTimesSayNothingOfIt) {
  ArrivalCounter counter;
  counter.Add(1, 0);
  EXPECT_EQ(AtPresentRate(3000, counter.Finish(), kForecastSecondUs), "");
}

TEST(RoundedUpTest, KeepsTwoDigits) {
  EXPECT_EQ(RoundedUp(7), 7);
  EXPECT_EQ(RoundedUp(99.5), 100);
  EXPECT_EQ(RoundedUp(101), 110);
  EXPECT_EQ(RoundedUp(24555), 25000);
  EXPECT_EQ(RoundedUp(25000), 25000);
}

}  // namespace
}  // namespace sortition
