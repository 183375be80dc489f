#include "core/counterfactual/evaluation/policy_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/blend.h"
#include "core/counterfactual/evaluation/estimator.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/evaluation/slope.h"
#include "core/counterfactual/evaluation/unit_sizes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/option.pb.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

double ValueOf(const PolicySums& sums, const Estimator& estimator,
               size_t policy = 0) {
  return EstimateRatios(sums.sums(), sums.RatiosOf(policy, estimator)).value;
}

// A log in which each action and reward is as frequent as it is probable: its
// means are expectations.
PolicySums ExactLog() {
  PolicySums sums(1, 1000);
  uint64_t unit = 0;
  for (size_t a = 0; a < kActions; ++a) {
    const int count = static_cast<int>(std::lround(kLogging[a] * 100));
    const int wins = static_cast<int>(std::lround(kReward[a] * count));
    for (int i = 0; i < count; ++i) {
      const JudgedDecision decision = Judge(a);
      sums.Add(unit++, 1, i < wins ? 1 : 0, {&decision, 1});
    }
  }
  return sums;
}

TEST(PolicySumsTest, TheLastParameterHasNextToNoBias) {
  const PolicySums sums = ExactLog();
  for (const EstimatorKind kind : AllEstimatorKinds()) {
    const std::vector<double> parameters = ParametersOf(kind);
    if (parameters.empty()) continue;
    EXPECT_NEAR(ValueOf(sums, {kind, parameters.back()}), kNewValue, 0.001)
        << EstimatorName(kind);
    EXPECT_GT(std::fabs(ValueOf(sums, {kind, parameters.front()}) - kNewValue),
              0.05)
        << EstimatorName(kind);
  }
}

TEST(PolicySumsTest, PartsMergeToTheWhole) {
  RandomSequence random(SeedKey(4));
  PolicySums whole(2, 512);
  PolicySums parts[3] = {{2, 512}, {2, 512}, {2, 512}};
  for (int i = 0; i < 5000; ++i) {
    const uint64_t unit = random.Below(700);
    const double reward = random.Uniform();
    const double share = 1 - random.Uniform() / 2;
    const size_t logging_policy = random.Below(3);
    JudgedDecision policies[2];
    for (JudgedDecision& policy : policies) {
      policy = {2 * random.Normal(), random.Uniform(), random.Uniform(),
                random.Uniform(),    random.Uniform(), random.Normal(),
                random.Normal()};
    }
    whole.Add(unit, share, reward, policies, logging_policy);
    parts[i % 3].Add(unit, share, reward, policies, logging_policy);
  }
  parts[0].Merge(parts[1]);
  parts[0].Merge(parts[2]);
  for (const Estimator& estimator : AllEstimators()) {
    for (size_t policy = 0; policy < 2; ++policy) {
      const RatioEstimate expected =
          EstimateRatios(whole.sums(), whole.RatiosOf(policy, estimator));
      const RatioEstimate merged =
          EstimateRatios(parts[0].sums(), parts[0].RatiosOf(policy, estimator));
      EXPECT_NEAR(merged.value, expected.value,
                  1e-12 * std::fabs(expected.value));
      EXPECT_NEAR(merged.standard_error, expected.standard_error,
                  1e-10 * expected.standard_error);
    }
  }
  EXPECT_EQ(parts[0].num_decisions(), 5000u);
  EXPECT_NEAR(parts[0].EffectiveSampleSize(1), whole.EffectiveSampleSize(1),
              1e-12 * whole.EffectiveSampleSize(1));
}

// A decision that counts half is half of a decision.
TEST(PolicySumsTest, SharesAreHowMuchADecisionCounts) {
  PolicySums halves(1, 64);
  PolicySums once(1, 64);
  for (size_t a = 0; a < kActions; ++a) {
    const JudgedDecision decision = Judge(a);
    const double reward = 0.1 + 0.2 * static_cast<double>(a);
    once.Add(a, 1, reward, {&decision, 1});
    halves.Add(a, 0.5, reward, {&decision, 1});
    halves.Add(a, 0.5, reward, {&decision, 1});
  }
  const std::vector<double> expected = once.sums().Totals();
  const std::vector<double> totals = halves.sums().Totals();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(totals[i], expected[i], 1e-14) << i;
  }
  EXPECT_EQ(once.num_decisions(), 4u);
  EXPECT_EQ(halves.num_decisions(), 8u);
  EXPECT_FALSE(halves.rewards().is_whole);
}

