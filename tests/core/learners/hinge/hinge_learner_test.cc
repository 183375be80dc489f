#include "core/learners/hinge/hinge_learner.h"

#include "core/data/labelled_queries.h"
#include "core/learners/hinge/hinge_solver.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/core/learners/hinge/brute_hinge.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr HingeOptions::Solver kSolvers[] = {
    HingeOptions::ONE_SLACK, HingeOptions::N_SLACK, HingeOptions::SUBGRADIENT};

struct Training {
  std::unique_ptr<HingeProblem> problem;
  std::unique_ptr<HingeSolver> solver;
};

Training Start(const TestQueries& queries, const HingeOptions& options) {
  Training training;
  training.problem = *HingeProblem::Create(queries.views(), options);
  training.solver = MakeHingeSolver(training.problem.get(), options);
  return training;
}

// J, from every answer to every query with informative labels.
double BruteForce(const TestQueries& queries, const HingeOptions& options,
                  double lambda, const Eigen::VectorXd& w) {
  const StructuredHinges hinges = *StructuredHinges::Create(options);
  double sum = 0, count = 0;
  for (const LabelledItems& query : queries.views()) {
    if (hinges.Of(query.relevances) == nullptr) continue;
    std::vector<double> scores(query.relevances.size());
    ScoreAll(query.items, {w.data(), static_cast<size_t>(w.size())}, scores);
    sum += BruteHinge(options, query.relevances, scores);
    ++count;
  }
  return lambda / 2 * w.squaredNorm() + sum / count;
}

TestQueries SmallQueries(uint64_t seed) {
  return RandomQueries({.num_queries = 15,
                        .most_items = 6,
                        .max_relevance = 2,
                        .rounded = seed % 2 == 0},
                       seed);
}

// A pair of difference x = (2, 0): λ/2 w² + max(0, 1 - 2 w) is least at
// w = min(2 / λ, 1/2).
TEST(HingeSolverTest, SolvesAPairByHand) {
  TestQueries queries;
  queries.Add({3, 7, 1, 7}, {4, 2});
  for (const auto solver : kSolvers) {
    HingeOptions options;
    options.set_loss(HingeOptions::KENDALL);
    options.set_solver(solver);
    options.set_gap_tolerance(1e-5);
    const Training training = Start(queries, options);
    ASSERT_OK_AND_ASSIGN(HingeResult result, training.solver->Minimise(8, {}));
    // λ/2 ‖w - w*‖² is at most the gap.
    EXPECT_NEAR(result.weights[0], 0.25, 2e-3);
    EXPECT_NEAR(result.weights[1], 0, 2e-3);
    EXPECT_NEAR(result.objective, 0.25 + 0.5, 1e-5);
    EXPECT_EQ(result.termination, "gap closed");
    ASSERT_OK_AND_ASSIGN(result, training.solver->Minimise(1, {}));
    EXPECT_NEAR(result.weights[0], 0.5, 5e-3);
    EXPECT_NEAR(result.objective, 0.125, 1e-5);
  }
}

// NDCG of two items, DCG 1 or 1 / log2(3): the hinge is max(0, Δ - x·w),
// Δ = 1 - 1 / log2(3), x = 2 their difference; λ = 1: w = Δ / 2.
TEST(HingeSolverTest, SolvesTwoRanksByHand) {
  TestQueries queries;
  queries.Add({3, 1}, {1, 0});
  const double loss = 1 - 1 / std::log2(3);
  for (const auto solver : kSolvers) {
    HingeOptions options;
    options.set_solver(solver);
    options.set_gap_tolerance(1e-5);
    const Training training = Start(queries, options);
    ASSERT_OK_AND_ASSIGN(const HingeResult result,
                         training.solver->Minimise(1, {}));
    EXPECT_NEAR(result.objective, loss * loss / 8, 1e-5);
    EXPECT_NEAR(result.weights[0], loss / 2, 5e-3);
  }
}

class HingeSolversTest : public ::testing::TestWithParam<HingeOptions> {};

