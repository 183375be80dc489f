#include "sidecar/status/worth_sums.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

log::v1::BanditTuple TupleOf(double reward, bool has_feedback = true) {
  log::v1::BanditTuple tuple;
  tuple.set_reward(reward);
  tuple.set_has_feedback(has_feedback);
  return tuple;
}

log::v1::Decision SelectOf(const std::string& unit, double propensity,
                           int32_t selected = 0) {
  log::v1::Decision choice;
  choice.set_action_kind(log::v1::SELECT);
  choice.set_unit_id(unit);
  choice.add_action(selected);
  choice.set_log_propensity(std::log(propensity));
  return choice;
}

TEST(WorthSumsTest, CountsByHand) {
  WorthSums sums;
  sums.AddTuple(TupleOf(1), SelectOf("a", 0.5));
  sums.AddTuple(TupleOf(0, false), SelectOf("b", 0.25, -1));
  log::v1::Decision rank = SelectOf("c", 0.01);
  rank.set_action_kind(log::v1::RANK);
  rank.add_conditional_log_propensities(std::log(0.5));
  rank.add_conditional_log_propensities(std::log(0.02));
  rank.mutable_interleaving();
  sums.AddTuple(TupleOf(0.5), rank);
  log::v1::Decision subset = SelectOf("d", 0.125);
  subset.set_action_kind(log::v1::SUBSET);
  sums.AddTuple(TupleOf(0.5), subset);
  const status::v1::Worth worth = sums.Worth();
  EXPECT_EQ(worth.tuples(), 4u);
  EXPECT_EQ(worth.with_feedback(), 3u);
  EXPECT_EQ(worth.abstentions(), 1u);
  EXPECT_EQ(worth.shared(), 1u);
  EXPECT_DOUBLE_EQ(worth.reward().value(), 0.5);
  // Of two that the version chose alone: -log 0.5 and -log 0.25.
  EXPECT_DOUBLE_EQ(worth.mean_entropy(), 1.5 * std::log(2));
  const status::v1::Histogram& bins = worth.propensities();
  ASSERT_EQ(bins.counts_size(), bins.bounds_size() + 1);
  for (int i = 0; i < bins.bounds_size(); ++i) {
    // 0.5 twice, in the bin that it bounds, and 0.25 in (0.2, 0.3].
    const double bound = bins.bounds(i);
    EXPECT_EQ(bins.counts(i), bound == 0.5 ? 2u : bound == 0.3 ? 1u : 0u);
  }
}

TEST(WorthSumsTest, EffectiveSampleSizeByHand) {
  WorthSums sums;
  EXPECT_EQ(sums.Worth().effective_sample_size(), 0);
  EXPECT_FALSE(sums.Worth().has_reward());
  EXPECT_TRUE(std::isnan(sums.Worth().mean_entropy()));
  for (const double weight : {1.0, 2.0, 0.0, 3.0}) sums.AddWeight(weight);
  EXPECT_DOUBLE_EQ(sums.Worth().effective_sample_size(), 36.0 / 14);
  for (const double weight : {std::nan(""), -1.0}) sums.AddWeight(weight);
  EXPECT_DOUBLE_EQ(sums.Worth().effective_sample_size(), 36.0 / 14);
  sums.AddWeight(HUGE_VAL);
  EXPECT_DOUBLE_EQ(sums.Worth().effective_sample_size(), 1);
  sums.AddWeight(HUGE_VAL);
  EXPECT_DOUBLE_EQ(sums.Worth().effective_sample_size(), 2);
}

TEST(WorthSumsTest, NoIntervalWhereNothingVariesOrUnitsAreFew) {
  WorthSums equal;
  for (int i = 0; i < 1000; ++i) {
    equal.AddTuple(TupleOf(0), SelectOf(absl::StrCat("u", i), 0.5));
  }
  EXPECT_EQ(equal.Worth().reward().confidence(), 0);
  EXPECT_EQ(equal.Worth().reward().lower(), 0);
  EXPECT_EQ(equal.Worth().reward().upper(), 0);
  WorthSums few;
  for (int i = 0; i < 1000; ++i) {
    few.AddTuple(TupleOf(i % 2), SelectOf(absl::StrCat("u", i % 20), 0.5));
  }
  EXPECT_EQ(few.Worth().reward().confidence(), 0);
  EXPECT_DOUBLE_EQ(few.Worth().reward().value(), 0.5);
}

