#include "core/learners/counterfactual/network_tuple_policy.h"

#include <cmath>
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
