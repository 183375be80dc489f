#include "core/counterfactual/evaluation/choose_estimator.h"

#include <cmath>
#include <cstdint>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Two kinds of context that reward 0.9 and 0.1 whatever is done, so that the
// value of every policy is 0.5. One action in 200 has the weight 100.
struct ModelledLog {
  double bias = 0;       // Of the model.
  double knowledge = 1;  // How much of the contexts it knows, within [-1, 1].
  double rare = 0.005;   // Frequency of the large weight.
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

EstimatorKind KindOf(const ModelledLog& log, bool has_model = true) {
  return ChooseEstimator(DrawSums(log, 1), 0, has_model).kind;
}

// Weights near 1: nothing to clip.
constexpr double kOften = 0.5;

TEST(ChooseEstimatorTest, WithoutModelItIsSelfNormalised) {
  EXPECT_EQ(KindOf({.rare = kOften}, false), EstimatorKind::kSelfNormalised);
  EXPECT_EQ(KindOf({}, false), EstimatorKind::kSelfNormalised);
}

TEST(ChooseEstimatorTest, AModelThatKnowsMoreIsUsed) {
  EXPECT_TRUE(NeedsModel(KindOf({.rare = 0.2})));
}

TEST(ChooseEstimatorTest, AModelThatMisleadsIsNotUsed) {
  EXPECT_EQ(KindOf({.bias = 0.3, .knowledge = -1, .rare = 0.2}),
            EstimatorKind::kSelfNormalised);
}

TEST(ChooseEstimatorTest, RareLargeWeightsAreClippedIfTheModelIsRight) {
  EXPECT_EQ(KindOf({}), EstimatorKind::kClippedDr);
}

// Clipping at any M above 1 and below 100 cuts off nearly half of the policy,
// where the model is off by 0.4.
TEST(ChooseEstimatorTest, RareLargeWeightsAreKeptIfTheModelIsBiased) {
  EXPECT_EQ(KindOf({.bias = 0.4}), EstimatorKind::kSelfNormalisedDr);
}

// What the choice is for. Clipping would take away nine tenths of the squared
// error; caution leaves most of it, because the bias of the model is estimated
// with the very noise that clipping removes.
TEST(ChooseEstimatorTest, TheErrorIsSmallerThanThatOfSelfNormalised) {
  double chosen = 0;
  double self_normalised = 0;
  for (uint64_t log = 0; log < 200; ++log) {
    const PolicySums sums = DrawSums({}, 100 + log);
    const auto squared_error = [&](const Estimator& estimator) {
      const double error =
          EstimateRatios(sums.sums(), sums.RatiosOf(0, estimator)).value - 0.5;
      return error * error;
    };
    chosen += squared_error(ChooseEstimator(sums, 0, true));
    self_normalised += squared_error({EstimatorKind::kSelfNormalisedDr});
  }
  EXPECT_LT(chosen, 0.9 * self_normalised);
}

TEST(ChooseEstimatorTest, NothingIsKnownOfAnEmptyLog) {
  EXPECT_EQ(ChooseEstimator(PolicySums(1, 16), 0, true).kind,
            EstimatorKind::kSelfNormalised);
}

}  // namespace
}  // namespace sortition
