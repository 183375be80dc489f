#include "core/counterfactual/risks.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/likelihood_terms.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/penalised_mean.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/counterfactual/unit_weights.h"
#include "core/counterfactual/weighted_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/counterfactual/toy_policy.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
  EXPECT_THAT(CrmRisk::Create(0.5, 0), IsInvalidArgument("clip is 0.5"));
  EXPECT_THAT(CrmRisk::Create(nan, 0), IsInvalidArgument("clip is nan"));
  EXPECT_THAT(CrmRisk::Create(1, -1), IsInvalidArgument("lambda is -1"));
  EXPECT_THAT(SelfNormalisedRisk::Create(kInfinity),
              IsInvalidArgument("lambda is inf"));
  EXPECT_THAT(LogSmoothingRisk::Create(0), IsInvalidArgument("lambda is 0"));
}

Eigen::VectorXd RandomPoint(RandomSequence* random) {
  return Eigen::Vector2d(random->Normal(), random->Normal());
}

TEST(RiskObjectiveTest, ValueIsTheFormula) {
  // Two tuples; at w = 0 every action has probability 1/3. p = (1/2, 1/12):
  // ρ = (2/3, 4), clipped at 3; δ = (-0.6, -0.5): u = (-0.4, -1.5).
  // ū = -0.95, V = 2·0.55² / 1 = 0.605, √(V/2) = 0.55.
  ToyPolicy policy(2, 1);
  policy.losses = {-0.6, -0.5};
  policy.log_propensities = {std::log(1 / 2.0), std::log(1 / 12.0)};
  ASSERT_OK_AND_ASSIGN(const auto risk, CrmRisk::Create(3, 2));
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       RiskObjective::Create(&policy, &risk, 0.1));
  EXPECT_NEAR(objective.Evaluate(Eigen::VectorXd::Zero(2), nullptr),
              -0.95 + 2 * 0.55, 1e-14);
}

TEST(RiskObjectiveTest, GradientWithoutVarianceIsFinite) {
  // All u are equal: V = 0, where √V has no derivative.
  ToyPolicy policy(4, 5);
  policy.losses.assign(4, 0.0);
  ASSERT_OK_AND_ASSIGN(const auto risk, CrmRisk::Create(10, 1));
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       RiskObjective::Create(&policy, &risk, 0));
  Eigen::VectorXd gradient(2);
  EXPECT_EQ(objective.Evaluate(Eigen::Vector2d(1, 1), &gradient), 0);
  EXPECT_EQ(gradient.norm(), 0);
}

// Compares whole passes in blocks with passes at once, also for a risk that
// leaves tuples out.
TEST(RiskObjectiveTest, BlocksChangeNothing) {
  ToyPolicy policy(50, 6);
  policy.losses[7] = 0;
  const Eigen::VectorXd point = Eigen::Vector2d(0.3, -1);
  ASSERT_OK_AND_ASSIGN(const auto crm, CrmRisk::Create(2, 1));
  ASSERT_OK_AND_ASSIGN(const auto normalised, SelfNormalisedRisk::Create(1));
  for (const Risk* risk : {static_cast<const Risk*>(&crm),
                           static_cast<const Risk*>(&normalised)}) {
    ASSERT_OK_AND_ASSIGN(const auto objective,
                         RiskObjective::Create(&policy, risk, 0.1));
    EXPECT_EQ(std::isinf(objective.LogWeights(point)[7]),
              risk->ignores_zero_losses());
    ExpectBlocksChangeNothing(objective, point, &policy);
  }
}

Moments LossMoments(ToyPolicy* policy, const Eigen::VectorXd& w, double clip) {
  Moments moments;
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    moments.Add(ClippedLoss(
        policy->losses[i],
        policy->LogProbability(w, i) - policy->log_propensities[i], clip));
  }
  return moments;
}

