#include "core/counterfactual/evaluation/planning.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

constexpr double kPower = 0.8;

TEST(PlanningTest, IsTheTextbooksNumber) {
  // (1.96 + 0.8416)² σ² / Δ², σ = 0.5, Δ = 0.05: 785.
  const double error = 0.5 / std::sqrt(1000.0);
  EXPECT_EQ(DecisionsToSee(error, 1000, 0.05, kAlpha, kPower), 785u);
  // Half the difference takes four times as many.
  EXPECT_NEAR(
      static_cast<double>(DecisionsToSee(error, 1000, 0.025, kAlpha, kPower)),
      4 * 784.9, 1);
  // ((2.7162 + 0.8416) / (1.96 + 0.8416))² = 1.6127
  EXPECT_NEAR(static_cast<double>(DecisionsToSee(
                  error, 1000, 0.05, kAlpha, kPower, IntervalKind::kBetting)),
              1.6127 * 784.9, 1);
  EXPECT_EQ(DecisionsToSee(std::numeric_limits<double>::infinity(), 1, 0.05,
                           kAlpha, kPower),
            std::numeric_limits<uint64_t>::max());
}

// With as many decisions as planned, that many logs show the improvement.
TEST(PlanningTest, AsManyLogsSeeItAsWasPlanned) {
  // Σ p (ρ - 1)² E[r] of the toy, and its mean.
  double square = 0;
  for (size_t a = 0; a < kActions; ++a) {
    const double more = kNew[a] / kLogging[a] - 1;
    square += kLogging[a] * more * more * kReward[a];
  }
  const double gain = kNewValue - kLoggedValue;
  const double spread = std::sqrt(square - gain * gain);
  for (const IntervalKind kind :
       {IntervalKind::kStudent, IntervalKind::kBetting}) {
    const uint64_t planned =
        DecisionsToSee(spread, 1, gain, kAlpha, kPower, kind);
    constexpr int kLogs = 300;
    int seen = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      RandomSequence random(SeedKey(log));
      PolicySums sums(1, GroupSums::kDefaultGroups);
      for (uint64_t i = 0; i < planned; ++i) {
        const size_t action = DrawAction(&random);
        const JudgedDecision decision = Judge(action);
        sums.Add(UnitKey(std::to_string(i), ""), 1,
                 random.Uniform() < kReward[action] ? 1 : 0, {&decision, 1});
      }
      IntervalTask task;
      task.sums = &sums;
      task.of = IntervalTask::Of::kGainOverLog;
      task.confidence = 1 - 2 * kAlpha;
      seen += MakeInterval(task, kind)->interval.lower > 0 ? 1 : 0;
    }
    // Four standard errors of 300 logs, and what the normal distribution leaves
    // out: few decisions, skewed.
    EXPECT_NEAR(seen, kLogs * kPower, 4 * std::sqrt(kLogs * 0.16) + 15)
        << IntervalKey(kind) << " " << planned;
  }
}

}  // namespace
}  // namespace sortition
