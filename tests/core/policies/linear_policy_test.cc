#include "core/policies/linear_policy.h"

#include <array>
#include <bit>
#include <cmath>

#include "core/policies/distribution_factory.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 3;

// Seven candidates with three features each, of which five are eligible.
struct World {
  World() {
    RandomSequence random(SeedKey(11));
    for (float& value : features) {
      value = static_cast<float>(4 * random.Uniform() - 2);
    }
    for (uint32_t i = 0; i < 7; ++i) {
      row_offsets.push_back(i * kFeatures);
      for (uint32_t j = 0; j < kFeatures; ++j) columns.push_back(j);
    }
    row_offsets.push_back(7 * kFeatures);
    query.candidates = Candidates::DenseUnchecked(features, kFeatures);
    query.eligible = eligible;
  }

  World(const World&) = delete;

  std::array<float, 7 * kFeatures> features;
  std::array<bool, 7> eligible = {true, false, true, true, false, true, true};
  std::vector<uint32_t> row_offsets;
  std::vector<uint32_t> columns;
  std::vector<double> weights = {0.7, -0.4, 1.1};
  PolicyQuery query;
};

model::v1::Policy MakePolicy(ActionKind kind, double epsilon = 0) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1.5);
  policy.set_uniform_mixture(epsilon);
  if (kind == ActionKind::kRank) {
    policy.mutable_plackett_luce();
  } else {
    policy.mutable_softmax_selection()->set_abstain_score(0.2);
  }
  return policy;
}

LinearPolicy MustCreate(const model::v1::Policy& policy,
                        std::vector<double> weights) {
  absl::StatusOr<LinearPolicy> result =
      LinearPolicy::Create(policy, std::move(weights));
  CHECK(result.ok());
  return *std::move(result);
}

// The world's eligible candidates as a case of the enumeration, and the
// document_index of each position.
DistributionCase EligibleCase(const World& world,
                              const model::v1::Policy& policy, uint32_t top_k,
                              std::vector<int32_t>* documents) {
  DistributionCase c;
  c.kind = ActionKindOf(policy);
  if (policy.has_boltzmann_ranking()) c.boltzmann = policy.boltzmann_ranking();
  c.inverse_temperature = policy.inverse_temperature();
  c.uniform_mixture = policy.uniform_mixture();
  c.top_k = top_k;
  if (policy.softmax_selection().has_abstain_score()) {
    c.abstain_score = policy.softmax_selection().abstain_score();
  }
  for (uint32_t i = 0; i < 7; ++i) {
    if (!world.eligible[i]) continue;
    c.scores.push_back(world.query.candidates.Score(i, world.weights));
    documents->push_back(static_cast<int32_t>(i));
  }
  return c;
}

Action ToDocuments(Action action, const std::vector<int32_t>& documents) {
  for (int32_t& place : action) {
    if (place != kAbstain) place = documents[place];
  }
  return action;
}

// A mask renormalises over the eligible candidates: propensities are those of
// the enumeration, and a draw is that of the distribution over the eligible,
// whose frequencies SamplerTest compares.
TEST(LinearPolicyTest, DrawsAmongTheEligible) {
  World world;
  for (model::v1::Policy proto :
       {MakePolicy(ActionKind::kSelect), MakePolicy(ActionKind::kRank),
        BoltzmannCase("", {}, 3, /*head=*/2).Policy()}) {
    for (const double epsilon : {0.0, 0.3}) {
      proto.set_uniform_mixture(epsilon);
      const LinearPolicy policy = MustCreate(proto, world.weights);
      world.query.top_k = 3;
      std::vector<int32_t> documents;
      const DistributionCase c = EligibleCase(world, proto, 3, &documents);
      const std::vector<Action> actions = AllActions(c);
      PolicyWorkspace workspace;
      for (const Action& positions : actions) {
        EXPECT_NEAR(
            std::exp(policy.LogPropensity(
                world.query, ToDocuments(positions, documents), &workspace)),
            static_cast<double>(ExactProbability(c, positions, actions.size())),
            1e-14);
      }
      Draw draw;
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        policy.Decide(world.query, SeedKey(seed), &workspace, &draw);
        const Draw expected = SampleOf(c, SeedKey(seed));
        EXPECT_EQ(draw.action, ToDocuments(expected.action, documents));
        EXPECT_NEAR(draw.log_propensity, expected.log_propensity, 1e-13);
      }
    }
  }
}