// Prop. 4 by brute force: sums over the tuples.
double Majorant(const VarianceMajoriser& majoriser, ToyPolicy* policy,
                const Eigen::VectorXd& w, double clip) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    const double u = ClippedLoss(
        policy->losses[i],
        policy->LogProbability(w, i) - policy->log_propensities[i], clip);
    sum += u;
    squares += u * u;
  }
  return majoriser.linear * sum + majoriser.quadratic * squares +
         majoriser.constant;
}

TEST(MajoriserTest, TouchesAtItsPointAndBoundsElsewhere) {
  ToyPolicy policy(40, 7);
  constexpr double kClip = 5;
  RandomSequence random(SeedKey(8));
  for (int repetition = 0; repetition < 20; ++repetition) {
    const Eigen::VectorXd origin = RandomPoint(&random);
    const Moments at_origin = LossMoments(&policy, origin, kClip);
    const VarianceMajoriser majoriser = MajoriseStandardDeviation(at_origin);
    EXPECT_NEAR(Majorant(majoriser, &policy, origin, kClip),
                std::sqrt(at_origin.variance()), 1e-12);
    for (int other = 0; other < 20; ++other) {
      const Eigen::VectorXd w = 2 * RandomPoint(&random);
      EXPECT_GE(Majorant(majoriser, &policy, w, kClip),
                std::sqrt(LossMoments(&policy, w, kClip).variance()) - 1e-12);
    }
  }
}

TEST(CrmValidationTest, NamesWhatIsOutOfRange) {
  ToyPolicy policy(3, 9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ValidateCrm(policy, {.clip = 0.5}),
              IsInvalidArgument("clip is 0.5"));
  EXPECT_THAT(ValidateCrm(policy, {.lambda = nan}),
              IsInvalidArgument("lambda is nan"));
  EXPECT_THAT(ValidateCrm(policy, {.l2 = -1}), IsInvalidArgument("l2 is -1"));
  EXPECT_OK(ValidateCrm(policy, {}));
  for (const double loss : {0.25, -1.5, nan}) {
    policy.losses[1] = loss;
    EXPECT_THAT(ValidateCrm(policy, {}), IsInvalidArgument("loss of tuple 1"));
  }
  policy.losses[1] = -1;
  policy.log_propensities[2] = 0.1;
  EXPECT_THAT(ValidateCrm(policy, {}),
              IsInvalidArgument("log-propensity of tuple 2 is 0.1"));
  EXPECT_THAT(ValidateCrm(ToyPolicy(1, 1), {}),
              IsInvalidArgument("there are 1"));
}

TEST(LossScalingTest, BestRewardIsMinusOneAndWorstIsZero) {
  EXPECT_EQ(RewardToLoss(5, -3, 5), -1);
  EXPECT_EQ(RewardToLoss(-3, -3, 5), 0);
  EXPECT_EQ(RewardToLoss(1, -3, 5), -0.5);
  EXPECT_EQ(LossToReward(-0.5, -3, 5), 1);
}

