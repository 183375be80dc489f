// Learning from logs of rankings with rank factors, and of sorted rankings.
#include "core/learners/counterfactual/linear_weights.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ExplorationTrainTest : public testing::Test {
 protected:
  // Publishes what logged as version 1 and writes its log.
  void Prepare(const SyntheticLog& log) {
    WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, 4000));
    ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_force(true);
    options_.mutable_poem()->add_lambda(0.5);
    options_.mutable_poem()->add_l2(1e-4);
  }

  const TempDir dir_;
  const ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
};

TEST_F(ExplorationTrainTest, KeepsTheRankFactors) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  log.rank_factors = {1.5, 0.5};
  Prepare(log);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  const model::v1::Policy& policy = stored.model.policy();
  EXPECT_THAT(policy.plackett_luce().rank_factors(), ElementsAre(1.5, 0.5));
  EXPECT_EQ(policy.inverse_temperature(), 1);
  // The hidden weights are (1, 1, 1, 0, 0); the logging policy had -0.5 for the
  // second. The parent and both starts are of the family.
  for (const int j : {0, 1, 2}) EXPECT_GT(stored.model.weights(j), 0.2) << j;
  EXPECT_EQ(report.evaluation().grid_size(), 3);
  EXPECT_GT(report.evaluation().snips_reward().value(),
            report.evaluation().logging_reward().value());
  options_.mutable_poem()->set_objective(
      config::v1::PoemOptions::DOUBLY_ROBUST);
  options_.mutable_poem()->clear_lambda();
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be another for plackett_luce with "
                                 "rank_factors")));
}

// What explores around a fixed scorer is no family of parameters, but its log
// teaches others.
TEST_F(ExplorationTrainTest, LearnsPlackettLuceFromSortedRankings) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  log.sorted.emplace().set_swap_probability(0.5);
  Prepare(log);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_EQ(report.train_clip(), 10);  // The default for rankings.
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_TRUE(stored.model.policy().has_plackett_luce());
  EXPECT_EQ(stored.model.policy().plackett_luce().rank_factors_size(), 0);
}

// A rank with the factor f has a gradient as long as that of f ranks.
TEST_F(ExplorationTrainTest, CoveringBoundCountsRankFactors) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {3, 0, -4};
  tuple.action = {0, 1, 2};
  LinearFamily family{ActionKind::kRank, 1, false, 0};
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(1, 2);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);
  family.rank_factors = {4, 0.5};
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 5);  // 4 + 1/2 + 1/2.
  family.rank_factors = {0.25};
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 1);  // Above 3/4.
}

}  // namespace
}  // namespace sortition
