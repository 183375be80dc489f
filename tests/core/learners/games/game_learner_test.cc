#include "core/learners/games/game_learner.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/games/game_objective_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

class EveryGameTest : public TestWithParam<GameOptions> {};

TEST_P(EveryGameTest, TrainsToAProvedGap) {
  RandomSequence random(SeedKey(3));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const TestQueries queries = RandomQueries(
        {.num_queries = 30, .max_relevance = 2, .rounded = seed % 2 == 0},
        seed);
    for (const double lambda : {1., 0.1, 0.01}) {
      const auto objective = MakeObjective(queries, GetParam());
      ASSERT_OK_AND_ASSIGN(const GameResult result,
                           TrainGame(objective.get(), lambda, {}));
      EXPECT_LE(result.gap(), 1e-4) << result.termination;
      EXPECT_GE(result.gap(), -1e-12);
      EXPECT_THAT(result.termination, HasSubstr("gap closed"));
      EXPECT_EQ(result.evaluations, objective->evaluations());
      // The reported J is J there, up to the gap that the games left, and
      // nothing nearby is below the bound.
      const double j = objective->Evaluate(result.theta, nullptr);
      const bool exact = GetParam().measure() != GameOptions::F_BETA;
      EXPECT_LE(j, result.objective + 2e-9);
      EXPECT_GE(j, exact ? result.objective - 2e-9 : result.dual_bound - 2e-9);
      for (int trial = 0; trial < 10; ++trial) {
        Eigen::VectorXd other = result.theta;
        for (double& entry : other) entry += 0.01 * random.Normal();
        EXPECT_GE(objective->Evaluate(other, nullptr),
                  result.dual_bound - 2e-9);
      }
    }
  }
}

// The bound's adversary, a mixture of those met, has moments Σ (y - q) x = N λ
// w. J is λ-strongly convex above the bound, so w is within √(2 gap / λ) of θ.
TEST_P(EveryGameTest, MomentsMatchAtTheOptimum) {
  constexpr double kLambda = 0.05;
  const TestQueries queries =
      RandomQueries({.num_queries = 30, .max_relevance = 2}, 4);
  const auto objective = MakeObjective(queries, GetParam());
  ASSERT_OK_AND_ASSIGN(const GameResult result,
                       TrainGame(objective.get(), kLambda, {}));
  const CuttingPlanes::Bound bound = objective->LowerBound();
  EXPECT_LE((bound.point - result.theta).norm(),
            std::sqrt(2 * (result.objective - bound.value) / kLambda) + 1e-9);
  // There are moments to match.
  EXPECT_GT(result.theta.norm(), 0.01);
}

INSTANTIATE_TEST_SUITE_P(All, EveryGameTest, ValuesIn(AllGames()));

// Strong regularisation keeps ψ small, where only ties could be kinks: the
// gradient itself is 0, Σ (y - q) x = N λ θ for the game's own q.
TEST(GameLearnerTest, GradientVanishesWhereTheOptimumIsSmooth) {
  const TestQueries queries = RandomQueries({.num_queries = 30}, 5);
  GameOptions options;
  options.mutable_lbfgs()->set_decrease_tolerance(0);
  options.mutable_lbfgs()->set_gradient_tolerance(1e-9);
  options.set_gap_tolerance(1e-300);
  options.set_max_cuts(0);
  const auto objective = MakeObjective(queries, options);
  ASSERT_OK_AND_ASSIGN(const GameResult result,
                       TrainGame(objective.get(), 1000, {}));
  Eigen::VectorXd gradient;
  objective->Evaluate(result.theta, &gradient);
  EXPECT_LT(gradient.norm(), 1e-8);
  EXPECT_GT(result.theta.norm(), 1e-5);
}

// Each stage contributes: kinks stop L-BFGS early, the smoothed adversary
// lowers J further, and cutting planes close the remaining gap.
TEST(GameLearnerTest, LaterStagesCloseTheGap) {
  double after_lbfgs = 0;
  double after_smoothing = 0;
  double closed = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const TestQueries queries =
        RandomQueries({.num_queries = 60, .num_features = 6}, seed);
    GameOptions options;
    options.set_gap_tolerance(1e-7);
    options.set_smoothing(1e-5);
    const auto train = [&](const GameOptions& with) {
      const auto objective = MakeObjective(queries, with);
      return TrainGame(objective.get(), 0.01, {}).value();
    };
    const GameResult whole = train(options);
    EXPECT_LE(whole.gap(), 1e-6) << whole.termination;
    closed += whole.objective;
    options.set_max_cuts(0);
    after_smoothing += train(options).objective;
    // With this much smoothing the smoothed minimum is no better.
    options.set_smoothing(1);
    after_lbfgs += train(options).objective;
  }
  EXPECT_LT(after_smoothing, after_lbfgs - 1e-6);
  EXPECT_LT(closed, after_smoothing);
}