// Of two logging policies, one hardly ever does what the policy does, except in
// one context of twenty: its large weights are yet to be seen, its mean is far
// too low, and it must not count as the more precise one. v = 0.5.
TEST(PolicySumsTest, AStratumThatSawLittleCountsLittle) {
  double sum = 0;
  constexpr int kLogs = 100;
  for (uint64_t log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(100 + log));
    PolicySums sums(1, 512);
    for (uint64_t i = 0; i < 1000; ++i) {
      const double rare = random.Uniform() < 0.05 ? 0.9 : 0.001;
      const double propensity = i % 2 == 0 ? rare : 0.5;
      const JudgedDecision decision = {
          .log_weight = random.Uniform() < propensity
                            ? -std::log(propensity)
                            : -std::numeric_limits<double>::infinity()};
      sums.Add(i, 1, random.Uniform() < 0.5 ? 1 : 0, {&decision, 1}, i % 2);
    }
    sum += ValueOf(sums, {EstimatorKind::kWeighted});
  }
  EXPECT_NEAR(sum / kLogs, 0.5, 0.1);
}

// Equal policies differ by nothing, and that is certain.
TEST(PolicySumsTest, DifferencesArePaired) {
  RandomSequence random(SeedKey(5));
  PolicySums sums(2, 512);
  for (uint64_t i = 0; i < 300; ++i) {
    const JudgedDecision decision = Judge(DrawAction(&random));
    const JudgedDecision both[2] = {decision, decision};
    sums.Add(i, 1, random.Uniform(), both);
  }
  for (const Estimator& estimator : AllEstimators()) {
    const RatioEstimate difference = EstimateRatios(
        sums.sums(),
        Difference(sums.RatiosOf(0, estimator), sums.RatiosOf(1, estimator)));
    EXPECT_NEAR(difference.value, 0, 1e-14);
    EXPECT_NEAR(difference.standard_error, 0, 1e-14);
  }
}

TEST(PolicySumsTest, ImpossibleActionsCountWithWeightZero) {
  PolicySums sums(1, 16);
  const JudgedDecision impossible = {
      .log_weight = -std::numeric_limits<double>::infinity()};
  const JudgedDecision likely = {.log_weight = std::log(2)};
  sums.Add(1, 1, 1, {&impossible, 1});
  sums.Add(2, 1, 1, {&likely, 1});
  for (const Estimator& estimator : AllEstimators()) {
    const double value = ValueOf(sums, estimator);
    EXPECT_TRUE(std::isfinite(value)) << EstimatorName(estimator.kind);
  }
  EXPECT_EQ(ValueOf(sums, {EstimatorKind::kIps}), 1);
  EXPECT_EQ(sums.EffectiveSampleSize(0), 1);
}

const Ratio kMean = {{{1, 1}}, {{0, 1}}};

// Repeating what a unit did says nothing new.
TEST(GroupSumsTest, RepetitionsWithinAUnitDoNotNarrowTheInterval) {
  RandomSequence random(SeedKey(1));
  GroupSums once(64, 2);
  GroupSums often(64, 2);
  for (uint64_t unit = 0; unit < 40; ++unit) {
    const double value = random.Uniform();
    once.GroupOf(unit)[0] += 1;
    once.GroupOf(unit)[1] += value;
    for (int i = 0; i < 50; ++i) {
      often.GroupOf(unit)[0] += 1;
      often.GroupOf(unit)[1] += value;
    }
  }
  const RatioEstimate a = EstimateRatios(once, {{kMean}});
  const RatioEstimate b = EstimateRatios(often, {{kMean}});
  EXPECT_NEAR(a.value, b.value, 1e-12);
  EXPECT_NEAR(a.standard_error, b.standard_error, 1e-12);
}

