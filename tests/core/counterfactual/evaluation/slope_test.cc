#include "core/counterfactual/evaluation/slope.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

constexpr double kConfidence = 0.9;

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
  EXPECT_EQ(
      ChooseBySlope(ToyLog(60000, 1), 0, EstimatorKind::kClipped, kConfidence)
          .parameter,
      10);
}

TEST(SlopeTest, FewDecisionsAllowBias) {
  EXPECT_EQ(ChooseBySlope(ToyLog(5, 2), 0, EstimatorKind::kClipped, kConfidence)
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
    const Estimator chosen = ChooseBySlope(sums, 0, kind, kConfidence);
    EXPECT_EQ(chosen.kind, kind);
    const double value =
        EstimateRatios(sums.sums(), sums.RatiosOf(0, chosen)).value;
    EXPECT_LT(std::fabs(value - 0.5), 0.2) << EstimatorName(kind);
  }
}

TEST(SlopeTest, WithoutGroupsThereIsLeastBias) {
  const PolicySums empty(1, 16);
  EXPECT_EQ(
      ChooseBySlope(empty, 0, EstimatorKind::kClipped, kConfidence).parameter,
      1000);
  EXPECT_EQ(ChooseBySlope(empty, 0, EstimatorKind::kIps, kConfidence).kind,
            EstimatorKind::kIps);
}

}  // namespace
}  // namespace sortition