TEST(LinearPolicyTest, LogPropensityHasTheBitsOfDecide) {
  World world;
  Draw draw;
  for (const ActionKind kind : {ActionKind::kSelect, ActionKind::kRank}) {
    for (const double epsilon : {0.0, 0.3, 1.0}) {
      const LinearPolicy policy =
          MustCreate(MakePolicy(kind, epsilon), world.weights);
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        world.query.top_k = static_cast<uint32_t>(seed % 6);
        PolicyWorkspace used;
        policy.Decide(world.query, SeedKey(seed), &used, &draw);
        PolicyWorkspace fresh;
        ASSERT_EQ(policy.LogPropensity(world.query, draw.action, &fresh),
                  draw.log_propensity);
        ASSERT_EQ(policy.LogPropensity(world.query, draw.action, &used),
                  draw.log_propensity);
      }
    }
  }
}

TEST(LinearPolicyTest, DenseAndSparseDecideTheSame) {
  World world;
  PolicyQuery sparse = world.query;
  sparse.candidates = Candidates::SparseUnchecked(
      world.row_offsets, world.columns, world.features, kFeatures);
  const LinearPolicy policy =
      MustCreate(MakePolicy(ActionKind::kRank, 0.1), world.weights);
  PolicyWorkspace workspace;
  Draw from_dense;
  Draw from_sparse;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    policy.Decide(world.query, SeedKey(seed), &workspace, &from_dense);
    policy.Decide(sparse, SeedKey(seed), &workspace, &from_sparse);
    ASSERT_EQ(from_dense.action, from_sparse.action);
    ASSERT_EQ(from_dense.log_propensity, from_sparse.log_propensity);
  }
}

TEST(LinearPolicyTest, TopKIsCutToTheEligible) {
  World world;
  const LinearPolicy policy =
      MustCreate(MakePolicy(ActionKind::kRank), world.weights);
  PolicyWorkspace workspace;
  Draw draw;
  for (const uint32_t top_k : {0u, 5u, 6u, 100u}) {
    world.query.top_k = top_k;
    policy.Decide(world.query, SeedKey(1), &workspace, &draw);
    EXPECT_EQ(draw.action.size(), 5u);
    EXPECT_EQ(draw.conditional_log_propensities.size(), 5u);
  }
}

TEST(LinearPolicyTest, IllFormedActionsAreImpossible) {
  World world;
  world.query.top_k = 2;
  PolicyWorkspace workspace;
  const double impossible = -HUGE_VAL;
  const LinearPolicy rank =
      MustCreate(MakePolicy(ActionKind::kRank, 0.5), world.weights);
  EXPECT_GT(rank.LogPropensity(world.query, Action{0, 2}, &workspace),
            impossible);
  for (const Action& action : std::vector<Action>{
           {}, {0}, {0, 0}, {0, 1}, {0, 7}, {0, -1}, {0, -5}, {0, 2, 3}}) {
    EXPECT_EQ(rank.LogPropensity(world.query, action, &workspace), impossible);
    std::vector<double> gradient(kFeatures, 1);
    EXPECT_EQ(rank.AddLogPropensityGradient(world.query, action, 1, &workspace,
                                            gradient),
              impossible);
    EXPECT_EQ(gradient, std::vector<double>(kFeatures, 1));
  }
  model::v1::Policy never_abstains;
  never_abstains.set_inverse_temperature(1);
  never_abstains.mutable_softmax_selection();
  const LinearPolicy select = MustCreate(never_abstains, world.weights);
  EXPECT_FALSE(select.can_abstain());
  for (const Action& action :
       std::vector<Action>{{}, {1}, {7}, {kAbstain}, {0, 2}}) {
    EXPECT_EQ(select.LogPropensity(world.query, action, &workspace),
              impossible);
  }
}

