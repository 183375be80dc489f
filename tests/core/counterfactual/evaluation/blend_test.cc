#include "core/counterfactual/evaluation/blend.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

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

// All weights are 1: IPS and SNIPS are the mean of the log, and the model is
// for nothing.
TEST(BlendTest, IsNearTheBestWhereNothingIsToBeClipped) {
  EXPECT_LT(RelativeError({.rare = kOften}, EstimatorKind::kSelfNormalised),
            1.05);
}

TEST(BlendTest, UsesAModelThatKnowsMore) {
  EXPECT_LT(RelativeError({.rare = 0.2}, EstimatorKind::kSelfNormalised), 0.9);
}

// The model is the wrong way round: its control is taken with the other sign.
TEST(BlendTest, AModelThatMisleadsDoesNoHarm) {
  EXPECT_LT(RelativeError({.bias = 0.3, .knowledge = -1, .rare = 0.2},
                          EstimatorKind::kSelfNormalised),
            1.05);
}

// Clipping alone would take away four fifths of the squared error.
TEST(BlendTest, ClipsRareLargeWeightsIfTheModelIsRight) {
  EXPECT_LT(RelativeError({}, EstimatorKind::kSelfNormalisedDr), 0.7);
}

// Clipping at 5 cuts off two fifths of the policy, where the model is off by
// 0.4: a bias of 0.16, six standard errors.
TEST(BlendTest, KeepsRareLargeWeightsIfTheModelIsBiased) {
  EXPECT_LT(RelativeError({.bias = 0.4}, EstimatorKind::kSelfNormalisedDr),
            1.1);
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

}  // namespace
}  // namespace sortition
