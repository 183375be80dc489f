#include <cmath>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/network_tuple_policy.h"
#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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

class LinearTuplePolicyTest : public testing::TestWithParam<LinearFamily> {
 protected:
  // The k of a request; requests for subsets of any size have none.
  PolicyQuery QueryOf(size_t i) const {
    PolicyQuery query;
    query.candidates = tuples_[i].candidates();
    query.top_k =
        family_.action_kind == ActionKind::kSubset && family_.subset_size == 0
            ? 0
            : static_cast<uint32_t>(tuples_[i].action.size());
    return query;
  }

  const LinearFamily family_ = GetParam();
  const std::vector<BanditTuple> tuples_ = RandomTuples(family_, 60, 11);
  LinearTuplePolicy policy_ = *LinearTuplePolicy::Create(family_, tuples_);
  RandomSequence random_{SeedKey(12)};
};

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

TEST_P(LinearTuplePolicyTest, CrmGradientIsThatOfCentralDifferences) {
  for (const double clip : {1.5, 1e6}) {
    ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(clip, 2));
    ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                         RiskObjective::Create(&policy_, &risk, 0.01));
    for (int repetition = 0; repetition < 10; ++repetition) {
      const Eigen::VectorXd point = RandomPoint(family_, &random_);
      Eigen::VectorXd gradient(family_.dimension());
      objective.Evaluate(point, &gradient);
      const Eigen::VectorXd differences = CentralDifferences(objective, point);
      EXPECT_LT((gradient - differences).norm(), 1e-6 * gradient.norm())
          << "clip " << clip << " point " << point.transpose();
    }
  }
}

TEST_P(LinearTuplePolicyTest, TheGradientTestClipsSomeTuplesAndNotAll) {
  const Eigen::VectorXd point = RandomPoint(family_, &random_);
  int clipped = 0;
  for (size_t i = 0; i < tuples_.size(); ++i) {
    const double log_weight =
        policy_.LogProbability(point, i) - policy_.log_propensity(i);
    clipped += log_weight >= std::log(1.5) ? 1 : 0;
  }
  EXPECT_GT(clipped, 2);
  EXPECT_LT(clipped, 58);
}

TEST_P(LinearTuplePolicyTest, IsThePolicyThatWillBeServed) {
  const Eigen::VectorXd point = RandomPoint(family_, &random_);
  ASSERT_OK_AND_ASSIGN(const LinearPolicy served,
                       LinearPolicy::Create(PolicyAt(family_, point),
                                            WeightsAt(family_, point)));
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples_.size(); ++i) {
    EXPECT_EQ(policy_.LogProbability(point, i),
              served.LogPropensity(QueryOf(i), tuples_[i].action, &workspace))
        << i;
  }
}

