#include "core/counterfactual/risks.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/moments.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/invalid.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LossSample {
  std::vector<double> losses;
  std::vector<double> log_weights;
};

// Losses in [-1, 0], one of seven 0; weights from e^-3 to e^3.
LossSample RandomSample(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  LossSample sample;
  for (size_t i = 0; i < n; ++i) {
    sample.losses.push_back(i % 7 == 3 ? 0 : -random.Uniform());
    sample.log_weights.push_back(6 * random.Uniform() - 3);
  }
  return sample;
}

double Value(const Risk& risk, const LossSample& sample) {
  return risk.Evaluate(sample.losses, sample.log_weights, {});
}

std::vector<std::unique_ptr<Risk>> AllRisks() {
  std::vector<std::unique_ptr<Risk>> risks;
  for (const double lambda : {0.0, 2.0}) {
    for (const double clip : {1.5, kInfinity}) {
      risks.push_back(
          std::make_unique<CrmRisk>(*CrmRisk::Create(clip, lambda)));
    }
    risks.push_back(std::make_unique<SelfNormalisedRisk>(
        *SelfNormalisedRisk::Create(lambda)));
  }
  risks.push_back(
      std::make_unique<LogSmoothingRisk>(*LogSmoothingRisk::Create(0.3)));
  return risks;
}

TEST(ClippedLossesTest, AreThoseOfEachTuple) {
  LossSample sample = RandomSample(103, 9);
  sample.log_weights[0] = -kInfinity;
  sample.log_weights[1] = 800;  // Overflows a double, but is clipped.
  sample.log_weights[2] = std::log(5);
  std::vector<double> values = sample.log_weights;
  std::vector<double> slopes(values.size());
  ClippedLosses(sample.losses, /*clip=*/5, values, slopes);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i],
                ClippedLoss(sample.losses[i], sample.log_weights[i], 5), 1e-15);
    if (i == 2) continue;  // At the edge both are right.
    EXPECT_NEAR(slopes[i],
                ClippedLossSlope(sample.losses[i], sample.log_weights[i], 5),
                1e-15);
  }
}

TEST(MomentsTest, ManyAtOnceAreAsOneByOne) {
  // Values are far from 0, where a difference of squares would cancel.
  RandomSequence random(SeedKey(2));
  std::vector<double> values(1003);
  for (double& value : values) value = 1e6 + random.Normal();
  Moments each, parts;
  for (const double value : values) each.Add(value);
  const std::span<const double> all(values);
  parts.Add(all.first(1));
  parts.Add(all.subspan(1, 0));
  parts.Add(all.subspan(1, 102));
  parts.Add(all.subspan(103));
  EXPECT_EQ(parts.count(), each.count());
  EXPECT_NEAR(parts.mean(), each.mean(), 1e-9);
  EXPECT_NEAR(parts.variance(), each.variance(), 1e-9);
}

TEST(RisksTest, SlopesAreThoseOfCentralDifferences) {
  const LossSample sample = RandomSample(40, 1);
  int which = 0;
  for (const auto& risk : AllRisks()) {
    SCOPED_TRACE(which++);
    std::vector<double> slopes(sample.losses.size());
    EXPECT_EQ(risk->Evaluate(sample.losses, sample.log_weights, slopes),
              Value(*risk, sample));
    double largest = 0;
    for (const double slope : slopes) {
      largest = std::max(largest, std::abs(slope));
    }
    // Truncation is of order step² = 1e-10, rounding 1e-16 / step = 1e-11.
    constexpr double kStep = 1e-5;
    for (size_t i = 0; i < slopes.size(); ++i) {
      LossSample above = sample, below = sample;
      above.log_weights[i] += kStep;
      below.log_weights[i] -= kStep;
      const double difference =
          (Value(*risk, above) - Value(*risk, below)) / (2 * kStep);
      EXPECT_NEAR(slopes[i], difference, 1e-6 * largest) << i;
    }
  }
}

// ρ = (1, 4), δ = (-1, -0.5), M = 2: u = (-1, -1), or (-1, -2) without M.
TEST(RisksTest, CrmIsTheFormula) {
  const LossSample sample = {{-1, -0.5}, {0, std::log(4.0)}};
  EXPECT_NEAR(Value(*CrmRisk::Create(2, 3), sample), -1, 1e-15);
  // V = 2 · 0.5² / 1, √(V/2) = 0.5.
  EXPECT_NEAR(Value(*CrmRisk::Create(kInfinity, 3), sample), -1.5 + 3 * 0.5,
              1e-15);
}

// ρ = (1, 3), δ = (-1, 0): S = -1/4; (δ-S)ρ = (-3/4, 3/4), V = (9/8) / 16.
TEST(RisksTest, SelfNormalisedIsTheFormula) {
  const LossSample sample = {{-1, 0}, {0, std::log(3.0)}};
  EXPECT_NEAR(Value(*SelfNormalisedRisk::Create(2), sample),
              -0.25 + 2 * std::sqrt(9 / 8.0 / 16), 1e-15);
}