// Computes the same number in two ways: from all weights, and from single
// terms.
TEST(TermObjectiveTest, EqualsTheRiskOfTheWeights) {
  ToyPolicy policy(50, 1);
  policy.losses[7] = 0;
  const Eigen::VectorXd point = Eigen::Vector2d(0.4, -0.8);
  const CrmRisk crm = *CrmRisk::Create(2, 3);
  const CrmRisk ips = *CrmRisk::Create(HUGE_VAL, 0);
  const LogSmoothingRisk smoothed = *LogSmoothingRisk::Create(0.3);
  struct Case {
    const Risk* risk;
    TermFunction term;
    double lambda;
  };
  for (const Case& c :
       {Case{&crm, ClippedTerm(2), 3}, Case{&ips, ClippedTerm(HUGE_VAL), 0},
        Case{&smoothed, LogSmoothedTerm(0.3), 0}}) {
    ASSERT_OK_AND_ASSIGN(const auto whole,
                         RiskObjective::Create(&policy, c.risk, 0.1));
    ASSERT_OK_AND_ASSIGN(auto terms,
                         WeightedTerms::Create(&policy, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const auto objective,
                         TermObjective::Create(&terms, c.lambda, 0.1));
    Eigen::VectorXd gradient(2), expected(2);
    EXPECT_NEAR(objective.Evaluate(point, &gradient),
                whole.Evaluate(point, &expected), 1e-14);
    EXPECT_LT((gradient - expected).norm(), 1e-13 * expected.norm());
    ExpectGradient(objective, point);
  }
}

TEST(TermObjectiveTest, BlocksChangeNothing) {
  ToyPolicy policy(50, 2);
  policy.losses[3] = 0;
  ASSERT_OK_AND_ASSIGN(auto terms,
                       WeightedTerms::Create(&policy, ClippedTerm(2), nullptr));
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       TermObjective::Create(&terms, 2, 0.1));
  ExpectBlocksChangeNothing(objective, Eigen::Vector2d(-1, 0.2), &policy);
}

TEST(TermObjectiveTest, NamesWhatIsOutOfRange) {
  ToyPolicy policy(5, 3), one(1, 3);
  EXPECT_THAT(WeightedTerms::Create(&one, ClippedTerm(1), nullptr),
              IsInvalidArgument("there are 1, must be at least 2"));
  ASSERT_OK_AND_ASSIGN(auto terms,
                       WeightedTerms::Create(&policy, ClippedTerm(1), nullptr));
  EXPECT_THAT(TermObjective::Create(&terms, -1, 0),
              IsInvalidArgument("lambda is -1"));
  EXPECT_THAT(TermObjective::Create(&terms, 0, std::nan("")),
              IsInvalidArgument("l2 is nan"));
}

// The weights of the policy that logged are p^(1-β): λ* is where mean + λ*
// √(V/n) of its terms is 0. β = 1 is no smoothing.
TEST(CalibratedLambdaTest, ZeroesTheObjectiveOfTheLoggingPolicy) {
  ToyPolicy policy(30, 4);
  const Eigen::VectorXd logging = Eigen::Vector2d(0.5, 0.5);
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  ASSERT_OK_AND_ASSIGN(const double plain, CalibratedLambda(policy));
  for (const double beta : {1.0, 0.6}) {
    SmoothedPropensities smoothed(&policy, beta);
    ASSERT_OK_AND_ASSIGN(const double lambda, CalibratedLambda(policy, beta));
    EXPECT_GT(lambda, 0);
    EXPECT_EQ(std::abs(lambda - plain) < 0.01 * plain, beta == 1);
    ASSERT_OK_AND_ASSIGN(
        auto terms, WeightedTerms::Create(&smoothed, ClippedTerm(10), nullptr));
    ASSERT_OK_AND_ASSIGN(const auto objective,
                         TermObjective::Create(&terms, lambda, 0));
    EXPECT_NEAR(objective.Evaluate(logging, nullptr), 0, 1e-14);
  }
}

TEST(CalibratedLambdaTest, EqualLossesHaveALambdaOnlyIfPropensitiesDiffer) {
  const auto fails = [](const std::string& message) {
    return IsFailedPrecondition(message);
  };
  ToyPolicy policy(4, 5);
  policy.losses.assign(4, -0.25);
  EXPECT_THAT(CalibratedLambda(policy),
              fails("all 4 training tuples have the loss -0.25"));
  EXPECT_OK(CalibratedLambda(policy, 0.5));
  policy.log_propensities.assign(4, std::log(0.25));
  EXPECT_THAT(CalibratedLambda(policy, 0.5),
              fails("all 4 training tuples have the loss times p^(1 - "
                    "smoothing) -0.125"));
}

// Tuples that count as more or less than one: as many copies do.

