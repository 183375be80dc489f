// Objectives of rankings in the grid of the counterfactual learner.
#include <cmath>
#include <string>
#include <vector>

#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/prefix_terms.h"
#include "gtest/gtest.h"
#include "process/threads.h"
#include "tests/core/learners/rankings/cascade_world.h"
#include "tests/core/learners/rankings/ranking_grid_data.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Decisions with all that any objective of rankings needs.
struct Everything {
  explicit Everything(size_t n) : ranked(0.1, n, 1), exposures(0.1, n, 1) {
    RandomSequence random(SeedKey(2));
    logging = RandomPoint(ranked.family, &random);
    for (size_t i = 0; i < n; ++i) {
      ranked.tuples[i].loss = -0.5;
      for (const double loss : ranked.ranks[i].losses) {
        ranked.tuples[i].loss += 0.05 * loss;
      }
      exposures.logged[i] = EnumeratedExposures(
          ranked.family, ScoresOf(ranked.tuples[i], logging), {1, 0.6, 0.3});
    }
    exposed = ExposedOf(exposures);
  }
  RankingRiskData Data() const {
    return {.log = {ranked.family, ranked.tuples, ranked.ranks},
            .exposed = exposed};
  }

  RankedTuples ranked;
  ExposureData exposures;  // Of the same tuples: their seed is the same.
  std::vector<ExposedTuple> exposed;
  Eigen::VectorXd logging;
};

PoemOptions MakeOptions(PoemOptions::Objective objective,
                        PoemOptions::RankWeights weights,
                        PoemOptions::Optimiser optimiser) {
  PoemOptions options;
  options.set_objective(objective);
  options.set_rank_weights(weights);
  options.set_optimiser(optimiser);
  options.mutable_adagrad()->set_max_epochs(3);
  options.mutable_lbfgs()->set_max_iterations(5);
  return options;
}

PoemOptions GridOptionsOfExposures(PoemOptions::Optimiser optimiser) {
  PoemOptions options =
      MakeOptions(PoemOptions::EXPOSURE, PoemOptions::ORDER, optimiser);
  for (const double value : {1.0, 0.6, 0.3}) options.add_examination(value);
  return options;
}

TEST(RankingGridTest, ThreadsDoNotChangeABit) {
  const Everything everything(80);
  std::vector<PoemOptions> all;
  for (const auto optimiser : {PoemOptions::STOCHASTIC, PoemOptions::BATCH}) {
    for (const auto weights :
         {PoemOptions::PREFIXES, PoemOptions::ITEM_POSITION}) {
      all.push_back(MakeOptions(PoemOptions::CRM, weights, optimiser));
      all.push_back(
          MakeOptions(PoemOptions::LOG_SMOOTHING, weights, optimiser));
    }
    all.push_back(MakeOptions(PoemOptions::DOUBLY_ROBUST, PoemOptions::PREFIXES,
                              optimiser));
    all.push_back(GridOptionsOfExposures(optimiser));
  }
  all.push_back(GridOptionsOfExposures(PoemOptions::STOCHASTIC));
  all.back().set_sampled_orders(3);
  all.push_back(GridOptionsOfExposures(PoemOptions::BATCH));
  all.back().set_failure_probability(0.05);
  for (PoemOptions& options : all) {
    SCOPED_TRACE(options.DebugString());
    options.add_l2(0.01);
    options.add_l2(0.1);
    const RankingGridData data(everything.Data(), options.objective());
    GridTask task{.data = &data,
                  .options = options,
                  .prior = Eigen::Vector3d(0.2, -0.2, 0)};
    if (options.objective() != PoemOptions::EXPOSURE) {
      task.options.add_lambda(0.1);
    }
    task.parallel = SerialFor;
    ASSERT_OK_AND_ASSIGN(const GridOutcome one, TrainGrid(task));
    task.parallel = OnThreads(2);
    ASSERT_OK_AND_ASSIGN(const GridOutcome two, TrainGrid(task));
    EXPECT_EQ(one.parameters, two.parameters);
    ASSERT_EQ(one.points.size(), 4);
    for (size_t i = 0; i < one.points.size(); ++i) {
      EXPECT_EQ(one.points[i].SerializeAsString(),
                two.points[i].SerializeAsString());
      EXPECT_NE(one.points[i].termination(), "diverged");
    }
  }
}