// Gradient by weights and abstain score against central differences with one
// step of Richardson's extrapolation (error h⁴ f⁗ < 1e-9, rounding 1e-13 / h).
TEST(LinearPolicyTest, GradientAgreesWithCentralDifferences) {
  World world;
  world.query.top_k = 3;
  PolicyWorkspace workspace;
  for (const ActionKind kind : {ActionKind::kSelect, ActionKind::kRank}) {
    for (const double epsilon : {0.0, 0.3}) {
      const model::v1::Policy proto = MakePolicy(kind, epsilon);
      const LinearPolicy policy = MustCreate(proto, world.weights);
      const Action action =
          kind == ActionKind::kRank ? Action{5, 0, 3} : Action{3};
      const size_t dimension = kFeatures + (policy.can_abstain() ? 1 : 0);
      std::vector<double> gradient(dimension, 10);
      const double log_p = policy.AddLogPropensityGradient(
          world.query, action, 2, &workspace, gradient);
      EXPECT_EQ(log_p, policy.LogPropensity(world.query, action, &workspace));
      for (size_t j = 0; j < dimension; ++j) {
        const auto value = [&](double step) {
          std::vector<double> weights = world.weights;
          model::v1::Policy moved = proto;
          if (j < kFeatures) {
            weights[j] += step;
          } else {
            moved.mutable_softmax_selection()->set_abstain_score(0.2 + step);
          }
          return MustCreate(moved, weights)
              .LogPropensity(world.query, action, &workspace);
        };
        const double h = 1e-3;
        const double wide = (value(2 * h) - value(-2 * h)) / (4 * h);
        const double narrow = (value(h) - value(-h)) / (2 * h);
        const double expected = (4 * narrow - wide) / 3;
        EXPECT_NEAR((gradient[j] - 10) / 2 / expected, 1, 1e-6) << j;
      }
    }
  }
}

TEST(LinearPolicyTest, CreateNamesWhatIsWrong) {
  const model::v1::Policy policy = MakePolicy(ActionKind::kRank);
  EXPECT_THAT(LinearPolicy::Create(policy, {}),
              IsInvalidArgument("weights has 0 values"));
  EXPECT_THAT(LinearPolicy::Create(policy, {1, std::nan("")}),
              IsInvalidArgument("weights[1] is nan"));
  EXPECT_THAT(LinearPolicy::Create(policy, {HUGE_VAL}),
              IsInvalidArgument("weights[0] is inf"));
  EXPECT_THAT(LinearPolicy::Create(policy, {1, -1.01e100}),
              IsInvalidArgument("weights[1] is -1.01e+100, must be "
                                "in [-1e+100, 1e+100]"));
  EXPECT_OK(LinearPolicy::Create(policy, {1e100, -1e100}).status());
  EXPECT_THAT(LinearPolicy::Create(model::v1::Policy(), {1}),
              IsInvalidArgument("inverse_temperature is 0"));
}

// The largest permitted numbers give finite answers, or none.
TEST(LinearPolicyTest, LargestNumbersStayFinite) {
  const std::vector<float> features = {3e38f, 3e38f, -3e38f, -3e38f, 0, 0};
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 2);
  PolicyWorkspace workspace;
  Draw draw;
  model::v1::Policy proto = MakePolicy(ActionKind::kSelect, 0.1);
  proto.mutable_softmax_selection()->clear_abstain_score();
  proto.set_inverse_temperature(1e6);
  const LinearPolicy select = MustCreate(proto, {1e100, 1e100});
  select.Decide(query, SeedKey(1), &workspace, &draw);
  EXPECT_TRUE(std::isfinite(draw.log_propensity));
  EXPECT_NEAR(select.LogPropensity(query, Action{1}, &workspace),
              std::log(0.1 / 3), 1e-12);

  proto.mutable_plackett_luce();
  const LinearPolicy rank = MustCreate(proto, {1e100, 1e100});
  rank.Decide(query, SeedKey(1), &workspace, &draw);
  EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
  EXPECT_EQ(rank.LogPropensity(query, Action{1, 2, 0}, &workspace), -HUGE_VAL);
  std::vector<double> gradient(2, 1);
  EXPECT_EQ(rank.AddLogPropensityGradient(query, Action{1, 2, 0}, 1, &workspace,
                                          gradient),
            -HUGE_VAL);
  EXPECT_EQ(gradient, std::vector<double>(2, 1));
}

