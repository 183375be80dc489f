#include "core/learners/counterfactual/linear_tuple_policy.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/risk_objective.h"
#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::HasSubstr;

constexpr uint32_t kFeatures = 4;

// A Boltzmann family whose head is all candidates or, if smaller, is followed
// by the others.
LinearFamily BoltzmannFamily(uint32_t head) {
  LinearFamily family{ActionKind::kRank, kFeatures, false, 0};
  auto& boltzmann = family.boltzmann.emplace();
  boltzmann.set_rank_weights(model::v1::BoltzmannRanking::DCG);
  boltzmann.set_head(head);
  boltzmann.set_plackett_luce_mixture(head > 0 ? 0.3 : 0);
  boltzmann.set_tail_scale(0.5);
  return family;
}

LinearFamily FactoredFamily(std::vector<double> factors) {
  LinearFamily family{ActionKind::kRank, kFeatures, false, 0.1};
  family.rank_factors = std::move(factors);
  return family;
}

class LinearTuplePolicyTest : public testing::TestWithParam<LinearFamily> {};

INSTANTIATE_TEST_SUITE_P(
    Families, LinearTuplePolicyTest,
    testing::Values(LinearFamily{ActionKind::kSelect, kFeatures, false, 0},
                    LinearFamily{ActionKind::kSelect, kFeatures, true, 0},
                    LinearFamily{ActionKind::kSelect, kFeatures, true, 0.2},
                    LinearFamily{ActionKind::kRank, kFeatures, false, 0},
                    LinearFamily{ActionKind::kRank, kFeatures, false, 0.2},
                    LinearFamily{ActionKind::kSubset, kFeatures, false, 0},
                    LinearFamily{ActionKind::kSubset, kFeatures, false, 0.2},
                    LinearFamily{ActionKind::kSubset, kFeatures, false, 0.2,
                                 /*subset_size=*/2},
                    BoltzmannFamily(0), BoltzmannFamily(3),
                    FactoredFamily({1.5, 0.5}), FactoredFamily({0.75})));

// The k of a request; requests for subsets of any size have none.
uint32_t TopK(const LinearFamily& family, const BanditTuple& tuple) {
  return family.action_kind == ActionKind::kSubset && family.subset_size == 0
             ? 0
             : static_cast<uint32_t>(tuple.action.size());
}

TEST_P(LinearTuplePolicyTest, CrmGradientIsThatOfCentralDifferences) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 60, 11);
  ASSERT_OK_AND_ASSIGN(LinearTuplePolicy policy,
                       LinearTuplePolicy::Create(family, tuples));
  RandomSequence random(SeedKey(12));
  for (const double clip : {1.5, 1e6}) {
    ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(clip, 2));
    ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                         RiskObjective::Create(&policy, &risk, 0.01));
    for (int repetition = 0; repetition < 10; ++repetition) {
      const Eigen::VectorXd point = RandomPoint(family, &random);
      Eigen::VectorXd gradient(family.dimension());
      objective.Evaluate(point, &gradient);
      const Eigen::VectorXd differences = CentralDifferences(objective, point);
      EXPECT_LT((gradient - differences).norm(), 1e-6 * gradient.norm())
          << "clip " << clip << " point " << point.transpose();
    }
  }
}

TEST_P(LinearTuplePolicyTest, TheGradientTestClipsSomeTuplesAndNotAll) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 60, 11);
  ASSERT_OK_AND_ASSIGN(LinearTuplePolicy policy,
                       LinearTuplePolicy::Create(family, tuples));
  RandomSequence random(SeedKey(12));
  const Eigen::VectorXd point = RandomPoint(family, &random);
  int clipped = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const double log_weight =
        policy.LogProbability(point, i) - policy.log_propensity(i);
    clipped += log_weight >= std::log(1.5) ? 1 : 0;
  }
  EXPECT_GT(clipped, 2);
  EXPECT_LT(clipped, 58);
}

TEST_P(LinearTuplePolicyTest, IsThePolicyThatWillBeServed) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 40, 13);
  ASSERT_OK_AND_ASSIGN(LinearTuplePolicy policy,
                       LinearTuplePolicy::Create(family, tuples));
  RandomSequence random(SeedKey(14));
  const Eigen::VectorXd point = RandomPoint(family, &random);
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy served,
      LinearPolicy::Create(PolicyAt(family, point), WeightsAt(family, point)));
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples.size(); ++i) {
    PolicyQuery query;
    query.candidates = tuples[i].candidates();
    query.top_k = TopK(family, tuples[i]);
    EXPECT_EQ(policy.LogProbability(point, i),
              served.LogPropensity(query, tuples[i].action, &workspace))
        << i;
  }
}

