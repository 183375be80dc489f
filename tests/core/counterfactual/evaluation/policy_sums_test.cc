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

const EstimatorKind kAllKinds[] = {EstimatorKind::kIps,
                                   EstimatorKind::kControlledIps,
                                   EstimatorKind::kSelfNormalised,
                                   EstimatorKind::kClipped,
                                   EstimatorKind::kLogSmoothed,
                                   EstimatorKind::kSubGaussian,
                                   EstimatorKind::kDirect,
                                   EstimatorKind::kDoublyRobust,
                                   EstimatorKind::kSelfNormalisedDr,
                                   EstimatorKind::kClippedDr,
                                   EstimatorKind::kOptimisticDr,
                                   EstimatorKind::kSwitch};

std::vector<Estimator> AllEstimators() {
  std::vector<Estimator> all;
  for (const EstimatorKind kind : kAllKinds) {
    const std::vector<double> parameters = ParametersOf(kind);
    if (parameters.empty()) all.push_back({kind});
    for (const double parameter : parameters) all.push_back({kind, parameter});
  }
  return all;
}

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
      sums.Add(unit++, i < wins ? 1 : 0, {&decision, 1});
    }
  }
  return sums;
}

TEST(PolicySumsTest, UnbiasedEstimatorsHaveTheValueAsExpectation) {
  const PolicySums sums = ExactLog();
  for (const EstimatorKind kind :
       {EstimatorKind::kIps, EstimatorKind::kControlledIps,
        EstimatorKind::kSelfNormalised, EstimatorKind::kDoublyRobust,
        EstimatorKind::kSelfNormalisedDr}) {
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
  for (const EstimatorKind kind : kAllKinds) {
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
    sums.Add(i, 0.7, {&decision, 1});
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
    JudgedDecision policies[2];
    for (JudgedDecision& policy : policies) {
      policy = {2 * random.Normal(), random.Uniform(), random.Uniform()};
    }
    whole.Add(unit, reward, policies);
    parts[i % 3].Add(unit, reward, policies);
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
}

// Equal policies differ by nothing, and that is certain.
TEST(PolicySumsTest, DifferencesArePaired) {
  RandomSequence random(SeedKey(5));
  PolicySums sums(2, 512);
  for (uint64_t i = 0; i < 300; ++i) {
    const JudgedDecision decision = Judge(DrawAction(&random));
    const JudgedDecision both[2] = {decision, decision};
    sums.Add(i, random.Uniform(), both);
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
  sums.Add(1, 1, {&impossible, 1});
  sums.Add(2, 1, {&likely, 1});
  for (const Estimator& estimator : AllEstimators()) {
    const double value = ValueOf(sums, estimator);
    EXPECT_TRUE(std::isfinite(value)) << EstimatorName(estimator.kind);
  }
  EXPECT_EQ(ValueOf(sums, {EstimatorKind::kIps}), 1);
  EXPECT_EQ(sums.EffectiveSampleSize(0), 1);
}

}  // namespace
}  // namespace sortition