TEST(LinearPolicyTest, UniformTakesAnyNumberOfFeatures) {
  World world;
  const LinearPolicy select = LinearPolicy::Uniform(ActionKind::kSelect, true);
  EXPECT_TRUE(select.uniform());
  EXPECT_TRUE(select.can_abstain());
  EXPECT_EQ(select.num_features(), 0u);
  PolicyWorkspace workspace;
  EXPECT_NEAR(select.LogPropensity(world.query, Action{kAbstain}, &workspace),
              -std::log(6), 1e-15);
  const LinearPolicy rank = LinearPolicy::Uniform(ActionKind::kRank, false);
  world.query.top_k = 2;
  EXPECT_NEAR(rank.LogPropensity(world.query, Action{6, 0}, &workspace),
              -std::log(20), 1e-15);
  EXPECT_EQ(rank.Scores(world.query), std::vector<double>(7, 0));
}

TEST(LinearPolicyTest, ScoresAndProbabilitiesAreByDocumentIndex) {
  World world;
  const model::v1::Policy proto = MakePolicy(ActionKind::kSelect, 0.3);
  const LinearPolicy policy = MustCreate(proto, world.weights);
  const std::vector<double> scores = policy.Scores(world.query);
  double abstain = 0;
  const std::vector<double> probabilities =
      policy.FirstProbabilities(world.query, &abstain);
  PolicyWorkspace workspace;
  std::vector<double> again(20, 0.5);
  EXPECT_EQ(policy.FirstProbabilities(world.query, &workspace, &again),
            abstain);
  EXPECT_EQ(again, probabilities);
  ASSERT_EQ(scores.size(), 7u);
  ASSERT_EQ(probabilities.size(), 7u);
  for (int32_t i = 0; i < 7; ++i) {
    const bool eligible = world.eligible[i];
    EXPECT_EQ(scores[i],
              eligible ? world.query.candidates.Score(i, world.weights) : 0);
    const double log_p =
        policy.LogPropensity(world.query, Action{i}, &workspace);
    EXPECT_NEAR(probabilities[i], std::exp(log_p), 1e-15);
  }
  EXPECT_NEAR(
      abstain,
      std::exp(policy.LogPropensity(world.query, Action{kAbstain}, &workspace)),
      1e-15);
}

TEST(LinearPolicyTest, ModeIsInDocumentIndexes) {
  World world;
  const LinearPolicy policy =
      MustCreate(MakePolicy(ActionKind::kRank, 0.3), world.weights);
  PolicyWorkspace workspace;
  const Action mode = policy.Mode(world.query, &workspace);
  const std::vector<double> scores = policy.Scores(world.query);
  ASSERT_EQ(mode.size(), 5u);
  for (size_t r = 0; r < mode.size(); ++r) {
    EXPECT_TRUE(world.eligible[mode[r]]);
    if (r == 0) continue;
    EXPECT_GT(scores[mode[r - 1]], scores[mode[r]]);
  }
}

// Golden decision: if it changes, logged decisions can no longer be verified.
TEST(LinearPolicyTest, DecisionsNeverChange) {
  World world;
  world.query.top_k = 3;
  const LinearPolicy policy =
      MustCreate(MakePolicy(ActionKind::kRank, 0.1), world.weights);
  PolicyWorkspace workspace;
  Draw draw;
  policy.Decide(world.query, DecisionKey("default", 1, "decision-1"),
                &workspace, &draw);
  EXPECT_EQ(draw.action, (Action{5, 6, 3}));
  EXPECT_EQ(std::bit_cast<uint64_t>(draw.log_propensity), 0xc00d8c64eb54e523);
  const LinearPolicy select =
      MustCreate(MakePolicy(ActionKind::kSelect, 0.1), world.weights);
  select.Decide(world.query, DecisionKey("default", 1, "decision-1"),
                &workspace, &draw);
  EXPECT_EQ(draw.action, (Action{2}));
  EXPECT_EQ(std::bit_cast<uint64_t>(draw.log_propensity), 0xbff66c05d78ce408);
}

}  // namespace
}  // namespace sortition
