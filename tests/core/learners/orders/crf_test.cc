#include "core/learners/orders/crf.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/orders.pb.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::CrfOptions;
using config::v1::RankPolicyOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<LabelledLearner> Make(const CrfOptions& options) {
  return MakeCrfLearner(options, kShape).value();
}

CrfOptions CrfOptionsOf(CrfOptions::Objective objective) {
  CrfOptions options;
  options.set_objective(objective);
  return options;
}

TEST(CrfTest, GridsAreThePapersUnlessGiven) {
  EXPECT_EQ(Make({})->num_points(), 16u);
  EXPECT_EQ(Make(CrfOptionsOf(CrfOptions::LOSS_AUGMENTED))->num_points(), 16u);
  EXPECT_EQ(Make(CrfOptionsOf(CrfOptions::EXPECTED_LOSS))->num_points(), 4u);
  CrfOptions options;
  options.add_temperature(0.5);
  options.add_learning_rate(0.1);
  options.add_learning_rate(0.2);
  EXPECT_EQ(Make(options)->num_points(), 2u);
  CrfOptions batch;
  batch.set_optimiser(CrfOptions::BATCH);
  EXPECT_EQ(Make(batch)->num_points(), 4u * 13u);
  CrfOptions in_force;
  in_force.CopyFrom(Make(batch)->options());
  EXPECT_THAT(in_force.temperature(), ElementsAre(1, 10, 20, 50));
  EXPECT_EQ(in_force.learning_rate_size(), 0);
}

// The gain is linear, as in eq. 12.
TEST(CrfTest, ComparesByLinearGain) {
  const LabelMeasure measure = Make({})->measure();
  EXPECT_EQ(measure.kind, LabelMeasure::Kind::kDcg);
  EXPECT_EQ(measure.k, 0u);
  EXPECT_THAT(measure.gains, ElementsAre(0, 0.5, 1));
}

TEST(CrfTest, PublishesTheModelItself) {
  const auto learner = Make({});
  LabelledPolicyTask task{.inverse_temperature = 2};
  ASSERT_OK_AND_ASSIGN(model::v1::Policy policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_boltzmann_ranking());
  EXPECT_EQ(policy.inverse_temperature(), 2);
  task.rank.set_kind(RankPolicyOptions::PLACKETT_LUCE);
  ASSERT_OK_AND_ASSIGN(policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_plackett_luce());
  task = {.action_kind = ActionKind::kSelect};
  ASSERT_OK_AND_ASSIGN(policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_softmax_selection());
  task.action_kind = ActionKind::kSubset;
  EXPECT_THAT(learner->MakePolicy(task),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("action is label")));
}

// One query: relevances 2, 1, 0, 0 in the order of x. For w < 0 scores fall
// with x, and NDCG is that of (0, 0, 1, 2): (1/2 + 2/log2 5) / (2 + 1/log2 3).
// For w > 0 it is 1.
TEST(CrfTest, PointsAreChosenByTheirNdcg) {
  TestQueries training;
  training.Add({4, 3, 2, 1}, {2, 1, 0, 0});
  TestQueries reversed;
  reversed.Add({1, 2, 3, 4}, {2, 1, 0, 0});
  reversed.Add({1, 2}, {0, 0});  // Counts as 0.
  CrfOptions options = CrfOptionsOf(CrfOptions::MAXIMUM_LIKELIHOOD);
  options.add_learning_rate(0.1);
  options.set_max_epochs(5);
  std::map<size_t, int> steps;
  const auto train = [&](const TestQueries& validation) {
    return Make(options)->Train(
        {.training = training.views(),
         .validation = validation.views(),
         .on_step = [&](size_t point) { ++steps[point]; }});
  };
  ASSERT_OK_AND_ASSIGN(LabelledResult result, train(training));
  EXPECT_GT(result.weights[0], 0);
  EXPECT_EQ(result.points[0].validation, 1);
  EXPECT_EQ(result.points[0].passes, 5u);
  EXPECT_EQ(result.points[0].setting, "learning_rate 0.1");
  EXPECT_THAT(result.points[0].termination, HasSubstr("best epoch 1"));
  EXPECT_EQ(steps[0], 5);
  ASSERT_OK_AND_ASSIGN(result, train(reversed));
  const double ndcg = (0.5 + 2 / std::log2(5)) / (2 + 1 / std::log2(3));
  EXPECT_NEAR(result.points[0].validation, ndcg / 2, 1e-12);
}

TEST(CrfTest, TrainsEachObjectiveByBothOptimisers) {
  const RandomQueriesShape shape = {
      .num_queries = 30, .most_items = 10, .max_relevance = 2, .noise = 0.1};
  const TestQueries training = RandomQueries(shape, 1);
  const TestQueries validation = RandomQueries(shape, 2);
  for (const auto objective :
       {CrfOptions::MAXIMUM_LIKELIHOOD, CrfOptions::LOSS_AUGMENTED,
        CrfOptions::LOSS_SCALED, CrfOptions::EXPECTED_LOSS,
        CrfOptions::KULLBACK_LEIBLER}) {
    for (const auto optimiser : {CrfOptions::STOCHASTIC, CrfOptions::BATCH}) {
      CrfOptions options = CrfOptionsOf(objective);
      options.set_optimiser(optimiser);
      if (optimiser == CrfOptions::BATCH) {
        options.set_subsets(2);
        options.add_lambda(0.01);
        options.add_lambda(0.001);
      } else {
        options.set_max_epochs(8);
      }
      const auto learner = Make(options);
      ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                           learner->Train({.training = training.views(),
                                           .validation = validation.views()}));
      EXPECT_EQ(result.points.size(), learner->num_points());
      std::set<std::string> settings;
      for (const LabelledPoint& point : result.points) {
        EXPECT_LE(point.validation, result.points[result.chosen].validation);
        settings.insert(absl::StrCat(point.lambda, " ", point.setting));
      }
      EXPECT_EQ(settings.size(), result.points.size());
      const Eigen::Map<const Eigen::Vector3d> w(result.weights.data());
      const Eigen::Vector3d planted(1, -0.5, 1);
      EXPECT_GT(w.dot(planted) / (w.norm() * planted.norm()), 0.97);
    }
  }
}

TEST(CrfTest, RefusesOptionsWithoutMeaning) {
  const auto expect = [](const CrfOptions& options, const char* message) {
    EXPECT_THAT(
        MakeCrfLearner(options, kShape),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  CrfOptions options;
  options.add_loss_weight(1);
  expect(options,
         "crf.loss_weight is set, must be unset except for objective "
         "LOSS_AUGMENTED");
  options = CrfOptionsOf(CrfOptions::EXPECTED_LOSS);
  options.add_temperature(1);
  expect(options, "crf.temperature is set");
  options = {};
  options.add_lambda(1);
  expect(options,
         "crf.lambda is set, must be unset except for optimiser BATCH");
  options = {};
  options.set_optimiser(CrfOptions::BATCH);
  options.set_patience(3);
  expect(options, "crf.patience is set");
  options = {};
  options.add_learning_rate(0);
  expect(options, "crf.learning_rate is 0, must be above 0");
  options = {};
  options.set_subset_size(9);
  expect(options, "crf.subset_size is 9, must be 2 to 8");
  options = {};
  options.set_max_epochs(0);
  expect(options, "crf.max_epochs is 0, must be 1 to 100000");
}

}  // namespace
}  // namespace sortition