// Units of unequal size: the error that is said is the error that is seen.
TEST(GroupSumsTest, StandardErrorIsTheSpreadOverManyLogs) {
  constexpr int kLogs = 2000;
  constexpr uint64_t kUnits = 200;
  double mean = 0;
  double square = 0;
  double said = 0;
  for (int log = 0; log < kLogs; ++log) {
    RandomSequence random(SeedKey(100 + static_cast<uint64_t>(log)));
    GroupSums sums(8192, 2);
    for (uint64_t unit = 0; unit < kUnits; ++unit) {
      const int size = 1 + static_cast<int>(random.Below(10));
      // Large units like it less.
      const double taste = random.Normal() - 0.1 * size;
      for (int i = 0; i < size; ++i) {
        sums.GroupOf(unit)[0] += 1;
        sums.GroupOf(unit)[1] += taste + random.Normal();
      }
    }
    const RatioEstimate estimate = EstimateRatios(sums, {{kMean}});
    mean += estimate.value / kLogs;
    square += estimate.value * estimate.value / kLogs;
    said += estimate.standard_error * estimate.standard_error / kLogs;
  }
  // E[taste · size] / E[size] = -0.1 · 38.5 / 5.5.
  const double spread = square - mean * mean;
  EXPECT_NEAR(mean, -0.7, 4 * std::sqrt(spread / kLogs) + 0.5 / kUnits);
  // Four standard errors of a variance of 2,000 numbers, and the bias of the
  // delta method.
  EXPECT_NEAR(said / spread, 1, 4 * std::sqrt(2.0 / kLogs) + 3.0 / kUnits);
}

