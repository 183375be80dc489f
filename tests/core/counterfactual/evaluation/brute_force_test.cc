// Expectation and variance of estimators, by enumeration of all logs of a small
// world: two contexts, three actions, rewards 0 and 1, two decisions.
#include <cmath>
#include <functional>
#include <vector>

#include "core/counterfactual/evaluation/policy_sums.h"
#include "gtest/gtest.h"

namespace sortition::brute_force {
namespace {

constexpr size_t kContexts = 2;
constexpr size_t kActions = 3;
constexpr double kContext[kContexts] = {0.3, 0.7};
constexpr double kFirstLog[kContexts][kActions] = {{0.5, 0.3, 0.2},
                                                   {0.1, 0.2, 0.7}};
constexpr double kSecondLog[kContexts][kActions] = {{0.2, 0.2, 0.6},
                                                    {0.6, 0.3, 0.1}};
constexpr double kPolicy[kContexts][kActions] = {{0.1, 0.1, 0.8},
                                                 {0.5, 0.4, 0.1}};
constexpr double kReward[kContexts][kActions] = {{0.2, 0.9, 0.6},
                                                 {0.7, 0.1, 0.4}};
// Arbitrary models.
constexpr double kModel[kContexts][kActions] = {{0.9, 0.1, 0.3},
                                                {0.2, 0.8, 0.5}};
constexpr double kRobust[kContexts][kActions] = {{0, 1, 0.5}, {0.5, 0.3, 0.9}};
// Actions 0 and 1 have a category in common.
constexpr size_t kCategory[kActions] = {0, 0, 1};

using Table = double[kContexts][kActions];

struct Outcome {
  size_t context;
  size_t action;
  double reward;
  double probability;
};

double MeanUnderPolicy(const Table& values, size_t context) {
  double mean = 0;
  for (size_t a = 0; a < kActions; ++a) {
    mean += kPolicy[context][a] * values[context][a];
  }
  return mean;
}

double ValueOfPolicy(const Table& rewards) {
  double value = 0;
  for (size_t x = 0; x < kContexts; ++x) {
    value += kContext[x] * MeanUnderPolicy(rewards, x);
  }
  return value;
}

std::vector<Outcome> OutcomesOf(const Table& log, const Table& rewards) {
  std::vector<Outcome> outcomes;
  for (size_t x = 0; x < kContexts; ++x) {
    for (size_t a = 0; a < kActions; ++a) {
      const double p = kContext[x] * log[x][a];
      outcomes.push_back({x, a, 1, p * rewards[x][a]});
      outcomes.push_back({x, a, 0, p * (1 - rewards[x][a])});
    }
  }
  return outcomes;
}

double CategoryProbability(const Table& table, size_t context, size_t action) {
  double probability = 0;
  for (size_t a = 0; a < kActions; ++a) {
    if (kCategory[a] == kCategory[action]) probability += table[context][a];
  }
  return probability;
}

JudgedDecision Judge(const Outcome& outcome, const Table& log) {
  const size_t x = outcome.context;
  const size_t a = outcome.action;
  return {.log_weight = std::log(kPolicy[x][a] / log[x][a]),
          .modelled_logged = kModel[x][a],
          .modelled_policy = MeanUnderPolicy(kModel, x),
          .robust_logged = kRobust[x][a],
          .robust_policy = MeanUnderPolicy(kRobust, x),
          .log_balanced_weight = std::log(
              kPolicy[x][a] / ((kFirstLog[x][a] + kSecondLog[x][a]) / 2)),
          .log_marginal_weight = std::log(CategoryProbability(kPolicy, x, a) /
                                          CategoryProbability(log, x, a))};
}

struct MeanAndVariance {
  double mean = 0;
  double variance = 0;
};

// Of an estimate from two decisions, one of each log.
MeanAndVariance Enumerate(const Estimator& estimator, const Table& first,
                          const Table& second, const Table& rewards) {
  double mean = 0;
  double square = 0;
  for (const Outcome& one : OutcomesOf(first, rewards)) {
    for (const Outcome& two : OutcomesOf(second, rewards)) {
      PolicySums sums(1, 2);
      const JudgedDecision judged_one = Judge(one, first);
      const JudgedDecision judged_two = Judge(two, second);
      sums.Add(0, 1, one.reward, {&judged_one, 1}, 0);
      sums.Add(1, 1, two.reward, {&judged_two, 1}, 1);
      const double value =
          EstimateRatios(sums.sums(), sums.RatiosOf(0, estimator)).value;
      const double probability = one.probability * two.probability;
      mean += probability * value;
      square += probability * value * value;
    }
  }
  return {mean, square - mean * mean};
}

// Mean and variance of a term of one decision.
MeanAndVariance OfTerm(const Table& log,
                       const std::function<double(const Outcome&)>& term) {
  double mean = 0;
  double square = 0;
  for (const Outcome& outcome : OutcomesOf(log, kReward)) {
    const double value = term(outcome);
    mean += outcome.probability * value;
    square += outcome.probability * value * value;
  }
  return {mean, square - mean * mean};
}

double WeightOf(const Outcome& outcome, const Table& log) {
  return kPolicy[outcome.context][outcome.action] /
         log[outcome.context][outcome.action];
}

TEST(BruteForceTest, UnbiasedEstimatorsHaveNoBiasForAnyModel) {
  const double value = ValueOfPolicy(kReward);
  for (const EstimatorKind kind :
       {EstimatorKind::kIps, EstimatorKind::kDoublyRobust,
        EstimatorKind::kMoreRobustDr, EstimatorKind::kBalanced}) {
    EXPECT_NEAR(Enumerate({kind}, kFirstLog, kSecondLog, kReward).mean, value,
                1e-12)
        << EstimatorName(kind);
  }
}

// The variance of a mean over two decisions.
TEST(BruteForceTest, VariancesAreAsDerived) {
  const MeanAndVariance ips = OfTerm(kFirstLog, [](const Outcome& outcome) {
    return WeightOf(outcome, kFirstLog) * outcome.reward;
  });
  EXPECT_NEAR(
      Enumerate({EstimatorKind::kIps}, kFirstLog, kFirstLog, kReward).variance,
      ips.variance / 2, 1e-12);
  const MeanAndVariance dr = OfTerm(kFirstLog, [](const Outcome& outcome) {
    const double model = kModel[outcome.context][outcome.action];
    return MeanUnderPolicy(kModel, outcome.context) +
           WeightOf(outcome, kFirstLog) * (outcome.reward - model);
  });
  EXPECT_NEAR(
      Enumerate({EstimatorKind::kDoublyRobust}, kFirstLog, kFirstLog, kReward)
          .variance,
      dr.variance / 2, 1e-12);
  // Each log for itself [AgarwalEtAl17].
  const auto balanced = [](const Outcome& outcome) {
    const size_t x = outcome.context;
    const size_t a = outcome.action;
    return kPolicy[x][a] / ((kFirstLog[x][a] + kSecondLog[x][a]) / 2) *
           outcome.reward;
  };
  EXPECT_NEAR(
      Enumerate({EstimatorKind::kBalanced}, kFirstLog, kSecondLog, kReward)
          .variance,
      (OfTerm(kFirstLog, balanced).variance +
       OfTerm(kSecondLog, balanced).variance) /
          4,
      1e-12);
}

// What cutting weights takes away.
TEST(BruteForceTest, BiasOfClippingIsAsDerived) {
  const double value = ValueOfPolicy(kReward);
  for (const double most : {1.0, 2.0, 5.0}) {
    const double lost = OfTerm(kFirstLog, [&](const Outcome& outcome) {
                          const double weight = WeightOf(outcome, kFirstLog);
                          return std::fmax(weight - most, 0) * outcome.reward;
                        }).mean;
    EXPECT_NEAR(Enumerate({EstimatorKind::kClipped, most}, kFirstLog, kFirstLog,
                          kReward)
                    .mean,
                value - lost, 1e-12);
    const double corrected =
        OfTerm(kFirstLog, [&](const Outcome& outcome) {
          const double weight = WeightOf(outcome, kFirstLog);
          return std::fmax(weight - most, 0) *
                 (outcome.reward - kModel[outcome.context][outcome.action]);
        }).mean;
    EXPECT_NEAR(Enumerate({EstimatorKind::kClippedDr, most}, kFirstLog,
                          kFirstLog, kReward)
                    .mean,
                value - corrected, 1e-12);
  }
}

TEST(BruteForceTest, MarginalWeightsAreUnbiasedIfCategoriesSuffice) {
  const Table by_category = {{0.2, 0.2, 0.6}, {0.7, 0.7, 0.4}};
  const Estimator estimator = {EstimatorKind::kMarginalised};
  EXPECT_NEAR(Enumerate(estimator, kFirstLog, kFirstLog, by_category).mean,
              ValueOfPolicy(by_category), 1e-12);
  // And have less variance than those of actions.
  EXPECT_LT(Enumerate(estimator, kFirstLog, kFirstLog, by_category).variance,
            Enumerate({EstimatorKind::kIps}, kFirstLog, kFirstLog, by_category)
                .variance);
  // Otherwise they estimate what the logged actions of a category earn.
  double expected = 0;
  for (size_t x = 0; x < kContexts; ++x) {
    for (size_t a = 0; a < kActions; ++a) {
      expected += kContext[x] * kFirstLog[x][a] * kReward[x][a] *
                  CategoryProbability(kPolicy, x, a) /
                  CategoryProbability(kFirstLog, x, a);
    }
  }
  EXPECT_NEAR(Enumerate(estimator, kFirstLog, kFirstLog, kReward).mean,
              expected, 1e-12);
  EXPECT_GT(std::fabs(expected - ValueOfPolicy(kReward)), 0.01);
}

}  // namespace
}  // namespace sortition::brute_force
