// Learning from logs of Boltzmann rankings.
#include "core/learners/counterfactual/linear_weights.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Learns from a log with full support and from one in which some orders were
// impossible.
TEST(BoltzmannTrainTest, LearnsThemAsSuch) {
  for (const uint32_t head : {0u, 4u}) {
    SyntheticLog log;
    log.action_kind = ActionKind::kRank;
    log.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
    log.boltzmann->set_cutoff(3);
    log.boltzmann->set_head(head);
    log.boltzmann->set_plackett_luce_mixture(head > 0 ? 0.3 : 0);
    const TempDir dir;
    const ModelStore store(dir.Sub("models"));
    WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, 4000));
    ASSERT_OK(store.Publish(LoggingModel(log), nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir.Sub("tuples"));
    options.set_model_store(dir.Sub("models"));
    options.set_force(true);
    options.mutable_poem()->add_lambda(0.5);
    options.mutable_poem()->add_l2(1e-4);
    options.mutable_poem()->set_clip(30);  // Tails have large weights.
    ASSERT_OK_AND_ASSIGN(const auto report, Train(options));
    ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("default", 2));
    const model::v1::Policy& policy = stored.model.policy();
    EXPECT_EQ(policy.boltzmann_ranking().SerializeAsString(),
              log.boltzmann->SerializeAsString());
    EXPECT_EQ(policy.inverse_temperature(), 1);
    // The hidden weights are (1, 1, 1, 0, 0); the logging policy had -0.5 for
    // the second. If lists have a tail, the gradient ignores which candidates
    // enter the head and makes less progress. The parent and both starts are of
    // the family.
    for (const int j : {0, 2}) EXPECT_GT(stored.model.weights(j), 0.3) << j;
    EXPECT_GT(stored.model.weights(1), head == 0 ? 0.3 : -0.2);
    EXPECT_EQ(report.evaluation().grid_size(), 3);
    EXPECT_GT(report.evaluation().snips_reward().value(),
              report.evaluation().logging_reward().value());
    // If lists are longer than the head, there is no covering bound.
    bool covered = false;
    for (const auto& bound : report.evaluation().bounds()) {
      covered |= bound.part() == "train";
    }
    EXPECT_EQ(covered, head == 0);
    options.mutable_poem()->set_objective(
        config::v1::PoemOptions::DOUBLY_ROBUST);
    options.mutable_poem()->clear_lambda();
    EXPECT_THAT(Train(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("must be another for boltzmann_ranking")));
  }
}

// For n = 3 ranks of DCG, Σ_r (a_r - a_{n-1}) is (1 - 1/2) + (1/log2(3) - 1/2)
// = 0.63, so that the gradient is as long as that of one rank of Plackett-Luce,
// for any k.
TEST(BoltzmannTrainTest, CoveringBoundCountsRankWeights) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {3, 0, -4};
  tuple.action = {0, 1, 2};
  LinearFamily family{ActionKind::kRank, 1, false, 0};
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(1, 2);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);
  family.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 1);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->feature_norm, 4);
  family.boltzmann->set_rank_weights(model::v1::BoltzmannRanking::LINEAR);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);  // 2 + 1.
  family.boltzmann->set_plackett_luce_mixture(0.1);
  family.boltzmann->set_plackett_luce_scale(1.5);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 5);  // Above 1.5 · 3.
  family.boltzmann->set_head(2);
  EXPECT_FALSE(LinearBall(family, w, {&tuple, 1}).has_value());
}

}  // namespace
}  // namespace sortition