TEST(GroupSumsTest, OneGroupHasNoError) {
  GroupSums sums(8, 2);
  sums.GroupOf(3)[0] = 2;
  sums.GroupOf(3)[1] = 1;
  EXPECT_EQ(EstimateRatios(sums, {{kMean}}).value, 0.5);
  EXPECT_EQ(EstimateRatios(sums, {{kMean}}).standard_error,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(EstimateRatios(GroupSums(8, 2), {{kMean}}).value, 0);
}

// Brute force over β.
TEST(GroupSumsTest, ControlFactorIsTheBest) {
  RandomSequence random(SeedKey(2));
  GroupSums sums(512, 3);
  for (uint64_t unit = 0; unit < 300; ++unit) {
    const double c = random.Uniform();
    sums.GroupOf(unit)[0] += 1;
    sums.GroupOf(unit)[1] += 3 * c + random.Uniform();
    sums.GroupOf(unit)[2] += c;
  }
  const auto error = [&](double factor) {
    const Ratio ratio = {{{1, 1}, {2, -factor}}, {{0, 1}}};
    return EstimateRatios(sums, {{ratio}}).standard_error;
  };
  const double best = ControlFactor(sums, {{1, 1}}, {{2, 1}}, {{0, 1}});
  EXPECT_NEAR(best, 3, 0.2);
  for (const double step : {-0.5, -0.01, 0.01, 0.5}) {
    EXPECT_LT(error(best), error(best + step)) << step;
  }
}

// Missing mass of the target policy (0.5, 0.5, 0) for the logging policy
// (0.1, 0, 0.9).
TEST(MissingMassTest, IsWhatCutWeightsLeaveOut) {
  constexpr double kWanted[3] = {0.5, 0.5, 0};
  constexpr double kLogged[3] = {0.1, 0, 0.9};
  const MissingMass mass = MissingMassOf(kWanted, kLogged);
  EXPECT_NEAR(mass.beyond[0], 0.9, 1e-12);  // M = 1
  EXPECT_NEAR(mass.beyond[1], 0.8, 1e-12);  // 2
  EXPECT_NEAR(mass.beyond[2], 0.5, 1e-12);  // 5
  EXPECT_NEAR(mass.beyond[7], 0.5, 1e-12);  // 1000
  EXPECT_EQ(mass.largest_weight, std::numeric_limits<double>::infinity());
  // E[min(ρ, M)] and the mass are 1, and one draw has the mass as its mean.
  for (size_t i = 0; i < kNumParameters; ++i) {
    double kept = 0;
    double drawn = 0;
    for (size_t a = 0; a < 3; ++a) {
      if (kLogged[a] > 0) {
        kept += kLogged[a] * std::min(kClips[i], kWanted[a] / kLogged[a]);
      }
      if (kWanted[a] == 0) continue;
      const double log_weight = std::log(kWanted[a]) - std::log(kLogged[a]);
      drawn += kWanted[a] * MissingMassOfDraw(log_weight).beyond[i];
    }
    EXPECT_NEAR(kept + mass.beyond[i], 1, 1e-12) << i;
    EXPECT_NEAR(drawn, mass.beyond[i], 1e-12) << i;
  }
}

TEST(MissingMassTest, TwoActionsShareTheProbability) {
  const double log_propensity = std::log(0.25);
  const auto of = [&](LoggedSelection selection) {
    selection.log_propensity = log_propensity;
    return ProbabilitiesOfTwo(selection);
  };
  EXPECT_THAT(of({.num_candidates = 2, .action = 1}),
              testing::ElementsAre(0.75, testing::DoubleEq(0.25), 0));
  EXPECT_THAT(of({.num_candidates = 1, .can_abstain = true, .action = -1}),
              testing::ElementsAre(0.75, testing::DoubleEq(0.25)));
  const bool eligible[] = {true, false, true};
  EXPECT_THAT(of({.num_candidates = 3, .eligible = eligible, .action = 0}),
              testing::ElementsAre(testing::DoubleEq(0.25), 0, 0.75, 0));
  EXPECT_THAT(of({.num_candidates = 2, .can_abstain = true, .action = 1}),
              testing::IsEmpty());
  EXPECT_THAT(of({.num_candidates = 3, .action = 1}), testing::IsEmpty());
  EXPECT_THAT(of({.num_candidates = 1, .action = 0}), testing::IsEmpty());
}

// Weights of 0.3 that differ only by rounding errors have no variance by which
// a control variate could be divided.
TEST(GroupSumsTest, ControlsThatVaryByRoundingAreConstant) {
  RandomSequence random(SeedKey(5));
  PolicySums sums(1, 256);
  for (uint64_t unit = 0; unit < 3000; ++unit) {
    const JudgedDecision decision = {.log_weight = std::log(0.3)};
    sums.Add(Unit(unit), 1, random.Uniform() < 0.5 ? 1 : 0, {&decision, 1});
  }
  const double ips =
      EstimateRatios(sums.sums(), sums.RatiosOf(0, {EstimatorKind::kIps}))
          .value;
  for (const EstimatorKind kind :
       {EstimatorKind::kControlledIps, EstimatorKind::kBlendedDr}) {
    const double value =
        EstimateRatios(sums.sums(), sums.RatiosOf(0, {kind})).value;
    EXPECT_GE(value, ips - 1e-9) << EstimatorKey(kind);
    EXPECT_LE(value, 1) << EstimatorKey(kind);
  }
  EXPECT_DOUBLE_EQ(
      EstimateRatios(sums.sums(),
                     sums.RatiosOf(0, {EstimatorKind::kControlledIps}))
          .value,
      ips);
}

TEST(UnitSizesTest, SharesAreExactForFewUnits) {
  constexpr uint64_t kUnits = 400;
  UnitSizes sizes;
  uint64_t decisions = 0;
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    for (uint64_t i = 0; i <= unit; ++i) sizes.Add(Unit(unit));
    decisions += unit + 1;
  }
  EXPECT_EQ(sizes.num_units(), kUnits);
  EXPECT_EQ(sizes.num_decisions(), decisions);
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    // √400 / 2 = 10.
    EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(unit)),
                     std::min(1.0, 10 / static_cast<double>(unit + 1)));
  }
}

