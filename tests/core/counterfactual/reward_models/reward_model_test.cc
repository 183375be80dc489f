#include "core/counterfactual/reward_models/reward_model.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

constexpr uint32_t kFolds = 5;

// p-value of the hypothesis that folds of units and `part`, which is one of
// `shares.size()` parts with these shares, are independent.
template <typename Part>
double IndependenceOfFolds(const std::vector<double>& shares,
                           const Part& part) {
  std::vector<uint64_t> counts(kFolds * shares.size());
  std::vector<double> probabilities(counts.size());
  for (int i = 0; i < 100'000; ++i) {
    const std::string id = std::to_string(i);
    ++counts[FoldOf(UnitKey(id, ""), kFolds) * shares.size() + part(id)];
  }
  for (size_t k = 0; k < counts.size(); ++k) {
    probabilities[k] = shares[k % shares.size()] / kFolds;
  }
  return ChiSquarePValue(counts, probabilities);
}

// Each p-value is below 1e-4 with probability 1e-4.
TEST(FoldOfTest, IsIndependentOfGroups) {
  EXPECT_GT(IndependenceOfFolds(
                std::vector<double>(16, 1.0 / 16),
                [](const std::string& id) { return UnitKey(id, "") % 16; }),
            1e-4);
}

TEST(FoldOfTest, IsIndependentOfPartsOfALog) {
  EXPECT_GT(IndependenceOfFolds({0.25, 0.75},
                                [](const std::string& id) -> size_t {
                                  return UnitInterval(StableHash(
                                             HashDomain::kSplit, {id})) < 0.25
                                             ? 0
                                             : 1;
                                }),
            1e-4);
}

TEST(FoldOfTest, IsIndependentOfWhatIsSetAside) {
  EXPECT_GT(IndependenceOfFolds({0.2, 0.8},
                                [](const std::string& id) -> size_t {
                                  return SetAsideNumber(UnitKey(id, "")) < 0.2
                                             ? 0
                                             : 1;
                                }),
            1e-4);
}

TEST(MoreRobustWeightTest, IsTheFormula) {
  // 0.5 · 0.75 / 0.0625 = 6
  EXPECT_NEAR(MoreRobustWeight(std::log(0.25), std::log(0.5)), 6, 1e-12);
}

TEST(MoreRobustWeightTest, IsZeroWhereTheModelDoesNotMatter) {
  // Without choice the model cancels; an action that the policy never chooses
  // is not corrected.
  EXPECT_EQ(MoreRobustWeight(0, std::log(0.5)), 0);
  EXPECT_EQ(
      MoreRobustWeight(std::log(0.5), -std::numeric_limits<double>::infinity()),
      0);
  EXPECT_EQ(MoreRobustWeight(0, -std::numeric_limits<double>::infinity()), 0);
}

TEST(MoreRobustWeightTest, IsFiniteForTheSmallestPropensities) {
  EXPECT_NEAR(std::log(MoreRobustWeight(-80, -1)), 159, 1e-9);
  EXPECT_EQ(std::log(MoreRobustWeight(-700, 0)), 200);
}

// Enumerates actions with errors e of a model: the expectation of weight · e²
// bounds the part of the variance that depends on the model.
TEST(MoreRobustWeightTest, BoundsTheVarianceOfTheDoublyRobustEstimate) {
  constexpr size_t kNumActions = 4;
  constexpr double kLogging[kNumActions] = {0.4, 0.3, 0.2, 0.1};
  constexpr double kErrors[kNumActions] = {0.3, -0.2, 0.1, -0.4};
  const double policies[][kNumActions] = {
      {0.1, 0.1, 0.2, 0.6}, {0.25, 0.25, 0.25, 0.25}, {0, 0, 0, 1}};
  for (const auto& policy : policies) {
    double second = 0;
    double mean = 0;
    double objective = 0;
    for (size_t a = 0; a < kNumActions; ++a) {
      const double term = policy[a] / kLogging[a] * kErrors[a];
      mean += kLogging[a] * term;
      second += kLogging[a] * term * term;
      objective +=
          kLogging[a] *
          MoreRobustWeight(std::log(kLogging[a]), std::log(policy[a])) *
          kErrors[a] * kErrors[a];
    }
    const double variance = second - mean * mean;
    EXPECT_LE(variance, objective + 1e-12);
    const bool is_deterministic = policy[3] == 1;
    if (is_deterministic) {
      EXPECT_NEAR(variance, objective, 1e-12);
    }
  }
}

}  // namespace
}  // namespace sortition