TEST_P(HingeSolversTest, AgreeWithEachOtherAndEnumeration) {
  RandomSequence random(SeedKey(1));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const TestQueries queries = SmallQueries(seed);
    for (const double lambda : {1.0, 0.03}) {
      double least = HUGE_VAL, highest_bound = -HUGE_VAL;
      for (const auto solver : kSolvers) {
        HingeOptions options = GetParam();
        options.set_solver(solver);
        const bool exact = solver != HingeOptions::SUBGRADIENT;
        options.set_gap_tolerance(exact ? 1e-6 : 1e-2);
        options.set_max_passes(5000);
        const Training training = Start(queries, options);
        ASSERT_OK_AND_ASSIGN(const HingeResult result,
                             training.solver->Minimise(lambda, {}));
        EXPECT_LE(result.gap(), options.gap_tolerance())
            << HingeOptions::Solver_Name(solver) << " " << result.termination;
        EXPECT_NEAR(BruteForce(queries, options, lambda, result.weights),
                    result.objective, 1e-10);
        least = std::min(least, result.objective);
        highest_bound = std::max(highest_bound, result.dual_bound);
        for (int trial = 0; trial < 20; ++trial) {
          Eigen::VectorXd other = result.weights;
          for (double& w : other) w += std::exp2(-trial) * random.Normal();
          EXPECT_GE(BruteForce(queries, options, lambda, other),
                    result.dual_bound);
        }
      }
      // No solver's bound is above the value that another solver attains.
      EXPECT_LE(highest_bound, least + 1e-10);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, HingeSolversTest,
                         ::testing::ValuesIn(AllHinges()), [](const auto& p) {
                           return HingeOptions::Loss_Name(p.param.loss());
                         });

// H has a derivative where it is smooth, and its slope equals it; so for the
// mean.
TEST(HingeProblemTest, SlopesAreNumericDerivatives) {
  RandomSequence random(SeedKey(2));
  for (const HingeOptions& options : AllHinges()) {
    const TestQueries queries = SmallQueries(3);
    const auto problem = *HingeProblem::Create(queries.views(), options);
    for (int trial = 0; trial < 20; ++trial) {
      Eigen::VectorXd w(problem->dimension());
      for (double& weight : w) weight = random.Normal();
      RiskPlane plane, above, below;
      problem->EvaluateAll(w, &plane);
      EXPECT_NEAR(plane.value, BruteForce(queries, options, 0, w), 1e-11);
      for (Eigen::Index j = 0; j < w.size(); ++j) {
        constexpr double kStep = 1e-7;
        const Eigen::VectorXd step = kStep * Eigen::VectorXd::Unit(3, j);
        problem->EvaluateAll(w + step, &above);
        problem->EvaluateAll(w - step, &below);
        EXPECT_NEAR((above.value - below.value) / (2 * kStep), plane.slope[j],
                    1e-5);
      }
    }
  }
}

// However the solver ends, the bound is below the minimum and the objective
// above.
TEST(HingeSolverTest, BoundsHoldWhereverItStops) {
  const TestQueries queries = SmallQueries(4);
  HingeOptions options;
  options.set_gap_tolerance(1e-7);
  const double minimum =
      Start(queries, options).solver->Minimise(0.03, {})->objective;
  for (const auto solver : kSolvers) {
    options.set_solver(solver);
    for (uint32_t passes = 1; passes < 12; ++passes) {
      options.set_max_passes(passes);
      uint32_t told = 0;
      ASSERT_OK_AND_ASSIGN(
          const HingeResult result,
          Start(queries, options).solver->Minimise(0.03, [&] { ++told; }));
      EXPECT_LE(result.dual_bound, minimum);
      EXPECT_GE(result.objective, minimum - 1e-7);
      EXPECT_EQ(told, result.passes);
      // Subgradients need one pass to begin with and one to evaluate.
      EXPECT_LE(result.passes, solver == HingeOptions::SUBGRADIENT
                                   ? std::max(2u, passes)
                                   : passes);
    }
  }
}

TEST(HingeSolverTest, APathCostsLessThanItsPoints) {
  const TestQueries queries = RandomQueries(
      {.num_queries = 60, .num_features = 6, .max_relevance = 2}, 5);
  HingeOptions options;
  for (const auto solver : {HingeOptions::ONE_SLACK, HingeOptions::N_SLACK}) {
    options.set_solver(solver);
    const Training path = Start(queries, options);
    uint32_t warm = 0, cold = 0;
    for (double lambda = 1; lambda > 1e-3; lambda /= 2) {
      warm += path.solver->Minimise(lambda, {})->passes;
      cold += Start(queries, options).solver->Minimise(lambda, {})->passes;
    }
    EXPECT_LT(3 * warm, 2 * cold);
  }
}

TEST(HingeSolverTest, SameCallsGiveTheSameBits) {
  const TestQueries queries = SmallQueries(6);
  for (const auto solver : kSolvers) {
    HingeOptions options;
    options.set_solver(solver);
    const auto run = [&] {
      return *Start(queries, options).solver->Minimise(0.01, {});
    };
    const HingeResult a = run();
    const HingeResult b = run();
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.objective, b.objective);
    EXPECT_EQ(a.dual_bound, b.dual_bound);
  }
}

TEST(HingeSolverTest, RefusesWhatItCannotLearnFrom) {
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(HingeProblem::Create(equal.views(), {}),
              IsInvalidArgument("none of 1 queries"));
  EXPECT_THAT(HingeProblem::Create({}, {}),
              IsInvalidArgument("there are 0 queries"));
  for (const auto solver : kSolvers) {
    HingeOptions options;
    options.set_solver(solver);
    EXPECT_THAT(Start(SmallQueries(1), options).solver->Minimise(0, {}),
                IsInvalidArgument("lambda is 0"));
  }
}

using Kind = LabelMeasure::Kind;