// So few that each counts as one decision.
TEST(UnitSizesTest, AUnitCountsAsOneDecisionAtLeast) {
  UnitSizes sizes;
  for (int i = 0; i < 4; ++i) sizes.Add(Unit(1));
  sizes.Add(Unit(2));
  EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(1)), 0.25);
  EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(2)), 1);
}

// Linear counting has a relative error of some 0.2 % here, leading zeros one of
// 1.04 / √16384 = 0.8 %: five of them.
// 36 units of one decision, 4 hashed to a group each: √36 / 2 = 3 decisions of
// each could be there, or 2 where none has more.
TEST(UnitSizesTest, LargestGroupDoesNotDependOnTheSizesSeen) {
  UnitSizes sizes;
  for (uint64_t unit = 0; unit < 36; ++unit) {
    sizes.Add(unit % 4 * 16 + unit / 4);
  }
  EXPECT_NEAR(sizes.LargestGroup(16), 4 * 3, 1e-3);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(16, 2), 4 * 2);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(1 << 20, 1), 1);
  for (int i = 0; i < 3; ++i) sizes.Add(0);
  EXPECT_DOUBLE_EQ(sizes.ShareOf(0, 2), 0.5);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(16, 2), 4 * 2);
}

TEST(UnitSizesTest, CountsAnyNumberOfUnits) {
  for (const uint64_t num_units : {100000u, 1500000u, 3000000u}) {
    UnitSizes sizes;
    for (uint64_t i = 0; i < num_units; ++i) sizes.Add(Unit(i));
    EXPECT_NEAR(static_cast<double>(sizes.num_units()),
                static_cast<double>(num_units),
                0.041 * static_cast<double>(num_units));
    // Collisions do not weigh single decisions down.
    EXPECT_EQ(sizes.ShareOf(Unit(0)), 1);
  }
}

TEST(UnitSizesTest, FindsUnitsThatRepeat) {
  for (const uint64_t num_units : {1u, 20u, 1000u, 100000u, 1500000u}) {
    UnitSizes sizes;
    for (uint64_t i = 0; i < num_units; ++i) sizes.Add(Unit(i));
    EXPECT_FALSE(sizes.HasRepeats()) << num_units;
    // One in a hundred decisions is that of a probe.
    UnitSizes with_probe = sizes;
    for (uint64_t i = 0; i < 3 + num_units / 100; ++i) {
      with_probe.Add(Unit(0));
    }
    EXPECT_TRUE(with_probe.HasRepeats()) << num_units;
  }
  UnitSizes pairs;
  for (uint64_t i = 0; i < 1000; ++i) pairs.Add(Unit(i % 900));
  EXPECT_TRUE(pairs.HasRepeats());
}

TEST(UnitSizesTest, PartsMergeToTheWhole) {
  UnitSizes whole;
  UnitSizes parts[2];
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t unit = Unit(i % 13 * (i % 7));
    whole.Add(unit);
    parts[i % 2].Add(unit);
  }
  parts[0].Merge(parts[1]);
  EXPECT_EQ(parts[0].num_units(), whole.num_units());
  EXPECT_EQ(parts[0].num_decisions(), whole.num_decisions());
  EXPECT_LT(whole.ShareOf(Unit(0)), 0.01);
  for (uint64_t unit = 0; unit < 13; ++unit) {
    EXPECT_EQ(parts[0].ShareOf(Unit(unit)), whole.ShareOf(Unit(unit)));
  }
}

constexpr double kSlopeConfidence = 0.9;

PolicySums ToyLog(size_t num_decisions, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(1, 4096);
  for (uint64_t i = 0; i < num_decisions; ++i) {
    const size_t action = DrawAction(&random);
    const JudgedDecision decision = Judge(action);
    sums.Add(i, 1, random.Uniform() < kReward[action] ? 1 : 0, {&decision, 1});
  }
  return sums;
}

// Clipping at 1 costs 0.45 and at 5 still 0.09: weights of 6 earn most.
TEST(SlopeTest, ManyDecisionsAllowNoBias) {
  EXPECT_EQ(ChooseBySlope(ToyLog(60000, 1), 0, EstimatorKind::kClipped,
                          kSlopeConfidence)
                .parameter,
            10);
}