TEST(WorthSumsTest, MergedSumsAreThoseOfAllTuples) {
  WorthSums all;
  WorthSums one;
  WorthSums other;
  for (int i = 0; i < 2000; ++i) {
    const log::v1::BanditTuple tuple = TupleOf(i % 3, i % 2 == 0);
    const log::v1::Decision choice =
        SelectOf(absl::StrCat("u", i % 700), 0.1 + 0.001 * (i % 500));
    all.AddTuple(tuple, choice);
    (i % 5 == 0 ? one : other).AddTuple(tuple, choice);
  }
  one.Merge(other);
  const status::v1::Worth expected = all.Worth();
  const status::v1::Worth merged = one.Worth();
  EXPECT_EQ(merged.tuples(), expected.tuples());
  EXPECT_EQ(merged.with_feedback(), expected.with_feedback());
  EXPECT_NEAR(merged.reward().value(), expected.reward().value(), 1e-12);
  EXPECT_NEAR(merged.reward().upper(), expected.reward().upper(), 1e-12);
  EXPECT_GT(expected.reward().confidence(), 0);
  EXPECT_NEAR(merged.mean_entropy(), expected.mean_entropy(), 1e-12);
  EXPECT_EQ(merged.propensities().ShortDebugString(),
            expected.propensities().ShortDebugString());
}

// Units like or dislike everything: 1,000 of them with 8 tuples each. Over 200
// logs an interval of 95 % covers the mean of the population in 190 on average,
// with a standard deviation of 3.1; more than 24 that miss it have a
// probability of some 1e-4. In one of a few hundred logs a group has so many
// units of one kind that it makes up a tenth of the variance, and there is no
// interval. One that takes tuples for independent is √(7 · 0.36 + 1) = 1.9
// times too narrow, for 0.36 is the correlation of two tuples of a unit, and
// covers in 70 %: in 140, standard deviation 6.5.
TEST(WorthSumsTest, IntervalsCoverThoughUnitsRepeat) {
  std::mt19937_64 random(11);
  std::bernoulli_distribution coin(0.5);
  std::bernoulli_distribution often(0.8);
  int intervals = 0;
  int covers = 0;
  int naive_covers = 0;
  for (int log = 0; log < 200; ++log) {
    WorthSums sums;
    double total = 0;
    constexpr int kUnits = 1000;
    constexpr int kPerUnit = 8;
    for (int unit = 0; unit < kUnits; ++unit) {
      const std::string name = absl::StrCat(log, "-", unit);
      const bool likes = coin(random);
      for (int i = 0; i < kPerUnit; ++i) {
        const double reward = often(random) == likes ? 1 : 0;
        total += reward;
        sums.AddTuple(TupleOf(reward), SelectOf(name, 0.5));
      }
    }
    const status::v1::Estimate reward = sums.Worth().reward();
    if (reward.confidence() > 0) {
      ++intervals;
      covers += reward.lower() <= 0.5 && 0.5 <= reward.upper() ? 1 : 0;
    }
    const double n = kUnits * kPerUnit;
    const double mean = total / n;
    EXPECT_NEAR(reward.value(), mean, 1e-12);
    const double naive = 1.96 * std::sqrt(mean * (1 - mean) / n);
    naive_covers += std::abs(mean - 0.5) <= naive ? 1 : 0;
  }
  EXPECT_GE(intervals, 190);
  EXPECT_GE(covers, intervals - 24);
  EXPECT_LE(covers, intervals - 1);
  EXPECT_LE(naive_covers, 166);
}

}  // namespace
}  // namespace sortition