TestQueries NoisyQueries(uint64_t seed) {
  return RandomQueries(
      {.num_queries = 25, .num_features = 3, .max_relevance = 2, .noise = 0.3},
      seed);
}

LabelledPolicyTask PolicyTask(ActionKind action) {
  LabelledPolicyTask task;
  task.action_kind = action;
  task.inverse_temperature = 3;
  task.uniform_mixture = 0.1;
  task.threshold = 0.5;
  return task;
}

TEST(HingeLearnerTest, ChoosesAPointOfItsPath) {
  const TestQueries training = NoisyQueries(1);
  const TestQueries validation = NoisyQueries(2);
  for (HingeOptions options : AllHinges()) {
    options.set_gap_tolerance(1e-2);
    ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
    size_t steps = 0;
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         learner->Train({.training = training.views(),
                                         .validation = validation.views(),
                                         .on_step = [&](size_t) { ++steps; }}));
    ASSERT_EQ(result.points.size(), 13u);
    EXPECT_DOUBLE_EQ(result.points[0].lambda, 64. / 25);
    size_t passes = 0;
    for (const LabelledPoint& point : result.points) {
      EXPECT_LE(point.objective - *point.dual_bound, 1e-2);
      EXPECT_LE(point.validation, result.points[result.chosen].validation);
      passes += point.passes;
    }
    EXPECT_EQ(steps, passes);
    EXPECT_DOUBLE_EQ(
        result.points[result.chosen].validation,
        MeanByScore(learner->measure(), validation.views(), result.weights));
  }
}

// The point reports J at the published weights.
TEST(HingeLearnerTest, PublishesTheMinimumOfJ) {
  const TestQueries queries = Standardised(NoisyQueries(3));
  HingeOptions options;
  options.add_lambda(0.01);
  ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       learner->Train({.training = queries.views(),
                                       .validation = queries.views()}));
  const auto problem = *HingeProblem::Create(queries.views(), options);
  const Eigen::Map<const Eigen::VectorXd> w(result.weights.data(), 3);
  RiskPlane plane;
  problem->EvaluateAll(w, &plane);
  EXPECT_NEAR(result.points[0].objective, 0.005 * w.squaredNorm() + plane.value,
              1e-6);
  EXPECT_NEAR(result.points[0].objective, *result.points[0].dual_bound, 1e-3);
}

TEST(HingeLearnerTest, EveryLossHasItsMeasureAndPolicies) {
  for (HingeOptions options : AllHinges()) {
    options.set_beta(2);
    ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
    const LabelMeasure measure = learner->measure();
    const auto policy =
        learner->MakePolicy(PolicyTask(learner->default_action()));
    ASSERT_TRUE(policy.ok()) << policy.status();
    switch (options.loss()) {
      case HingeOptions::NDCG:
      case HingeOptions::KENDALL:
        EXPECT_EQ(measure.Name(), "graded DCG@10");
        EXPECT_TRUE(policy->has_plackett_luce());
        break;
      case HingeOptions::SELECTION:
        EXPECT_EQ(measure.kind, Kind::kGain);
        EXPECT_THAT(measure.gains, testing::ElementsAre(0, 0.5, 1));
        EXPECT_TRUE(policy->has_softmax_selection());
        break;
      case HingeOptions::SENSITIVITY_SPECIFICITY:
        EXPECT_EQ(measure.Name(), "F1");
        EXPECT_EQ(policy->independent_subset().threshold(), 0.5);
        break;
      case HingeOptions::F_BETA:
        EXPECT_EQ(measure.Name(), "F2");
        EXPECT_EQ(policy->independent_subset().k(), 0u);
        break;
      case HingeOptions::PRECISION:
        EXPECT_EQ(measure.Name(), "P@2");
        EXPECT_EQ(policy->independent_subset().k(), 2u);
        break;
    }
    EXPECT_EQ(learner->needs_constant(),
              options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY ||
                  options.loss() == HingeOptions::F_BETA);
    EXPECT_EQ(policy->inverse_temperature(), 3);
    EXPECT_EQ(policy->uniform_mixture(), 0.1);
  }
  HingeOptions options;
  options.set_loss(HingeOptions::F_BETA);
  EXPECT_THAT((*MakeHingeLearner(options, kShape))
                  ->MakePolicy(PolicyTask(ActionKind::kRank)),
              IsInvalidArgument("action is rank, must be label"));
}

TEST(HingeLearnerTest, NamesWhatIsOutsideItsRange) {
  ExpectRefusals(HingeOptions(),
                 [](const HingeOptions& options) {
                   return MakeHingeLearner(options, kShape).status();
                 },
                 {{"loss: PRECISION", "hinge.k is 0, must be at least"},
                  {"lambda: 0", "hinge.lambda"},
                  {"gap_tolerance: 2", "hinge.gap_tolerance is 2"},
                  {"max_passes: 0", "hinge.max_passes is 0"},
                  {"relevant_from: 0", "hinge.relevant_from is 0"}});
}

}  // namespace
}  // namespace sortition