TEST_P(LinearTuplePolicyTest, ParametersOfAServedModelGiveItsProbabilities) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 20, 15);
  ASSERT_OK_AND_ASSIGN(LinearTuplePolicy policy,
                       LinearTuplePolicy::Create(family, tuples));
  RandomSequence random(SeedKey(16));
  const Eigen::VectorXd point = RandomPoint(family, &random);
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(family, point);
  model.mutable_policy()->set_inverse_temperature(2.5);
  model.set_num_features(kFeatures);
  for (const double weight : WeightsAt(family, point)) {
    model.add_weights(weight);
  }
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy served,
      LinearPolicy::Create(model.policy(), WeightsAt(family, point)));
  const auto parameters = ParametersOf(family, model);
  ASSERT_TRUE(parameters.has_value());
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples.size(); ++i) {
    PolicyQuery query;
    query.candidates = tuples[i].candidates();
    query.top_k = TopK(family, tuples[i]);
    EXPECT_NEAR(policy.LogProbability(*parameters, i),
                served.LogPropensity(query, tuples[i].action, &workspace),
                1e-12);
  }
}

TEST(LinearTuplePolicyErrorsTest, ParametersOfAnotherFamilyAreNone) {
  model::v1::Model model;
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(kFeatures);
  for (uint32_t j = 0; j < kFeatures; ++j) model.add_weights(1);
  const LinearFamily rank{ActionKind::kRank, kFeatures, false, 0};
  EXPECT_TRUE(ParametersOf(rank, model).has_value());
  EXPECT_FALSE(ParametersOf({ActionKind::kSelect, kFeatures, false, 0}, model));
  EXPECT_FALSE(ParametersOf({ActionKind::kRank, 3, false, 0}, model));
  const LinearFamily any{ActionKind::kSubset, kFeatures, false, 0};
  const LinearFamily pairs{ActionKind::kSubset, kFeatures, false, 0, 2};
  EXPECT_FALSE(ParametersOf(any, model));
  auto* subset = model.mutable_policy()->mutable_independent_subset();
  subset->set_threshold(3);
  ASSERT_TRUE(ParametersOf(any, model).has_value());
  EXPECT_EQ((*ParametersOf(any, model))[kFeatures], 3);
  EXPECT_FALSE(ParametersOf(pairs, model));
  subset->set_k(5);
  EXPECT_FALSE(ParametersOf(any, model));
  EXPECT_TRUE(ParametersOf(pairs, model).has_value());
  model.mutable_policy()->mutable_game_subset();
  EXPECT_FALSE(ParametersOf(any, model));
  // The same family, whatever is mixed with it.
  const LinearFamily boltzmann = BoltzmannFamily(3);
  *model.mutable_policy()->mutable_boltzmann_ranking() = *boltzmann.boltzmann;
  EXPECT_TRUE(ParametersOf(boltzmann, model).has_value());
  model.mutable_policy()
      ->mutable_boltzmann_ranking()
      ->set_plackett_luce_mixture(0);
  EXPECT_TRUE(ParametersOf(boltzmann, model).has_value());
  EXPECT_FALSE(ParametersOf(BoltzmannFamily(4), model));
  EXPECT_FALSE(ParametersOf(rank, model));
  model.mutable_policy()->mutable_plackett_luce();
  EXPECT_FALSE(ParametersOf(boltzmann, model));
  model.mutable_policy()->mutable_sorted_ranking();
  EXPECT_FALSE(ParametersOf(rank, model));
}

// The last factor repeats, and no factors are all 1.
TEST(LinearTuplePolicyErrorsTest, ParametersOfOtherFactorsAreNone) {
  model::v1::Model model;
  model.mutable_policy()->set_inverse_temperature(2);
  model.set_num_features(kFeatures);
  for (uint32_t j = 0; j < kFeatures; ++j) model.add_weights(1);
  const auto same = [&model](std::vector<double> family,
                             const std::vector<double>& served) {
    model.mutable_policy()
        ->mutable_plackett_luce()
        ->mutable_rank_factors()
        ->Assign(served.begin(), served.end());
    return ParametersOf(FactoredFamily(std::move(family)), model).has_value();
  };
  EXPECT_TRUE(same({}, {}));
  EXPECT_TRUE(same({}, {1, 1}));
  EXPECT_TRUE(same({1}, {}));
  EXPECT_TRUE(same({2, 0.5}, {2, 0.5}));
  EXPECT_TRUE(same({2, 0.5}, {2, 0.5, 0.5}));
  EXPECT_FALSE(same({}, {2}));
  EXPECT_FALSE(same({2}, {}));
  EXPECT_FALSE(same({2, 0.5}, {2}));
  EXPECT_FALSE(same({2}, {2, 2, 1}));
  EXPECT_FALSE(same({1, 1, 2}, {}));
}

