#include "core/counterfactual/evaluation/policy_sums.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
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

TEST(PolicySumsTest, UnbiasedEstimatorsHaveTheValueAsExpectation) {
  const PolicySums sums = ExactLog();
  for (const EstimatorKind kind :
       {EstimatorKind::kIps, EstimatorKind::kControlledIps,
        EstimatorKind::kSelfNormalised, EstimatorKind::kDoublyRobust,
        EstimatorKind::kSelfNormalisedDr, EstimatorKind::kMoreRobustDr,
        EstimatorKind::kBalanced, EstimatorKind::kWeighted,
        EstimatorKind::kMarginalised}) {
    EXPECT_NEAR(ValueOf(sums, {kind}), kNewValue, 1e-12) << EstimatorName(kind);
  }
  EXPECT_NEAR(ValueOf(sums, {EstimatorKind::kDirect}), kModelValue, 1e-12);
  EXPECT_NEAR(EstimateRatios(sums.sums(), {{sums.LoggedReward()}}).value,
              kLoggedValue, 1e-12);
  EXPECT_NEAR(EstimateRatios(sums.sums(), {{sums.MeanWeight(0)}}).value, 1,
              1e-12);
  EXPECT_EQ(sums.num_decisions(), 100u);
}

// The definitions, summed over actions: Σ_a p(a) E[term | a].
TEST(PolicySumsTest, BiasedEstimatorsHaveTheExpectationOfTheirTerms) {
  const PolicySums sums = ExactLog();
  for (const Estimator& estimator : AllEstimators()) {
    const double parameter = estimator.parameter;
    double expected = 0;
    for (size_t a = 0; a < kActions; ++a) {
      const double weight = kNew[a] / kLogging[a];
      const double gain = kReward[a] - kModel[a];
      double term = -1;
      switch (estimator.kind) {
        case EstimatorKind::kClipped:
          term = std::fmin(parameter, weight) * kReward[a];
          break;
        case EstimatorKind::kLogSmoothed:
          // Rewards are 0 or 1.
          term = kReward[a] * std::log(1 + parameter * weight) / parameter;
          break;
        case EstimatorKind::kSubGaussian:
          term = weight / (1 - parameter + parameter * weight) * kReward[a];
          break;
        case EstimatorKind::kClippedDr:
          term = kModelValue + std::fmin(parameter, weight) * gain;
          break;
        case EstimatorKind::kOptimisticDr:
          term = kModelValue +
                 parameter * weight / (weight * weight + parameter) * gain;
          break;
        case EstimatorKind::kSwitch:
          term = kModelValue + (weight <= parameter ? weight * gain : 0);
          break;
        default:
          break;
      }
      expected += kLogging[a] * term;
    }
    if (ParametersOf(estimator.kind).empty()) continue;
    EXPECT_NEAR(ValueOf(sums, estimator), expected, 1e-12)
        << EstimatorName(estimator.kind) << " " << parameter;
  }
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

TEST(PolicySumsTest, ControlTakesAwayTheVarianceOfConstantRewards) {
  RandomSequence random(SeedKey(3));
  PolicySums sums(1, 4096);
  for (uint64_t i = 0; i < 1000; ++i) {
    const JudgedDecision decision = Judge(DrawAction(&random));
    sums.Add(i, 1, 0.7, {&decision, 1});
  }
  const RatioEstimate plain =
      EstimateRatios(sums.sums(), sums.RatiosOf(0, {EstimatorKind::kIps}));
  const RatioEstimate controlled = EstimateRatios(
      sums.sums(), sums.RatiosOf(0, {EstimatorKind::kControlledIps}));
  EXPECT_GT(plain.standard_error, 0.01);
  EXPECT_NEAR(controlled.value, 0.7, 1e-12);
  EXPECT_NEAR(controlled.standard_error, 0, 1e-12);
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

// Two logging policies: each estimate is as its paper has it, on one log.
TEST(PolicySumsTest, SeveralLogsAreCombinedAsInThePaper) {
  RandomSequence random(SeedKey(6));
  PolicySums sums(1, 4096);
  const double other[kActions] = {0.1, 0.1, 0.1, 0.7};
  double balanced = 0;
  double count[2] = {};
  double gain[2] = {};
  double weights[2] = {};
  double squares[2] = {};
  for (uint64_t i = 0; i < 900; ++i) {
    const size_t logger = i % 3 == 0 ? 1 : 0;
    const size_t a = logger == 0 ? DrawAction(&random)
                                 : (random.Uniform() < 0.7 ? 3 : i % 9 / 3);
    const double reward = random.Uniform() < kReward[a] ? 1 : 0;
    const double weight = kNew[a] / (logger == 0 ? kLogging[a] : other[a]);
    const double mixed = kNew[a] / (kLogging[a] * 2 / 3 + other[a] / 3);
    balanced += mixed * reward / 900;
    count[logger] += 1;
    gain[logger] += weight * reward;
    weights[logger] += weight;
    squares[logger] += weight * weight;
    JudgedDecision decision = {.log_weight = std::log(weight)};
    decision.log_balanced_weight = std::log(mixed);
    sums.Add(i, 1, reward, {&decision, 1}, logger);
  }
  EXPECT_NEAR(ValueOf(sums, {EstimatorKind::kBalanced}), balanced, 1e-12);
  const double precision[2] = {weights[0] * weights[0] / squares[0],
                               weights[1] * weights[1] / squares[1]};
  EXPECT_NEAR(
      ValueOf(sums, {EstimatorKind::kWeighted}),
      (precision[0] * gain[0] / count[0] + precision[1] * gain[1] / count[1]) /
          (precision[0] + precision[1]),
      1e-12);
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

}  // namespace
}  // namespace sortition
