#include "core/learners/rankings/ranking_risk.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/linear_rank_loss_model.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/threads.h"
#include "tests/core/learners/rankings/cascade_world.h"
#include "tests/core/learners/rankings/ranking_grid_data.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

constexpr double kClip = 2;
constexpr double kLambda = 0.6;

PoemOptions MakeOptions(PoemOptions::Objective objective,
                        PoemOptions::RankWeights weights) {
  PoemOptions options;
  options.set_objective(objective);
  options.set_rank_weights(weights);
  return options;
}

PoemOptions RiskOptionsOfExposures(PoemOptions::Optimiser optimiser) {
  PoemOptions options = MakeOptions(PoemOptions::EXPOSURE, PoemOptions::ORDER);
  options.set_optimiser(optimiser);
  for (const double value : {1.0, 0.6, 0.3}) options.add_examination(value);
  return options;
}

std::unique_ptr<GridRisk> MakeRisk(const RankingRiskData& data,
                                   const PoemOptions& options,
                                   double clip = kClip) {
  return *(*PrepareRankingRisk(data, options))(clip, kLambda);
}

// Compares values and gradients, to the last bit: those of the same terms, in
// the same sequence of calls.
void ExpectSame(TupleTerms* terms, TupleTerms* expected) {
  RandomSequence random(SeedKey(9));
  Eigen::VectorXd w(3), one(3), other(3);
  for (double& entry : w) entry = random.Normal();
  const TermObjective objective = *TermObjective::Create(terms, 0.5, 0);
  const TermObjective other_objective =
      *TermObjective::Create(expected, 0.5, 0);
  EXPECT_EQ(objective.Evaluate(w, &one), other_objective.Evaluate(w, &other));
  EXPECT_EQ(one, other);
  EXPECT_GT(one.norm(), 0);
  EXPECT_EQ(AllValues(w, terms), AllValues(w, expected));
  ASSERT_EQ(terms->weights().size(), expected->weights().size());
}

TEST(RankingRiskTest, WeightsOfRanksAreWhatTheOptionsName) {
  const RankedTuples data(0.1, 80, 1);
  struct Case {
    PoemOptions::Objective objective;
    double clip;
    TermFunction function;
  };
  for (const Case& c :
       {Case{PoemOptions::CRM, kClip, ClippedTerm(kClip)},
        Case{PoemOptions::CLIPPED_IPS, kClip, ClippedTerm(kClip)},
        Case{PoemOptions::IPS, HUGE_VAL, ClippedTerm(HUGE_VAL)},
        Case{PoemOptions::LOG_SMOOTHING, HUGE_VAL, LogSmoothedTerm(kLambda)}}) {
    SCOPED_TRACE(PoemOptions::Objective_Name(c.objective));
    PrefixTerms prefixes = *PrefixTerms::Create(
        data.Log(), PrefixWeights::kPrefixes, {c.function});
    ExpectSame(MakeRisk({.log = data.Log()},
                        MakeOptions(c.objective, PoemOptions::PREFIXES), c.clip)
                   ->terms(),
               &prefixes);
    ItemPositionTerms items =
        *ItemPositionTerms::Create(data.Log(), c.function);
    ExpectSame(
        MakeRisk({.log = data.Log()},
                 MakeOptions(c.objective, PoemOptions::ITEM_POSITION), c.clip)
            ->terms(),
        &items);
  }
}

TEST(RankingRiskTest, DoublyRobustPrefixesAreACascadeWithAFittedModel) {
  const RankedTuples data(0.1, 80, 2);
  PoemOptions options =
      MakeOptions(PoemOptions::DOUBLY_ROBUST, PoemOptions::PREFIXES);
  options.set_loss_model_l2(3);
  options.set_loss_model_folds(2);
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                       LinearRankLossModel::Fit(data.Log(), 3, 2));
  CascadeTerms terms = *CascadeTerms::Create(data.Log(), {kClip}, &model);
  const auto risk = MakeRisk({.log = data.Log()}, options);
  ExpectSame(risk->terms(), &terms);
  EXPECT_EQ(risk->objective(), nullptr);
}