TEST_P(LinearTuplePolicyTest, ParametersOfAServedModelGiveItsProbabilities) {
  const Eigen::VectorXd point = RandomPoint(family_, &random_);
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(family_, point);
  model.mutable_policy()->set_inverse_temperature(2.5);
  model.set_num_features(kFeatures);
  for (const double weight : WeightsAt(family_, point)) {
    model.add_weights(weight);
  }
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy served,
      LinearPolicy::Create(model.policy(), WeightsAt(family_, point)));
  const auto parameters = ParametersOf(family_, model);
  ASSERT_TRUE(parameters.has_value());
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples_.size(); ++i) {
    EXPECT_NEAR(policy_.LogProbability(*parameters, i),
                served.LogPropensity(QueryOf(i), tuples_[i].action, &workspace),
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

// Two candidates with features 1 and 0 at w = 2, the first of them first: it
// leads with σ(logit), and the derivative of the logarithm is logit / 2 times
// the probability of the other order. Returns the policy that is served.
model::v1::Policy CheckOrderOfTwo(LinearFamily family, double logit) {
  family.num_features = 1;
  family.uniform_mixture = 0;
  std::vector<BanditTuple> tuples(1);
  tuples[0].num_features = 1;
  tuples[0].values = {1, 0};
  tuples[0].action = {0, 1};
  tuples[0].log_propensity = std::log(0.5);
  tuples[0].loss = -1;
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const Eigen::VectorXd point = Eigen::VectorXd::Constant(1, 2);
  const double other = 1 / (1 + std::exp(logit));
  EXPECT_NEAR(policy.LogProbability(point, 0), std::log1p(-other), 1e-15);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(1);
  const double factor = 1;
  policy.AddGradient({&factor, 1}, &gradient);
  EXPECT_NEAR(gradient[0], logit / 2 * other, 1e-15);
  return PolicyAt(family, point);
}

TEST(LinearTuplePolicyLawTest, LearnsTheLawThatLogged) {
  const auto factored = CheckOrderOfTwo(FactoredFamily({0.25, 3}), 0.25 * 2);
  ASSERT_EQ(factored.plackett_luce().rank_factors_size(), 2);
  EXPECT_EQ(factored.plackett_luce().rank_factors(1), 3);
  const double fall = 1 - 1 / std::log2(3);
  EXPECT_TRUE(
      CheckOrderOfTwo(BoltzmannFamily(0), 2 * fall).has_boltzmann_ranking());
}

TEST(LinearTuplePolicyLawTest, OnlyRankingsHaveALaw) {
  LinearFamily family = FactoredFamily({0.25, 3});
  family.boltzmann = BoltzmannFamily(0).boltzmann;
  EXPECT_THAT(LinearTuplePolicy::Create(family, {}),
              IsInvalidArgument("rank_factors are set"));
  family.boltzmann.reset();
  family.action_kind = ActionKind::kSelect;
  EXPECT_THAT(LinearTuplePolicy::Create(family, {}),
              IsInvalidArgument("rank_factors are set"));
  family = BoltzmannFamily(0);
  family.action_kind = ActionKind::kSelect;
  EXPECT_THAT(LinearTuplePolicy::Create(family, {}),
              IsInvalidArgument("boltzmann is set, must be unset"));
}

TEST(LinearTuplePolicyErrorsTest, NamesTheTupleThatDoesNotFit) {
  const LinearFamily family{ActionKind::kSelect, kFeatures, false, 0};
  std::vector<BanditTuple> tuples = RandomTuples(family, 3, 17);
  tuples[1].action = {kAbstain};
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              IsInvalidArgument("tuple 1 names candidate -1"));
  tuples[1].action = {99};
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              IsInvalidArgument("tuple 1 names candidate 99"));
  tuples[1].action = {0, 1};
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              IsInvalidArgument("tuple 1 has 2 entries"));
  const LinearFamily any{ActionKind::kSubset, kFeatures, false, 0};
  tuples[1].action = {1, 0};
  EXPECT_THAT(LinearTuplePolicy::Create(any, tuples),
              IsInvalidArgument("tuple 1 is not ascending"));
  tuples[1].action = {};
  EXPECT_OK(LinearTuplePolicy::Create(any, tuples).status());
  const LinearFamily pairs{ActionKind::kSubset, kFeatures, false, 0, 2};
  EXPECT_THAT(LinearTuplePolicy::Create(pairs, tuples),
              IsInvalidArgument("tuple 1 has 0 entries"));
  tuples[1].action = {0};
  tuples[2].num_features = 5;
  EXPECT_THAT(LinearTuplePolicy::Create(family, tuples),
              IsInvalidArgument("tuple 2 has 5 features"));
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

constexpr uint32_t kInputs = 4;
constexpr uint32_t kUnits = 3;

Eigen::VectorXd RandomParameters(Eigen::Index size, RandomSequence* random) {
  Eigen::VectorXd point(size);
  for (double& value : point) value = 0.5 * random->Normal();
  return point;
}

class NetworkTuplePolicyTest : public testing::TestWithParam<LinearFamily> {};