// ρ = (1, 4), δ = (-1, -0.5), λ = 0.5: -(log 1.5 + log 2) / (0.5 · 2).
TEST(RisksTest, LogSmoothingIsTheFormula) {
  const LossSample sample = {{-1, -0.5}, {0, std::log(4.0)}};
  EXPECT_NEAR(Value(*LogSmoothingRisk::Create(0.5), sample), -std::log(3.0),
              1e-15);
}

TEST(RisksTest, LogSmoothingOfSmallLambdaIsIpsFromAbove) {
  const LossSample sample = RandomSample(100, 2);
  const double ips = Value(*CrmRisk::Create(kInfinity, 0), sample);
  const double smoothed = Value(*LogSmoothingRisk::Create(1e-7), sample);
  EXPECT_GT(smoothed, ips);
  EXPECT_NEAR(smoothed, ips, 1e-4);
}

// Shifted losses shift the self-normalised risk; IPS moves by the mean weight
// times the shift.
TEST(RisksTest, OnlyTheSelfNormalisedRiskShiftsWithTheLosses) {
  const LossSample sample = RandomSample(50, 3);
  LossSample shifted = sample;
  for (double& loss : shifted.losses) loss -= 0.7;
  const SelfNormalisedRisk normalised = *SelfNormalisedRisk::Create(1.5);
  std::vector<double> slopes(50), shifted_slopes(50);
  EXPECT_NEAR(
      normalised.Evaluate(shifted.losses, shifted.log_weights, shifted_slopes),
      normalised.Evaluate(sample.losses, sample.log_weights, slopes) - 0.7,
      1e-14);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_NEAR(slopes[i], shifted_slopes[i], 1e-14);
  }
  const CrmRisk ips = *CrmRisk::Create(kInfinity, 0);
  EXPECT_GT(std::abs(Value(ips, shifted) - (Value(ips, sample) - 0.7)), 0.5);
}

TEST(RisksTest, WeightsBeyondTheRangeOfDoublesDoNotOverflow) {
  const LossSample sample = {{-1, -0.5, 0}, {1e4, 1e4, -kInfinity}};
  std::vector<double> slopes(3);
  EXPECT_NEAR(SelfNormalisedRisk::Create(0)->Evaluate(
                  sample.losses, sample.log_weights, slopes),
              -0.75, 1e-15);
  EXPECT_EQ(slopes[2], 0);
  // log(1 + λ ρ |δ|) is 1e4 + log(λ |δ|) here.
  EXPECT_NEAR(LogSmoothingRisk::Create(0.5)->Evaluate(
                  sample.losses, sample.log_weights, slopes),
              -(2e4 + std::log(0.5) + std::log(0.25)) / (0.5 * 3), 1e-9);
  EXPECT_NEAR(slopes[0], -1 / (0.5 * 3), 1e-15);
  EXPECT_EQ(slopes[2], 0);
}

TEST(RisksTest, NoWeightAtAllIsNoRisk) {
  const LossSample sample = {{-1, -0.5}, {-kInfinity, -kInfinity}};
  for (const auto& risk : AllRisks()) {
    std::vector<double> slopes(2, 7);
    EXPECT_EQ(risk->Evaluate(sample.losses, sample.log_weights, slopes), 0);
    EXPECT_EQ(slopes, std::vector<double>(2, 0));
  }
}

// Logging: two actions with p = (0.9, 0.1), losses (-0.2, -0.9); the policy
// takes the second with probability 0.6: true risk -0.62, weights (4/9, 6).
TEST(RisksTest, LogSmoothingBoundHoldsAsOftenAsItSays) {
  constexpr int kRepetitions = 2000;
  constexpr int kTuples = 100;
  constexpr double kLambda = 0.2;
  constexpr double kFailure = 0.2;
  constexpr double kTrueRisk = 0.4 * -0.2 + 0.6 * -0.9;
  const LogSmoothingRisk risk = *LogSmoothingRisk::Create(kLambda);
  RandomSequence random(SeedKey(4));
  int failures = 0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    LossSample sample;
    for (int i = 0; i < kTuples; ++i) {
      const bool second = random.Uniform() < 0.1;
      sample.losses.push_back(second ? -0.9 : -0.2);
      sample.log_weights.push_back(std::log(second ? 6.0 : 4 / 9.0));
    }
    const double bound =
        LogSmoothingBound(Value(risk, sample), kLambda, kTuples, kFailure);
    failures += bound < kTrueRisk ? 1 : 0;
  }
  // At most 20 %, and not vacuous: a bound that never fails is no test.
  EXPECT_LE(failures, kFailure * kRepetitions);
  EXPECT_GT(failures, 0);
}

TEST(RisksTest, NamesWhatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto invalid = [](const char* text) {
    return IsInvalid(HasSubstr(text));
  };
  EXPECT_THAT(CrmRisk::Create(0.5, 0), invalid("clip is 0.5"));
  EXPECT_THAT(CrmRisk::Create(nan, 0), invalid("clip is nan"));
  EXPECT_THAT(CrmRisk::Create(1, -1), invalid("lambda is -1"));
  EXPECT_THAT(SelfNormalisedRisk::Create(kInfinity), invalid("lambda is inf"));
  EXPECT_THAT(LogSmoothingRisk::Create(0), invalid("lambda is 0"));
}

}  // namespace
}  // namespace sortition