// Whatever the objective, validation has the plain clipped weights of the
// ranks.
TEST(RankingRiskTest, ValidationWeighsRanksWithoutAModel) {
  const RankedTuples data(0.1, 80, 4);
  for (const auto objective : {PoemOptions::CRM, PoemOptions::DOUBLY_ROBUST}) {
    ASSERT_OK_AND_ASSIGN(
        const ValidationRisk risk,
        PrepareRankingValidation(
            data.Log(), MakeOptions(objective, PoemOptions::PREFIXES)));
    PrefixTerms terms = *PrefixTerms::Create(
        data.Log(), PrefixWeights::kPrefixes, {ClippedTerm(kClip)});
    ExpectSame((*risk.make(kClip, 0))->terms(), &terms);
    ASSERT_EQ(risk.logged_terms.size(), 80u);
    for (size_t i = 0; i < 80; ++i) {
      double sum = 0;
      for (size_t k = 0; k < data.Log().ranks[i].num_shown(); ++k) {
        sum += data.Log().loss(i, k);
      }
      EXPECT_EQ(risk.logged_terms[i], sum);
    }
  }
  ASSERT_OK_AND_ASSIGN(
      const ValidationRisk none,
      PrepareRankingValidation(
          data.Log(), MakeOptions(PoemOptions::CRM, PoemOptions::ORDER)));
  EXPECT_FALSE(none.make);
}

// Exposures, and the risk that they are given to.
struct ExposureRisk {
  explicit ExposureRisk(uint64_t seed) : data(0.1, 60, seed) {
    problem.tolerance = ExposureProblem().tolerance;
  }
  const ExposureData data;
  const std::vector<ExposedTuple> exposed = ExposedOf(data);
  const RankingRiskData given{.log = {.family = data.family,
                                      .tuples = data.tuples,
                                      .weights = data.weights},
                              .exposed = exposed};
  ExposureProblem problem = data.Problem();
};

TEST(RankingRiskTest, ExposuresAreExactOrDrawn) {
  const ExposureRisk of(3);
  ExposureTerms exact = *ExposureTerms::Create(of.problem, of.data.gains);
  PoemOptions options = RiskOptionsOfExposures(PoemOptions::STOCHASTIC);
  ExpectSame(MakeRisk(of.given, options)->terms(), &exact);
  options.set_sampled_orders(7);
  options.set_seed(5);
  SampledExposureTerms drawn =
      *SampledExposureTerms::Create(of.problem, of.data.gains, 7, 5);
  ExpectSame(MakeRisk(of.given, options)->terms(), &drawn);
}

TEST(RankingRiskTest, SafetyIsTheObjectiveOfABatch) {
  const ExposureRisk of(4);
  ExposureTerms terms = *ExposureTerms::Create(of.problem, of.data.gains);
  ExposureDivergenceTerms divergence =
      *ExposureDivergenceTerms::Create(of.problem, of.data.logged);
  PoemOptions options = RiskOptionsOfExposures(PoemOptions::BATCH);
  EXPECT_EQ(MakeRisk(of.given, options)->objective(), nullptr);
  options.set_failure_probability(0.2);
  // As many as ranks, unless the options say otherwise.
  for (const double most_clicks : {0.0, 2.0}) {
    options.set_most_clicks(most_clicks);
    const SafeExposureObjective safe = *SafeExposureObjective::Create(
        &terms, &divergence,
        {.failure_probability = 0.2,
         .max_clicks = most_clicks > 0 ? most_clicks : 3});
    const auto risk = MakeRisk(of.given, options);
    ASSERT_NE(risk->objective(), nullptr);
    const Eigen::VectorXd w = Eigen::Vector3d(0.3, -1, 0.5);
    Eigen::VectorXd one(3), other(3);
    EXPECT_EQ(risk->objective()->Evaluate(w, &one), safe.Evaluate(w, &other));
    EXPECT_EQ(one, other);
  }
}