// The same data twice: tuples of weight 1 to 3, and that many copies of each.
struct Pair {
  explicit Pair(uint64_t seed) : weighted(40, seed), copies(40, seed) {
    weighted.losses[7] = copies.losses[7] = 0;
    for (size_t i = 0; i < 40; ++i) {
      weighted.weights[i] = 1 + static_cast<double>(i % 3);
      for (size_t k = 0; k < i % 3; ++k) copies.Repeat(i);
    }
  }
  ToyPolicy weighted;
  ToyPolicy copies;
};

void ExpectEqual(const Objective& one, const Objective& two,
                 const Eigen::VectorXd& point) {
  Eigen::VectorXd gradient(point.size());
  Eigen::VectorXd other(point.size());
  EXPECT_NEAR(one.Evaluate(point, &gradient), two.Evaluate(point, &other),
              1e-13);
  EXPECT_LT((gradient - other).norm(), 1e-12 * other.norm());
  ExpectGradient(one, point);
}

TEST(TupleWeightsTest, MomentsAreThoseOfCopies) {
  const std::vector<double> values = {0.5, -2, 3, 3.25, 1};
  const std::vector<double> weights = {2, 1, 3, 1, 2};
  Moments each, block, copies;
  for (size_t i = 0; i < values.size(); ++i) {
    each.Add(values[i], weights[i]);
    for (int k = 0; k < weights[i]; ++k) copies.Add(values[i]);
  }
  block.Add(std::span(values).first(2), std::span(weights).first(2));
  block.Add(std::span(values).subspan(2), std::span(weights).subspan(2));
  for (const Moments& moments : {each, block}) {
    EXPECT_EQ(moments.count(), 5);
    EXPECT_EQ(moments.total(), 9);
    EXPECT_NEAR(moments.mean(), copies.mean(), 1e-15);
    EXPECT_NEAR(moments.variance(), copies.variance(), 1e-14);
  }
}

TEST(TupleWeightsTest, RisksAreThoseOfCopies) {
  for (const auto& risk : AllRisks()) {
    Pair pair(1);
    ASSERT_OK_AND_ASSIGN(
        const auto one, RiskObjective::Create(&pair.weighted, risk.get(), 0.1));
    ASSERT_OK_AND_ASSIGN(const auto two,
                         RiskObjective::Create(&pair.copies, risk.get(), 0.1));
    ExpectEqual(one, two, Eigen::Vector2d(0.4, -0.8));
  }
}