TEST(SlopeTest, FewDecisionsAllowBias) {
  EXPECT_EQ(
      ChooseBySlope(ToyLog(5, 2), 0, EstimatorKind::kClipped, kSlopeConfidence)
          .parameter,
      1);
}

// One weight of 1,000 among 500 of 1: keeping it costs more than it brings.
TEST(SlopeTest, CutsASingleLargeWeight) {
  PolicySums sums(1, 4096);
  for (uint64_t i = 0; i < 500; ++i) {
    const JudgedDecision decision = {.log_weight = i == 0 ? std::log(1000) : 0};
    sums.Add(i, 1, i % 2 == 0 ? 1 : 0, {&decision, 1});
  }
  for (const EstimatorKind kind :
       {EstimatorKind::kClipped, EstimatorKind::kLogSmoothed,
        EstimatorKind::kSubGaussian}) {
    const Estimator chosen = ChooseBySlope(sums, 0, kind, kSlopeConfidence);
    EXPECT_EQ(chosen.kind, kind);
    const double value =
        EstimateRatios(sums.sums(), sums.RatiosOf(0, chosen)).value;
    EXPECT_LT(std::fabs(value - 0.5), 0.2) << EstimatorName(kind);
  }
}

TEST(SlopeTest, WithoutGroupsThereIsLeastBias) {
  const PolicySums empty(1, 16);
  EXPECT_EQ(ChooseBySlope(empty, 0, EstimatorKind::kClipped, kSlopeConfidence)
                .parameter,
            1000);
  EXPECT_EQ(ChooseBySlope(empty, 0, EstimatorKind::kIps, kSlopeConfidence).kind,
            EstimatorKind::kIps);
}

// Two kinds of context that reward 0.9 and 0.1 whatever is done, so that the
// value of every policy is 0.5. One action in 50 has the weight 25.
struct ModelledLog {
  double bias = 0;       // Of the model.
  double knowledge = 1;  // How much of the contexts it knows, within [-1, 1].
  double rare = 0.02;    // Frequency of the large weight.
};

PolicySums DrawSums(const ModelledLog& log, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(1, 4096);
  for (uint64_t i = 0; i < 2000; ++i) {
    const double chance = random.Uniform() < 0.5 ? 0.9 : 0.1;
    const double model = 0.5 + log.bias + log.knowledge * (chance - 0.5);
    const double weight =
        random.Uniform() < log.rare ? 0.5 / log.rare : 0.5 / (1 - log.rare);
    const JudgedDecision decision = {.log_weight = std::log(weight),
                                     .modelled_logged = model,
                                     .modelled_policy = model};
    sums.Add(i, 1, random.Uniform() < chance ? 1 : 0, {&decision, 1});
  }
  return sums;
}

double ValueOf(const PolicySums& sums, EstimatorKind kind) {
  return EstimateRatios(sums.sums(), sums.RatiosOf(0, {kind})).value;
}

// Mean squared error of the blend over that of another kind; 400 logs, so that
// its standard error is below 0.05 where the two are alike.
double RelativeError(const ModelledLog& log, EstimatorKind other) {
  double blended = 0;
  double others = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const PolicySums sums = DrawSums(log, 100 + seed);
    blended += std::pow(ValueOf(sums, EstimatorKind::kBlendedDr) - 0.5, 2);
    others += std::pow(ValueOf(sums, other) - 0.5, 2);
  }
  return blended / others;
}

// Weights near 1: nothing to clip.
constexpr double kOften = 0.5;

TEST(DefaultEstimatorTest, NeedsAModelToBlend) {
  EXPECT_EQ(DefaultEstimator(false).kind, EstimatorKind::kSelfNormalised);
  EXPECT_EQ(DefaultEstimator(true).kind, EstimatorKind::kBlendedDr);
}