TEST(RankingRiskTest, TheUnitIsTheSizeOfWhatALogEarns) {
  RankedTuples ranked(0.1, 2, 5);
  ranked.tuples[0].action_shown = ranked.tuples[1].action_shown = true;
  ranked.ranks[0].losses.assign(ranked.ranks[0].num_shown(), 0);
  ranked.ranks[1].losses.assign(ranked.ranks[1].num_shown(), 0);
  ranked.ranks[0].losses[0] = -0.5;
  ranked.ranks[1].losses[0] = -1;
  ranked.weights = {3, 1};
  const PoemOptions prefixes =
      MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES);
  EXPECT_NEAR(MakeRisk({.log = ranked.Log()}, prefixes)->loss_unit(),
              std::sqrt((3 * 0.25 + 1) / 4), 1e-15);
  // Nothing that was shown earned anything.
  ranked.tuples[0].action_shown = ranked.tuples[1].action_shown = false;
  EXPECT_EQ(MakeRisk({.log = ranked.Log()}, prefixes)->loss_unit(), 1);
  const ExposureData data(0.1, 20, 6);
  std::vector<ExposedTuple> exposed = ExposedOf(data);
  // One click on the first candidate of every tuple.
  for (ExposedTuple& tuple : exposed) {
    tuple.gains.assign(tuple.gains.size(), 0);
    tuple.gains[0] = 1 / tuple.exposures[0];
  }
  const auto risk =
      MakeRisk({.log = {.family = data.family, .tuples = data.tuples},
                .exposed = exposed},
               RiskOptionsOfExposures(PoemOptions::BATCH));
  EXPECT_NEAR(risk->loss_unit(), 1, 1e-12);
}

TEST(RankingRiskTest, NeedsAreThoseOfTheOptions) {
  const auto needs = [](const PoemOptions& options) {
    const RankingNeeds n = NeedsOf(options);
    return std::vector<bool>{n.ranks, n.marginals, n.exposures};
  };
  using Needs = std::vector<bool>;
  EXPECT_EQ(needs(PoemOptions()), (Needs{false, false, false}));
  EXPECT_EQ(needs(MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES)),
            (Needs{true, false, false}));
  EXPECT_EQ(needs(MakeOptions(PoemOptions::IPS, PoemOptions::ITEM_POSITION)),
            (Needs{true, true, false}));
  EXPECT_EQ(needs(RiskOptionsOfExposures(PoemOptions::BATCH)),
            (Needs{false, false, true}));
  // What needs nothing gets nothing, whatever the data.
  ASSERT_OK_AND_ASSIGN(const MakeGridRisk none,
                       PrepareRankingRisk({}, PoemOptions()));
  EXPECT_FALSE(none);
}

TEST(RankingRiskTest, NamesWhatIsMissing) {
  RankedTuples data(0.1, 10, 7);
  RankedLog log = data.Log();
  log.ranks = {};
  EXPECT_THAT(
      PrepareRankingRisk({.log = log},
                         MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES)),
      IsInvalidArgument("ranks: there are those of 0 tuples"));
  EXPECT_THAT(PrepareRankingRisk({.log = data.Log()},
                                 MakeOptions(PoemOptions::SELF_NORMALISED,
                                             PoemOptions::PREFIXES)),
              IsInvalidArgument("must be BATCH"));
  for (RankedTuple& tuple : data.ranks) tuple.log_marginals.clear();
  ASSERT_OK_AND_ASSIGN(
      const MakeGridRisk make,
      PrepareRankingRisk(
          {.log = data.Log()},
          MakeOptions(PoemOptions::CRM, PoemOptions::ITEM_POSITION)));
  EXPECT_THAT(make(2, 0).status(),
              IsInvalidArgument("log_marginals of tuple 0"));

  const ExposureData exposure(0.1, 5, 8);
  std::vector<ExposedTuple> exposed = ExposedOf(exposure);
  const PoemOptions options = RiskOptionsOfExposures(PoemOptions::BATCH);
  const auto prepared = [&] {
    return PrepareRankingRisk(
               {.log = {.family = exposure.family, .tuples = exposure.tuples},
                .exposed = exposed},
               options)
        .status();
  };
  EXPECT_OK(prepared());
  exposed[2].exposures[1] = 0;
  EXPECT_THAT(prepared(), IsInvalidArgument("exposures of tuple 2 "
                                            "has 0, must be"));
  exposed[2].exposures[1] = 1;
  exposed[3].gains[0] = HUGE_VAL;
  EXPECT_THAT(prepared(), IsInvalidArgument("gains of tuple 3"));
  exposed[3].gains.pop_back();
  EXPECT_THAT(prepared(), IsInvalidArgument("exposed tuple 3"));
  exposed.pop_back();
  EXPECT_THAT(prepared(), IsInvalidArgument("exposed: there are 4, "
                                            "must be 5"));
}

// Objectives of rankings in the grid of the counterfactual learner.

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