TEST(TupleWeightsTest, TermsAreThoseOfCopies) {
  struct Case {
    TermFunction term;
    double lambda;
  };
  for (const Case& c : {Case{ClippedTerm(2), 3}, Case{ClippedTerm(HUGE_VAL), 0},
                        Case{LogSmoothedTerm(0.3), 0}}) {
    Pair pair(2);
    ASSERT_OK_AND_ASSIGN(
        auto few, WeightedTerms::Create(&pair.weighted, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(auto many,
                         WeightedTerms::Create(&pair.copies, c.term, nullptr));
    ASSERT_OK_AND_ASSIGN(const auto one,
                         TermObjective::Create(&few, c.lambda, 0.1));
    ASSERT_OK_AND_ASSIGN(const auto two,
                         TermObjective::Create(&many, c.lambda, 0.1));
    ExpectEqual(one, two, Eigen::Vector2d(-0.3, 0.9));
  }
}

// Weights need not be integers: the gradient is that of the weighted value.
TEST(TupleWeightsTest, GradientsAreExactForAnyWeights) {
  for (const auto& risk : AllRisks()) {
    ToyPolicy policy(50, 3);
    RandomSequence random(SeedKey(4));
    for (double& weight : policy.weights) weight = 0.05 + random.Uniform();
    ASSERT_OK_AND_ASSIGN(const auto objective,
                         RiskObjective::Create(&policy, risk.get(), 0.1));
    ExpectGradient(objective, Eigen::Vector2d(0.7, 0.2));
  }
}

TEST(TupleWeightsTest, TheUnitOfLambdaIsThatOfCopies) {
  Pair pair(5);
  EXPECT_NEAR(*CalibratedLambda(pair.weighted), *CalibratedLambda(pair.copies),
              1e-12);
}

TEST(TupleWeightsTest, EstimatesAreThoseOfCopies) {
  const std::vector<double> rewards = {0, 0.5, 1, 0.25};
  const std::vector<double> log_weights = {0.3, -1, 1.2, 0};
  const std::vector<double> counts = {1, 3, 2, 4};
  OffPolicyEstimator weighted(2), copies(2);
  std::vector<double> copied_rewards, copied_weights;
  for (size_t i = 0; i < rewards.size(); ++i) {
    weighted.Add(rewards[i], log_weights[i], counts[i]);
    for (int k = 0; k < counts[i]; ++k) {
      copies.Add(rewards[i], log_weights[i]);
      copied_rewards.push_back(rewards[i]);
      copied_weights.push_back(log_weights[i]);
    }
  }
  const OffPolicyEstimates one = weighted.Estimate(0.5);
  const OffPolicyEstimates two = copies.Estimate(0.5);
  EXPECT_NEAR(one.improvement.lower, two.improvement.lower, 1e-13);
  EXPECT_NEAR(one.ips.upper, two.ips.upper, 1e-13);
  EXPECT_NEAR(one.snips.lower, two.snips.lower, 1e-13);
  EXPECT_NEAR(one.clipped_fraction, two.clipped_fraction, 1e-15);
  EXPECT_NEAR(one.effective_sample_size, two.effective_sample_size, 1e-12);
  EXPECT_EQ(ChooseEvaluationClip(rewards, log_weights, 1000, 0.9, counts),
            ChooseEvaluationClip(copied_rewards, copied_weights, 1000, 0.9));
}

TEST(TupleWeightsTest, WeightsThatAreNotPositiveOrTooFewAreErrors) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ToyPolicy policy(5, 6);
    policy.weights[3] = bad;
    EXPECT_THAT(ValidateCrm(policy, {}),
                IsInvalidArgument("weight of tuple 3 is"));
  }
  ToyPolicy policy(5, 6);
  policy.weights.assign(5, 0.2);
  EXPECT_THAT(ValidateCrm(policy, {}),
              IsInvalidArgument("add up to 1, must be at least 2"));
  // Two units of 47 decisions: 94 times 1/47 is not quite 2.
  ToyPolicy two_units(94, 6);
  two_units.weights.assign(94, 1.0 / 47);
  EXPECT_OK(ValidateCrm(two_units, {}));
}

// 16 units: √16 / 2 = 2 decisions at most. One has 10, one has 4 halves.
TEST(UnitWeightsTest, AUnitCountsAsHalfTheRootOfTheNumberOfUnits) {
  std::vector<uint64_t> units;
  std::vector<double> weights;
  for (uint64_t unit = 0; unit < 14; ++unit) {
    units.push_back(unit);
    weights.push_back(1);
  }
  units.insert(units.end(), 10, 14);
  weights.insert(weights.end(), 10, 1);
  units.insert(units.end(), 4, 15);
  weights.insert(weights.end(), 4, 0.5);
  const std::vector<double> shares = UnitWeights(units, weights);
  for (size_t i = 0; i < 14; ++i) EXPECT_EQ(shares[i], 1);
  for (size_t i = 14; i < 24; ++i) EXPECT_DOUBLE_EQ(shares[i], 0.2);
  for (size_t i = 24; i < 28; ++i) EXPECT_EQ(shares[i], 0.5);
}

TEST(UnitWeightsTest, FewUnitsCountAsOneDecisionAtLeast) {
  const std::vector<uint64_t> units = {1, 1, 2};
  EXPECT_THAT(UnitWeights(units, std::vector<double>(3, 1)),
              testing::ElementsAre(0.5, 0.5, 1));
}