TEST(BlendTest, ErrsLittleMoreThanTheBestOfItsParts) {
  constexpr auto kSnips = EstimatorKind::kSelfNormalised;
  constexpr auto kSndr = EstimatorKind::kSelfNormalisedDr;
  // All weights are 1: IPS and SNIPS are the mean of the log, and the model is
  // for nothing.
  EXPECT_LT(RelativeError({.rare = kOften}, kSnips), 1.05);
  // The model knows more.
  EXPECT_LT(RelativeError({.rare = 0.2}, kSnips), 0.9);
  // It is the wrong way round: its control is taken with the other sign.
  EXPECT_LT(RelativeError({.bias = 0.3, .knowledge = -1, .rare = 0.2}, kSnips),
            1.05);
  // Clipping alone would take away four fifths of the squared error.
  EXPECT_LT(RelativeError({}, kSndr), 0.7);
  // Clipping at 5 cuts off two fifths of the policy, where the model is off by
  // 0.4: a bias of 0.16, six standard errors.
  EXPECT_LT(RelativeError({.bias = 0.4}, kSndr), 1.1);
}

// Controls take away all noise of a constant reward.
TEST(BlendTest, IsExactForAConstantReward) {
  RandomSequence random(SeedKey(3));
  PolicySums sums(1, 64);
  for (uint64_t i = 0; i < 200; ++i) {
    const JudgedDecision decision = {.log_weight = random.Normal(),
                                     .modelled_logged = random.Uniform(),
                                     .modelled_policy = random.Uniform()};
    sums.Add(i, 1, 0.3, {&decision, 1});
  }
  EXPECT_NEAR(ValueOf(sums, EstimatorKind::kBlendedDr), 0.3, 1e-9);
}

TEST(BlendTest, IsTheModelWhereThePolicyNeverDoesWhatWasLogged) {
  PolicySums sums(1, 64);
  for (uint64_t i = 0; i < 10; ++i) {
    const JudgedDecision decision = {
        .log_weight = -std::numeric_limits<double>::infinity(),
        .modelled_logged = 0.9,
        .modelled_policy = 0.25};
    sums.Add(i, 1, 1, {&decision, 1});
  }
  EXPECT_NEAR(ValueOf(sums, EstimatorKind::kBlendedDr), 0.25, 1e-12);
}

TEST(BlendTest, NothingIsKnownOfAnEmptyLog) {
  const PolicySums sums(1, 16);
  const auto ratios = sums.RatiosOf(0, {EstimatorKind::kBlendedDr});
  EXPECT_TRUE(std::isinf(EstimateRatios(sums.sums(), ratios).standard_error));
}

// The two ratios are of sums, so that parts of a log can be merged.
TEST(BlendTest, MergedPartsGiveWhatTheWholeGives) {
  PolicySums merged = DrawSums({}, 1);
  const PolicySums other = DrawSums({}, 2);
  merged.Merge(other);
  PolicySums reversed = DrawSums({}, 2);
  reversed.Merge(DrawSums({}, 1));
  EXPECT_NEAR(ValueOf(merged, EstimatorKind::kBlendedDr),
              ValueOf(reversed, EstimatorKind::kBlendedDr), 1e-9);
}

TEST(EstimatorTest, KeysAreThoseOfTheOption) {
  const std::string help = config::v1::OpeOptions::descriptor()
                               ->FindFieldByName("estimator")
                               ->options()
                               .GetExtension(config::v1::info)
                               .help();
  const std::vector<std::string> keys =
      absl::StrSplit(help.substr(0, help.find(';')), ", ");
  // "Whose value is the answer: auto" comes first.
  ASSERT_EQ(keys.size(), AllEstimatorKinds().size() + 1);
  for (size_t i = 1; i < keys.size(); ++i) {
    const auto kind = EstimatorOfKey(keys[i]);
    ASSERT_TRUE(kind.has_value()) << keys[i];
    EXPECT_EQ(EstimatorKey(*kind), keys[i]);
    EXPECT_FALSE(EstimatorName(*kind).empty());
  }
  EXPECT_FALSE(EstimatorOfKey("auto").has_value());
}

}  // namespace
}  // namespace sortition