// Two candidates with features 1 and 0 at w = 2: the first of them leads with
// σ(f_0 2), and the derivative of the logarithm is f_0 p(the other order).
TEST(LinearTuplePolicyFactorsTest, LearnsTheLawThatLogged) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {1, 0};
  tuple.action = {0, 1};
  tuple.log_propensity = std::log(0.5);
  tuple.loss = -1;
  const std::vector<BanditTuple> tuples = {tuple};
  LinearFamily family = FactoredFamily({0.25, 3});
  family.num_features = 1;
  family.uniform_mixture = 0;
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const Eigen::VectorXd point = Eigen::VectorXd::Constant(1, 2);
  const double other = 1 / (1 + std::exp(0.5));
  EXPECT_NEAR(policy.LogProbability(point, 0), std::log1p(-other), 1e-15);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(1);
  const double factor = 1;
  policy.AddGradient({&factor, 1}, &gradient);
  EXPECT_NEAR(gradient[0], 0.25 * other, 1e-15);
  const model::v1::Policy served = PolicyAt(family, point);
  EXPECT_EQ(served.plackett_luce().rank_factors_size(), 2);
  EXPECT_EQ(served.plackett_luce().rank_factors(1), 3);
  family.boltzmann = BoltzmannFamily(0).boltzmann;
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              StatusIs(kInvalidArgument, HasSubstr("rank_factors are set")));
  family.boltzmann.reset();
  family.action_kind = ActionKind::kSelect;
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              StatusIs(kInvalidArgument, HasSubstr("rank_factors are set")));
}

// Two candidates with features 1 and 0 at w = 2: their orders have the odds
// exp(a_0 2) to exp(a_1 2), and the derivative of the logarithm is (a_0 - a_1)
// p(the other order). Plackett-Luce does not fit a log of such orders.
TEST(LinearTuplePolicyBoltzmannTest, LearnsTheLawThatLogged) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {1, 0};
  tuple.action = {0, 1};
  tuple.log_propensity = std::log(0.5);
  tuple.loss = -1;
  const std::vector<BanditTuple> tuples = {tuple};
  LinearFamily family = BoltzmannFamily(0);
  family.num_features = 1;
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const Eigen::VectorXd point = Eigen::VectorXd::Constant(1, 2);
  const double fall = 1 - 1 / std::log2(3);
  const double other = 1 / (1 + std::exp(2 * fall));
  EXPECT_NEAR(policy.LogProbability(point, 0), std::log1p(-other), 1e-15);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(1);
  const double factor = 1;
  policy.AddGradient({&factor, 1}, &gradient);
  EXPECT_NEAR(gradient[0], fall * other, 1e-15);
  EXPECT_TRUE(PolicyAt(family, point).has_boltzmann_ranking());
  family.action_kind = ActionKind::kSelect;
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("boltzmann is set, must be unset")));
}

TEST(LinearTuplePolicyErrorsTest, NamesTheTupleThatDoesNotFit) {
  const LinearFamily family{ActionKind::kSelect, kFeatures, false, 0};
  std::vector<BanditTuple> tuples = RandomTuples(family, 3, 17);
  tuples[1].action = {kAbstain};
  EXPECT_THAT(
      LinearTuplePolicy::Create(family, tuples),
      StatusIs(kInvalidArgument, HasSubstr("tuple 1 names candidate -1")));
  tuples[1].action = {99};
  EXPECT_THAT(
      LinearTuplePolicy::Create(family, tuples),
      StatusIs(kInvalidArgument, HasSubstr("tuple 1 names candidate 99")));
  tuples[1].action = {0, 1};
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              StatusIs(kInvalidArgument, HasSubstr("tuple 1 has 2 entries")));
  const LinearFamily any{ActionKind::kSubset, kFeatures, false, 0};
  tuples[1].action = {1, 0};
  EXPECT_THAT(
      LinearTuplePolicy::Create(any, tuples),
      StatusIs(kInvalidArgument, HasSubstr("tuple 1 is not ascending")));
  tuples[1].action = {};
  EXPECT_OK(LinearTuplePolicy::Create(any, tuples).status());
  const LinearFamily pairs{ActionKind::kSubset, kFeatures, false, 0, 2};
  EXPECT_THAT(LinearTuplePolicy::Create(pairs, tuples),
              StatusIs(kInvalidArgument, HasSubstr("tuple 1 has 0 entries")));
  tuples[1].action = {0};
  tuples[2].num_features = 5;
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              StatusIs(kInvalidArgument, HasSubstr("tuple 2 has 5 features")));
}

TEST(LinearTuplePolicyRangeTest, WhatTheServerWouldRefuseEarnsNothing) {
  // Scores of 1e10: their rankings are not drawn with the probabilities that
  // would be logged.
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {1e10f, 1e10f};
  tuple.action = {0, 1};
  tuple.log_propensity = std::log(0.5);
  tuple.loss = -1;
  const std::vector<BanditTuple> tuples = {tuple};
  const LinearFamily family{ActionKind::kRank, 1, false, 0.1};
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const Eigen::VectorXd point = Eigen::VectorXd::Ones(1);
  EXPECT_EQ(policy.LogProbability(point, 0), -HUGE_VAL);
  EXPECT_EQ(policy.LogWeight(point, 0), -HUGE_VAL);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(1);
  const double factor = 1;
  policy.AddGradient({&factor, 1}, &gradient);
  EXPECT_EQ(gradient[0], 0);
}

}  // namespace
}  // namespace sortition