// A feature that is 1 for every item has Σ (y - q) = |y| - m in each query,
// whatever the game, so its weight is the mean of |y| - m over λ. It is 0 for m
// = |y|, grows without limit as λ falls for m = k < |y|, and is 0 if the
// feature is centred.
TEST(GameLearnerTest,
     AConstantFeatureRunsAwayWhereTheAdversaryHasAnotherTotal) {
  constexpr double kLambda = 0.01;
  RandomSequence random(SeedKey(6));
  TestQueries queries;
  for (int query = 0; query < 30; ++query) {
    std::vector<float> features;
    for (int i = 0; i < 10; ++i) {
      features.push_back(1);
      features.push_back(static_cast<float>(random.Normal()) +
                         (i < 4 ? 1.F : 0.F));
    }
    queries.Add(features, {1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  }
  GameOptions options;
  options.set_measure(GameOptions::PRECISION);
  options.set_k(2);
  options.set_gap_tolerance(1e-8);
  const auto constant_weight = [&] {
    const auto objective = MakeObjective(queries, options);
    const GameResult result = TrainGame(objective.get(), kLambda, {}).value();
    return result.theta[0];
  };
  EXPECT_NEAR(constant_weight(), 0, 2e-3);
  options.set_adversary(GameOptions::K_POSITIVES);
  EXPECT_NEAR(constant_weight(), (4 - 2) / kLambda, 2e-3);
  options.set_centre_features(true);
  EXPECT_NEAR(constant_weight(), 0, 2e-3);
}

// The same hazard if every feature has a mean: θ must grow along (1, 1), which
// is unrelated to relevance here, until it swamps the signal.
TEST(GameLearnerTest, ShiftedFeaturesSpoilTheUnsoundBoundOnly) {
  const auto precision = [](float shift, GameOptions::Adversary adversary,
                            bool centre) {
    RandomSequence random(SeedKey(7));
    TestQueries queries;
    for (int query = 0; query < 60; ++query) {
      std::vector<float> features;
      std::vector<uint32_t> relevances;
      for (int i = 0; i < 20; ++i) {
        const double x[] = {random.Normal(), random.Normal()};
        for (const double value : x) {
          features.push_back(static_cast<float>(value) + shift);
        }
        relevances.push_back(x[0] - x[1] > 0.4 ? 1 : 0);
      }
      queries.Add(features, relevances);
    }
    GameOptions options;
    options.set_measure(GameOptions::PRECISION);
    options.set_k(4);
    options.set_adversary(adversary);
    options.set_centre_features(centre);
    const auto objective = MakeObjective(queries, options);
    const GameResult result = TrainGame(objective.get(), 1e-2, {}).value();
    return objective->ExpectedScore(result.theta).value();
  };
  const double sound = precision(0, GameOptions::SAME_TOTAL, false);
  EXPECT_GT(sound, 0.95);
  EXPECT_NEAR(precision(4, GameOptions::SAME_TOTAL, false), sound, 0.01);
  EXPECT_NEAR(precision(4, GameOptions::K_POSITIVES, true), sound, 0.05);
  // A random set of 4 has a precision of 0.39.
  EXPECT_LT(precision(8, GameOptions::K_POSITIVES, false), 0.6);
}

TEST(GameLearnerTest, LearnsWhatIsSeparable) {
  // One feature decides relevance. With little regularisation ψ differs by
  // enough that d is that of the best order.
  TestQueries queries;
  queries.Add({1, 0, 0, 0, 1, 1}, {1, 0, 0});
  queries.Add({0, 1, 1, 0, 1, 1, 0, 0}, {0, 1, 1, 0});
  GameOptions options;
  const auto objective = MakeObjective(queries, options);
  ASSERT_OK_AND_ASSIGN(const GameResult result,
                       TrainGame(objective.get(), 1e-4, {}));
  const double best = (1 + 1 + 1 / std::log2(3.0)) / 2;
  EXPECT_NEAR(objective->ExpectedScore(result.theta).value(), best, 1e-6);
}

TEST(GameLearnerTest, PathChoosesByValidationAndIsRepeatable) {
  const TestQueries training =
      RandomQueries({.num_queries = 40, .most_items = 12}, 11);
  const TestQueries validation =
      RandomQueries({.num_queries = 40, .most_items = 12}, 12);
  GameOptions options;
  options.set_k(3);
  ASSERT_OK_AND_ASSIGN(
      const GamePath path,
      TrainGamePath(training.views(), validation.views(), options, SerialFor));
  ASSERT_EQ(path.points.size(), 19u);
  EXPECT_EQ(GamePathSize(options), 19u);
  EXPECT_EQ(path.points.front().lambda, 4096.0 / 40);
  EXPECT_EQ(path.points.back().lambda, 1.0 / 64 / 40);
  const auto judge = MakeObjective(validation, options);
  for (const GamePathPoint& point : path.points) {
    EXPECT_LE(point.result.gap(), 1e-4);
    EXPECT_EQ(judge->ExpectedScore(point.result.theta).value(),
              point.validation);
    EXPECT_LE(point.validation, path.points[path.chosen].validation);
    // Another start gives the same minimum, and planes from larger λ stay
    // valid.
    const auto fresh = MakeObjective(training, options);
    ASSERT_OK_AND_ASSIGN(const GameResult cold,
                         TrainGame(fresh.get(), point.lambda, {}));
    EXPECT_GE(point.result.objective, cold.dual_bound - 1e-12);
    EXPECT_GE(cold.objective, point.result.dual_bound - 1e-12);
  }
  const GamePath again =
      TrainGamePath(training.views(), validation.views(), options, SerialFor)
          .value();
  EXPECT_EQ(again.points[path.chosen].result.theta,
            path.points[path.chosen].result.theta);
}

TEST(GameLearnerTest, PathTellsItsProgressAndStops) {
  const TestQueries queries = RandomQueries({.num_queries = 20}, 14);
  GameOptions options;
  options.set_measure(GameOptions::NDCG);
  for (const double lambda : {0.1, 1., 0.01}) options.add_lambda(lambda);
  std::vector<double> lambdas;
  ASSERT_OK_AND_ASSIGN(
      GamePath path,
      TrainGamePath(queries.views(), queries.views(), options, SerialFor,
                    [&](const GameProgress& progress) {
                      EXPECT_EQ(progress.num_points, 3u);
                      if (progress.point == lambdas.size()) {
                        lambdas.push_back(progress.lambda);
                      }
                      return progress.point == 1;
                    }));
  EXPECT_THAT(lambdas, ElementsAre(1, 0.1));
  EXPECT_TRUE(path.stopped);
  ASSERT_EQ(path.points.size(), 2u);
  EXPECT_TRUE(path.points[1].result.stopped);
  // The planes that exist stay valid.
  EXPECT_GE(path.points[1].result.gap(), 0);
  // Queries without relevant items were left out.
  size_t irrelevant = 0;
  for (const LabelledItems& query : queries.views()) {
    irrelevant += std::ranges::count(query.relevances, 0u) ==
                  static_cast<int64_t>(query.relevances.size());
  }
  EXPECT_GT(irrelevant, 0u);
  EXPECT_EQ(path.num_skipped, irrelevant);
}

// Takes far fewer passes than L-BFGS and cutting planes run to their ends.
TEST(GameLearnerTest, EndsAsSoonAsTheGapIsProved) {
  const TestQueries queries = RandomQueries({.num_queries = 60}, 15);
  GameOptions options;
  const auto evaluations = [&](double gap) {
    options.set_gap_tolerance(gap);
    const auto objective = MakeObjective(queries, options);
    const GameResult result = TrainGame(objective.get(), 0.1, {}).value();
    EXPECT_LE(result.gap(), gap);
    return result.evaluations;
  };
  const uint32_t loose = evaluations(1e-2);
  EXPECT_LT(loose, 15u);
  EXPECT_GT(evaluations(1e-5), loose);
}

TEST(GameLearnerTest, RefusesWhatItCannotTrain) {
  const TestQueries queries = RandomQueries({}, 1);
  const TestQueries wider = RandomQueries({.num_features = 4}, 1);
  const auto objective = MakeObjective(queries, GameOptions());
  EXPECT_THAT(TrainGame(objective.get(), 0, {}),
              IsInvalidArgument("lambda is 0"));
  EXPECT_THAT(TrainGame(objective.get(), 1, Eigen::VectorXd::Zero(2)),
              IsInvalidArgument("start has 2 entries"));
  // ψ of 1e308 times a feature overflows.
  EXPECT_THAT(
      TrainGame(objective.get(), 1, Eigen::VectorXd::Constant(3, 1e308)),
      IsInvalidArgument("psi"));
  GameOptions options;
  options.add_lambda(-1);
  EXPECT_THAT(
      TrainGamePath(queries.views(), queries.views(), options, SerialFor),
      IsInvalidArgument("lambda is -1"));
  options.clear_lambda();
  EXPECT_THAT(TrainGamePath(queries.views(), wider.views(), options, SerialFor),
              IsInvalidArgument("validation queries have 4 features"));
}

}  // namespace
}  // namespace sortition