INSTANTIATE_TEST_SUITE_P(
    Families, NetworkTuplePolicyTest,
    testing::Values(LinearFamily{ActionKind::kSelect, kInputs, false, 0},
                    LinearFamily{ActionKind::kSelect, kInputs, true, 0.2},
                    LinearFamily{ActionKind::kRank, kInputs, false, 0.2},
                    LinearFamily{ActionKind::kSubset, kInputs, false, 0.2}));

TEST_P(NetworkTuplePolicyTest, GradientIsThatOfCentralDifferences) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 60, 11);
  ASSERT_OK_AND_ASSIGN(NetworkTuplePolicy policy,
                       NetworkTuplePolicy::Create(family, kUnits, tuples));
  EXPECT_EQ(policy.dimension(), family.dimension() + kUnits * (kInputs + 2));
  ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(1e6, 2));
  ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                       RiskObjective::Create(&policy, &risk, 0.01));
  RandomSequence random(SeedKey(12));
  for (int repetition = 0; repetition < 5; ++repetition) {
    const Eigen::VectorXd point = RandomParameters(policy.dimension(), &random);
    Eigen::VectorXd gradient(policy.dimension());
    objective.Evaluate(point, &gradient);
    const Eigen::VectorXd differences = CentralDifferences(objective, point);
    EXPECT_LT((gradient - differences).norm(), 1e-6 * gradient.norm());
  }
}

// What a model with such a layer serves, but for features that are floats.
TEST_P(NetworkTuplePolicyTest, IsThePolicyThatWillBeServed) {
  const LinearFamily family = GetParam();
  const std::vector<BanditTuple> tuples = RandomTuples(family, 40, 13);
  ASSERT_OK_AND_ASSIGN(NetworkTuplePolicy policy,
                       NetworkTuplePolicy::Create(family, kUnits, tuples));
  RandomSequence random(SeedKey(14));
  const Eigen::VectorXd point = RandomParameters(policy.dimension(), &random);
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(family, point.head(family.dimension()));
  model.set_num_features(kInputs);
  model.mutable_weights()->Add(point.data(), point.data() + kInputs);
  const double* const outputs = point.data() + family.dimension();
  model.mutable_weights()->Add(outputs, outputs + kUnits);
  const double* const inputs = outputs + kUnits;
  auto& layer = *model.mutable_hidden_layer();
  layer.set_num_units(kUnits);
  layer.mutable_weights()->Add(inputs, inputs + kUnits * kInputs);
  layer.mutable_biases()->Add(inputs + kUnits * kInputs,
                              inputs + kUnits * (kInputs + 1));
  ASSERT_OK_AND_ASSIGN(const LinearPolicy served, LinearPolicy::Create(model));
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples.size(); ++i) {
    PolicyQuery query;
    query.candidates = tuples[i].candidates();
    query.top_k = family.action_kind == ActionKind::kSubset
                      ? 0
                      : static_cast<uint32_t>(tuples[i].action.size());
    EXPECT_NEAR(policy.LogProbability(point, i),
                served.LogPropensity(query, tuples[i].action, &workspace), 1e-5)
        << i;
    EXPECT_OK(workspace.refusal);
  }
}

TEST(LearnHiddenLayerTest, IsTheSameForTheSameTuples) {
  const LinearFamily family{ActionKind::kSelect, kInputs, false, 0};
  const std::vector<BanditTuple> tuples = RandomTuples(family, 100, 15);
  HiddenLayerTask task;
  task.family = family;
  task.tuples = tuples;
  task.num_units = 2;
  ASSERT_OK_AND_ASSIGN(const auto layer, LearnHiddenLayer(task));
  EXPECT_EQ(layer.num_units(), 2u);
  EXPECT_EQ(layer.weights_size(), 8);
  EXPECT_EQ(layer.biases_size(), 2);
  ASSERT_OK_AND_ASSIGN(const auto again, LearnHiddenLayer(task));
  EXPECT_EQ(again.SerializeAsString(), layer.SerializeAsString());
  task.num_units = 0;
  EXPECT_THAT(LearnHiddenLayer(task),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "num_units is 0, must be at least 1"));
}

}  // namespace
}  // namespace sortition