// What a run of POEM on these terms returns, made by hand.
TEST(RankingGridTest, APointIsARunOnTheTermsOfItsOptions) {
  const Everything everything(80);
  const RankingRiskData given = everything.Data();
  const RankingGridData data(given, PoemOptions::CRM);
  GridTask task{.data = &data,
                .options = MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES,
                                       PoemOptions::STOCHASTIC)};
  task.options.set_scale_losses(false);
  task.options.set_clip(4);
  task.options.add_lambda(0.3);
  task.options.add_l2(0.02);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  PrefixTerms terms = *PrefixTerms::Create(given.log, PrefixWeights::kPrefixes,
                                           {ClippedTerm(4)});
  PoemRun run;
  run.adagrad = task.options.adagrad();
  run.crm.lambda = 0.3;
  run.crm.l2 = 0.02;
  ASSERT_OK_AND_ASSIGN(const PoemResult expected,
                       TrainPoemOnTerms(&terms, run));
  EXPECT_EQ(outcome.parameters, expected.parameters);
  EXPECT_EQ(outcome.points[0].train_objective(), expected.objective);
  EXPECT_GT(outcome.parameters.norm(), 0.01);
}

// Almost certain to be safe: with few decisions the policy exposes as the log
// did. Without safety it goes for its gains.
TEST(RankingGridTest, SafeLearningStaysNearTheLogWithFewDecisions) {
  const Everything everything(60);
  const RankingGridData data(everything.Data(), PoemOptions::EXPOSURE);
  GridTask task{.data = &data,
                .options = GridOptionsOfExposures(PoemOptions::BATCH)};
  task.options.mutable_lbfgs()->set_max_iterations(100);
  ASSERT_OK_AND_ASSIGN(const GridOutcome bold, TrainGrid(task));
  task.options.set_failure_probability(1e-8);
  ASSERT_OK_AND_ASSIGN(const GridOutcome safe, TrainGrid(task));
  ExposureProblem problem = everything.exposures.Problem();
  problem.weights = {};
  ExposureDivergenceTerms divergence =
      *ExposureDivergenceTerms::Create(problem, everything.exposures.logged);
  const TermObjective moment = *TermObjective::Create(&divergence, 0, 0);
  const double least = moment.Evaluate(everything.logging, nullptr);
  EXPECT_NEAR(moment.Evaluate(safe.parameters, nullptr), least, 1e-3);
  EXPECT_GT(moment.Evaluate(bold.parameters, nullptr), least + 0.1);
}

// Distance from what labels taught, at which learning from n sessions ends.
double DistanceFromPrior(size_t num_sessions, double decisions,
                         PoemOptions::Optimiser optimiser) {
  CascadeWorld world(3);
  for (size_t i = 0; i < num_sessions; ++i) world.AddSession();
  const RankingGridData data({.log = world.Log()}, PoemOptions::CLIPPED_IPS);
  GridTask task{.data = &data,
                .options = MakeOptions(PoemOptions::CLIPPED_IPS,
                                       PoemOptions::PREFIXES, optimiser),
                .prior = Eigen::Vector4d(1, -1, 0.5, 0)};
  task.options.set_clip(10);
  task.options.set_scale_losses(false);
  task.options.set_penalty(PoemOptions::PROXIMAL);
  task.options.set_start(PoemOptions::PARENT);
  task.options.add_prior_decisions(decisions);
  task.options.mutable_adagrad()->set_step_size(0.05);
  task.options.mutable_adagrad()->set_max_epochs(300);
  task.options.mutable_adagrad()->set_patience(300);
  task.options.mutable_lbfgs()->set_max_iterations(200);
  const GridOutcome outcome = *TrainGrid(task);
  EXPECT_EQ(outcome.points.size(), 1);
  EXPECT_EQ(outcome.points[0].start(), "prior");
  return (outcome.parameters - task.prior).norm();
}

TEST(RankingGridTest, ThePriorDecidesWithFewSessionsAndClicksWithMany) {
  for (const auto optimiser : {PoemOptions::STOCHASTIC, PoemOptions::BATCH}) {
    const double few = DistanceFromPrior(20, 50, optimiser);
    const double many = DistanceFromPrior(2000, 50, optimiser);
    EXPECT_LT(few, 0.2);
    EXPECT_GT(many, 3 * few);
    // What the prior is worth is what the sessions have to outweigh.
    EXPECT_LT(DistanceFromPrior(2000, 5000, optimiser), many / 3);
  }
}

}  // namespace
}  // namespace sortition