// Every action of one context, which the policy at `logging` draws: the mean
// over its draws is a sum, and Σ π (log π - log h) is KL by definition.
TEST(LikelihoodTermsTest, EstimateTheDivergenceWithoutBias) {
  ToyPolicy policy(3, 7);
  policy.features[1] = policy.features[2] = policy.features[0];
  const Eigen::VectorXd logging = Eigen::Vector2d(1, -0.5);
  for (size_t i = 0; i < 3; ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  LikelihoodTerms terms(&policy);
  const Eigen::VectorXd point = Eigen::Vector2d(-2, 2);
  const std::vector<double> values = AllValues(point, &terms);
  double mean = 0;
  double divergence = 0;
  for (size_t i = 0; i < 3; ++i) {
    const double probability = std::exp(policy.log_propensities[i]);
    mean += probability * values[i];
    divergence += probability * (policy.log_propensities[i] -
                                 policy.LogProbability(point, i));
  }
  EXPECT_GT(divergence, 0.1);
  EXPECT_NEAR(mean, divergence, 1e-14);
  for (const double value : AllValues(logging, &terms)) {
    EXPECT_NEAR(value, 0, 1e-15);
  }
}

// A pull with a gradient of mean 0 there would be noise, which a large factor
// turns into steps away from what logged.
TEST(LikelihoodTermsTest, NoTuplePullsAtWhatLogged) {
  ToyPolicy policy(40, 9);
  const Eigen::VectorXd logging = Eigen::Vector2d(1, -0.5);
  for (uint32_t i = 0; i < 40; ++i) {
    policy.log_propensities[i] = policy.LogProbability(logging, i);
  }
  LikelihoodTerms terms(&policy);
  for (uint32_t i = 0; i < 40; ++i) {
    double value = 0;
    terms.Values(logging, {&i, 1}, {&value, 1});
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(2);
    const double factor = 1;
    terms.AddGradient({&factor, 1}, &gradient);
    EXPECT_LT(gradient.norm(), 1e-14) << i;
  }
}

// ρ = 1/2, 2, 10 and 1000. Beyond 10 a term has the slope 9 of log ρ.
TEST(LikelihoodTermsTest, AreNeverNegativeAndGrowSlowlyForLargeWeights) {
  ToyPolicy policy(4, 10);
  const Eigen::VectorXd point = Eigen::Vector2d(0.5, -1);
  const std::vector<double> weights = {0.5, 2, 10, 1000};
  for (size_t i = 0; i < 4; ++i) {
    policy.log_propensities[i] =
        policy.LogProbability(point, i) - std::log(weights[i]);
  }
  LikelihoodTerms terms(&policy);
  const std::vector<double> values = AllValues(point, &terms);
  EXPECT_NEAR(values[0], std::log(2) - 0.5, 1e-14);
  EXPECT_NEAR(values[1], 1 - std::log(2), 1e-14);
  EXPECT_NEAR(values[2], 9 - std::log(10), 1e-13);
  EXPECT_NEAR(values[3], 9 - std::log(10) + 9 * std::log(100), 1e-13);
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       TermObjective::Create(&terms, 0, 0));
  // Just above 10 at the third, where the slope does not jump.
  ExpectGradient(objective, point, 1e-5);
}

TEST(LikelihoodTermsTest, GradientIsThatOfCentralDifferences) {
  ToyPolicy policy(40, 8);
  for (size_t i = 0; i < 40; ++i) policy.weights[i] = i % 2 == 0 ? 0.25 : 1;
  LikelihoodTerms terms(&policy);
  ASSERT_OK_AND_ASSIGN(const auto objective,
                       TermObjective::Create(&terms, 0, 0));
  ExpectGradient(objective, Eigen::Vector2d(0.5, -1));
}

}  // namespace
}  // namespace sortition
