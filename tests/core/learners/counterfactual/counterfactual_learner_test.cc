#include "core/learners/counterfactual/counterfactual_learner.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/poem_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using testing::ElementsAre;

// Random selections, drawn uniformly; the larger the first feature, the better.
struct SelectionProblem {
  explicit SelectionProblem(uint64_t seed)
      : tuples(RandomTuples(kSelectionsOrNone, 400, seed)), policy(Make()) {
    std::vector<double> losses;
    for (size_t i = 0; i < tuples.size(); ++i) {
      losses.push_back(policy->loss(i));
    }
    model = std::make_unique<CandidateLossModel>(
        *CandidateLossModel::Fit(kSelectionsOrNone, tuples, losses, {}));
  }

  std::unique_ptr<LinearTuplePolicy> Make() {
    for (BanditTuple& tuple : tuples) {
      const Candidates candidates = tuple.candidates();
      tuple.log_propensity = -std::log(candidates.num_candidates() + 1.0);
      if (tuple.action[0] == kAbstain) {
        tuple.loss = -0.3;
        continue;
      }
      const std::vector<double> first = {1, 0, 0, 0};
      const double x =
          candidates.Score(static_cast<uint32_t>(tuple.action[0]), first);
      tuple.loss = 0.5 * tuple.loss - 0.5 / (1 + std::exp(-2 * x));
    }
    return std::make_unique<LinearTuplePolicy>(
        *LinearTuplePolicy::Create(kSelectionsOrNone, tuples));
  }

  absl::StatusOr<CounterfactualResult> Train(const CounterfactualRun& run) {
    const bool robust = run.options.objective() == PoemOptions::DOUBLY_ROBUST;
    return TrainCounterfactual(policy.get(), robust ? model.get() : nullptr,
                               run);
  }

  std::vector<BanditTuple> tuples;
  std::unique_ptr<LinearTuplePolicy> policy;
  std::unique_ptr<CandidateLossModel> model;
};

// Two optimisers of the same objective: mini-batches of all tuples reach the
// minimum of L-BFGS.
TEST(CounterfactualLearnerTest, BothOptimisersMinimiseTheSame) {
  SelectionProblem problem(1);
  for (const auto objective :
       {PoemOptions::CRM, PoemOptions::IPS, PoemOptions::CLIPPED_IPS,
        PoemOptions::DOUBLY_ROBUST, PoemOptions::LOG_SMOOTHING}) {
    CounterfactualRun run{.clip = 50, .l2 = 0.01};
    const bool has_lambda =
        objective != PoemOptions::IPS && objective != PoemOptions::CLIPPED_IPS;
    run.lambda = has_lambda ? 0.5 : 0;
    run.options = MakeOptions(objective, PoemOptions::BATCH);
    ASSERT_OK_AND_ASSIGN(const auto batch, problem.Train(run));
    EXPECT_GT(batch.iterations, 0);
    EXPECT_EQ(batch.epochs, 0);
    run.options.set_optimiser(PoemOptions::STOCHASTIC);
    run.options.mutable_adagrad()->set_batch_size(400);
    run.options.mutable_adagrad()->set_max_epochs(4000);
    run.options.mutable_adagrad()->set_patience(4000);
    ASSERT_OK_AND_ASSIGN(const auto stochastic, problem.Train(run));
    EXPECT_EQ(stochastic.iterations, 0);
    EXPECT_NEAR(stochastic.objective, batch.objective,
                1e-4 * std::abs(batch.objective))
        << PoemOptions::Objective_Name(objective);
    EXPECT_LT((stochastic.parameters - batch.parameters).norm(),
              0.05 * batch.parameters.norm());
    EXPECT_GT(batch.parameters[0], 0.5);
  }
}

// The objective is the risk of the weights, computed in another way, and the
// penalty in its unit.
TEST(CounterfactualLearnerTest, TheObjectiveIsThatOfItsRisk) {
  SelectionProblem problem(8);
  const CrmRisk crm = *CrmRisk::Create(3, 0.5);
  const CrmRisk ips = *CrmRisk::Create(HUGE_VAL, 0);
  const CrmRisk clipped = *CrmRisk::Create(3, 0);
  const SelfNormalisedRisk normalised = *SelfNormalisedRisk::Create(0.5);
  const LogSmoothingRisk smoothed = *LogSmoothingRisk::Create(0.5);
  struct Case {
    PoemOptions::Objective objective;
    const Risk* risk;
    double lambda;
  };
  for (const Case& c :
       {Case{PoemOptions::CRM, &crm, 0.5}, Case{PoemOptions::IPS, &ips, 0},
        Case{PoemOptions::CLIPPED_IPS, &clipped, 0},
        Case{PoemOptions::SELF_NORMALISED, &normalised, 0.5},
        Case{PoemOptions::LOG_SMOOTHING, &smoothed, 0.5}}) {
    CounterfactualRun run{.clip = 3, .lambda = c.lambda, .l2 = 0.01};
    run.options = MakeOptions(c.objective, PoemOptions::BATCH);
    ASSERT_OK_AND_ASSIGN(const auto result, problem.Train(run));
    ASSERT_OK_AND_ASSIGN(
        const RiskObjective objective,
        RiskObjective::Create(problem.policy.get(), c.risk,
                              0.01 * LossUnit(c.objective, *problem.policy)));
    EXPECT_NEAR(result.objective,
                objective.Evaluate(result.parameters, nullptr), 1e-12)
        << PoemOptions::Objective_Name(c.objective);
  }
}

TEST(CounterfactualLearnerTest, SelfNormalisedLearnsWithBatches) {
  SelectionProblem problem(2);
  CounterfactualRun run{.lambda = 0.1, .l2 = 0.01};
  run.options = MakeOptions(PoemOptions::SELF_NORMALISED, PoemOptions::BATCH);
  ASSERT_OK_AND_ASSIGN(const auto result, problem.Train(run));
  EXPECT_EQ(result.termination, "gradient");
  EXPECT_GT(result.parameters[0], 0.5);
}

TEST(CounterfactualLearnerTest, LambdaIsAFactorOfItsUnit) {
  SelectionProblem problem(3);
  const double star = *CalibratedLambda(*problem.policy);
  EXPECT_GT(star, 0);
  PoemOptions options = MakeOptions(PoemOptions::CRM, PoemOptions::BATCH);
  ASSERT_OK_AND_ASSIGN(auto lambdas, ListLambdas(options, *problem.policy));
  // 0, 1e-6, 1e-5, ... 1.
  ASSERT_EQ(lambdas.size(), 8);
  EXPECT_EQ(lambdas[0].lambda, 0);
  for (int k = 1; k < 8; ++k) {
    EXPECT_NEAR(*lambdas[k].factor, std::pow(10, k - 7), 1e-12);
    EXPECT_NEAR(lambdas[k].lambda, std::pow(10, k - 7) * star, 1e-12 * star);
  }
  options.add_lambda_factor(0.5);
  options.set_objective(PoemOptions::LOG_SMOOTHING);
  ASSERT_OK_AND_ASSIGN(lambdas, ListLambdas(options, *problem.policy));
  ASSERT_EQ(lambdas.size(), 1);
  EXPECT_DOUBLE_EQ(lambdas[0].lambda, 0.5 / 20);  // √400 = 20.
  options.set_objective(PoemOptions::SELF_NORMALISED);
  EXPECT_EQ(ListLambdas(options, *problem.policy)->at(0).lambda, 0.5);
  options.clear_lambda_factor();
  options.add_lambda(7);
  ASSERT_OK_AND_ASSIGN(lambdas, ListLambdas(options, *problem.policy));
  EXPECT_EQ(lambdas[0].lambda, 7);
  EXPECT_FALSE(lambdas[0].factor.has_value());
}

TEST(CounterfactualLearnerTest, EqualLossesHaveNoFactorButAbsoluteLambda) {
  SelectionProblem problem(4);
  for (BanditTuple& tuple : problem.tuples) tuple.loss = -0.5;
  PoemOptions options = MakeOptions(PoemOptions::CRM, PoemOptions::BATCH);
  EXPECT_THAT(
      ListLambdas(options, *problem.policy),
      IsFailedPrecondition("all 400 training tuples have the loss -0.5"));
  options.add_lambda_factor(0);
  EXPECT_OK(ListLambdas(options, *problem.policy));
  for (const auto optimiser : {PoemOptions::BATCH, PoemOptions::STOCHASTIC}) {
    CounterfactualRun run{.clip = 10, .lambda = 1, .l2 = 0.1};
    run.options = MakeOptions(PoemOptions::CRM, optimiser);
    ASSERT_OK_AND_ASSIGN(const auto result, problem.Train(run));
    EXPECT_TRUE(result.parameters.allFinite());
  }
}

TEST(CounterfactualLearnerTest, OneTupleIsRefused) {
  SelectionProblem problem(5);
  const std::vector<BanditTuple> one(problem.tuples.begin(),
                                     problem.tuples.begin() + 1);
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(kSelectionsOrNone, one);
  for (const auto objective : {PoemOptions::CRM, PoemOptions::LOG_SMOOTHING,
                               PoemOptions::SELF_NORMALISED}) {
    CounterfactualRun run{.lambda = 1};
    run.options = MakeOptions(objective, PoemOptions::BATCH);
    EXPECT_THAT(TrainCounterfactual(&policy, nullptr, run),
                IsInvalidArgument("there are 1, must be at least 2"));
  }
}

// Every weight is above M = 1 near the start: the gradient is 0, so the result
// is the start.
TEST(CounterfactualLearnerTest, AllWeightsClippedLeavesTheStart) {
  SelectionProblem problem(6);
  double sum = 0;
  for (BanditTuple& tuple : problem.tuples) {
    tuple.log_propensity = -30;
    sum += tuple.loss;
  }
  for (const auto optimiser : {PoemOptions::BATCH, PoemOptions::STOCHASTIC}) {
    CounterfactualRun run{.clip = 1, .lambda = 0};
    run.options = MakeOptions(PoemOptions::CRM, optimiser);
    run.start = Eigen::VectorXd::Constant(kSelectionsOrNone.dimension(), 0.1);
    ASSERT_OK_AND_ASSIGN(const auto result, problem.Train(run));
    EXPECT_EQ(result.parameters, run.start);
    EXPECT_EQ(result.termination, "gradient");
    EXPECT_NEAR(result.objective, sum / 400, 1e-12);  // u = δ M.
  }
}

TEST(CounterfactualLearnerTest, RefusesAClipBelowOneAndAWrongStart) {
  SelectionProblem problem(7);
  CounterfactualRun run{.clip = 0.5};
  EXPECT_THAT(problem.Train(run),
              IsInvalidArgument("clip is 0.5, must be at least 1"));
  run.clip = 5;
  run.start = Eigen::VectorXd::Zero(2);
  for (const auto optimiser : {PoemOptions::BATCH, PoemOptions::STOCHASTIC}) {
    run.options.set_optimiser(optimiser);
    EXPECT_THAT(problem.Train(run),
                IsInvalidArgument("start has 2 entries, must have 5"));
  }
}

TEST(PoemOptionsTest, OptionsThatDoNotGoTogetherAreNamed) {
  const PoemOptions crm = MakeOptions(PoemOptions::CRM, PoemOptions::BATCH);
  for (const std::string change :
       {"objective: SELF_NORMALISED", "lambda: 0.5", "lambda_factor: 0"}) {
    EXPECT_OK(ValidatePoemOptions(With(crm, change)));
  }
  ExpectRefusals(
      crm, &ValidatePoemOptions,
      {{"objective: SELF_NORMALISED optimiser: STOCHASTIC",
        "optimiser is STOCHASTIC, must be BATCH for objective SELF_NORM"},
       {"objective: SELF_NORMALISED clip: 10",
        "clip is 10, must be 0 or unset for objective SELF_NORMALISED"},
       {"clip: 0.5", "clip is 0.5, must be 0 or at least 1"},
       {"objective: IPS lambda: 0.5",
        "lambda is 0.5, must be 0 or unset for objective IPS"},
       {"lambda: 0.5 lambda_factor: 0.25",
        "lambda_factor is 0.25, must be unset where lambda is set"},
       {"objective: LOG_SMOOTHING lambda_factor: 0",
        "lambda_factor is 0, must be positive for objective LOG_SMO"}});
}

TEST(PoemOptionsTest, WeightsOfRanksAreThoseThatAnObjectiveHas) {
  using Poem = PoemOptions;
  for (int objective = Poem::CRM; objective <= Poem::EXPOSURE; ++objective) {
    PoemOptions options = MakeOptions(Poem::Objective(objective), Poem::BATCH);
    if (objective == Poem::EXPOSURE) options.add_examination(1);
    EXPECT_OK(ValidatePoemOptions(options));
    const bool by_rank = objective == Poem::CRM || objective == Poem::IPS ||
                         objective == Poem::CLIPPED_IPS ||
                         objective == Poem::LOG_SMOOTHING;
    options.set_rank_weights(Poem::PREFIXES);
    EXPECT_EQ(ValidatePoemOptions(options).ok(),
              by_rank || objective == Poem::DOUBLY_ROBUST);
    options.set_rank_weights(Poem::ITEM_POSITION);
    const absl::Status status = ValidatePoemOptions(options);
    EXPECT_EQ(status.ok(), by_rank);
    if (by_rank) continue;
    EXPECT_THAT(status, IsInvalidArgument(
                            "rank_weights is ITEM_POSITION, must be ORDER"));
    EXPECT_EQ(
        std::string(status.message()).find("or PREFIXES") != std::string::npos,
        objective == Poem::DOUBLY_ROBUST);
  }
}

TEST(PoemOptionsTest, WhatExposuresNeedAndNothingElseTakesIsNamed) {
  const PoemOptions bare =
      With(PoemOptions(), "objective: EXPOSURE optimiser: STOCHASTIC");
  const PoemOptions exposure =
      With(bare, "examination: [1, 0.5] sampled_orders: 10");
  const PoemOptions unexamined =
      With(bare,
           "optimiser: BATCH failure_probability: 0.05 most_clicks: 1 "
           "click_offsets: [0.1, 0.1]");
  const PoemOptions safe = With(unexamined, "examination: [0.9, 0.5]");
  const PoemOptions crm = MakeOptions(PoemOptions::CRM, PoemOptions::BATCH);
  for (const PoemOptions& none : {bare, With(bare, "examination: [0, 0]")}) {
    EXPECT_THAT(ValidatePoemOptions(none),
                IsInvalidArgument("examination: there are 0 values above 0, "
                                  "must be at least 1"));
  }
  ExpectRefusals(
      exposure, &ValidatePoemOptions,
      {{"click_offsets: 0.1",
        "click_offsets: there are 1, must be 2 as of examination, or none"},
       {"optimiser: BATCH",
        "optimiser is BATCH, must be STOCHASTIC with sampled_orders"},
       {"failure_probability: 0.1",
        "optimiser is STOCHASTIC, must be BATCH with failure_probability"},
       {"most_clicks: 2",
        "most_clicks is 2, must be 0 or unset without failure_probability"},
       {"clip: 10", "clip is 10, must be 0 or unset for objective EXPOSURE"},
       {"lambda: 1", "lambda is 1, must be 0 or unset for objective EXPOSURE"},
       {"lambda_factor: 1",
        "lambda_factor is 1, must be 0 or unset for objective EXPOSURE"},
       {"smoothing: 0.7",
        "smoothing is 0.7, must be 1 or unset for objective EXPOSURE"}});
  ExpectRefusals(
      safe, &ValidatePoemOptions,
      {{"most_clicks: 0.5", "most_clicks is 0.5, must be 0 or at least 1"},
       {"sampled_orders: 10",
        "optimiser is BATCH, must be STOCHASTIC with sampled_orders"}});
  EXPECT_THAT(
      ValidatePoemOptions(With(unexamined, "examination: [1, 0.5]")),
      IsInvalidArgument(
          "click_offsets[0] is 0.1, must be in [0, 1 - examination[0]]"));
  EXPECT_THAT(
      ValidatePoemOptions(With(unexamined, "examination: [0.9, 0]")),
      IsInvalidArgument(
          "examination[1] is 0, must be above 0 with failure_probability"));
  ExpectRefusals(
      crm, &ValidatePoemOptions,
      {{"examination: 0.5",
        "examination is 0.5, must be unset for objective CRM"},
       {"click_offsets: 0.5",
        "click_offsets is 0.5, must be unset for objective CRM"},
       {"failure_probability: 0.1",
        "failure_probability is 0.1, must be 0 or unset for objective CRM"},
       {"sampled_orders: 3",
        "sampled_orders is 3, must be 0 or unset for objective CRM"},
       {"most_clicks: 3", "most_clicks is 3, must be 0 or unset without"},
       {"rank_weights: PREFIXES smoothing: [1, 0.7]",
        "smoothing is 0.7, must be 1 or unset for rank_weights PREFIXES"},
       {"smoothing: 0", "smoothing is 0, must be in (0, 1]"},
       {"smoothing: 1.5", "smoothing is 1.5, must be in (0, 1]"},
       {"prior_decisions: 100",
        "prior_decisions is 100, must be unset for penalty NORM"},
       {"penalty: PROXIMAL prior_decisions: 100 l2: 0.1",
        "prior_decisions is 100, must be unset where l2 is set"}});
  for (const PoemOptions& options : {exposure, crm}) {
    EXPECT_OK(ValidatePoemOptions(With(options, "smoothing: 1")));
  }
}

TEST(PoemOptionsTest, PriorDecisionsAreOutOfTheDecisionsOfTheLog) {
  const LinearFamily family{ActionKind::kSelect, 4, false, 0.05};
  const std::vector<BanditTuple> tuples = RandomTuples(family, 5, 1);
  const std::vector<double> weights = {1, 0.5, 0.25, 1, 1.25};  // Sum: 4.
  const LinearTuplePolicy policy = *LinearTuplePolicy::Create(
      family, tuples, HiddenActions::kImpossible, weights);
  PoemOptions options;
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(1e-6));
  options.set_penalty(PoemOptions::PROXIMAL);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(0.01, 0.1, 1));
  options.add_prior_decisions(10);
  options.add_prior_decisions(0);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(2.5, 0));
  options.clear_prior_decisions();
  options.add_l2(7);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(7));
}

TEST(PoemOptionsTest, ExposuresHaveNoClipAndNoLambda) {
  const LinearFamily family{ActionKind::kSelect, 4, false, 0.05};
  const std::vector<BanditTuple> tuples = RandomTuples(family, 5, 1);
  const LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const PoemOptions options =
      MakeOptions(PoemOptions::EXPOSURE, PoemOptions::BATCH);
  EXPECT_EQ(ClipOf(options, policy), HUGE_VAL);
  ASSERT_OK_AND_ASSIGN(const auto lambdas, ListLambdas(options, policy));
  ASSERT_EQ(lambdas.size(), 1);
  EXPECT_EQ(lambdas[0].lambda, 0);
}

// The self-normalised objective on a log that hardly explores.

// Queries of four candidates, of which practically always the first was logged.
// It earns 0.9 where the query is easy and 0.3 where it is hard, the others
// nothing. Features: whether it is the first; the same if the query is hard.
constexpr double kEasyShare = 0.2;

std::vector<BanditTuple> SharpSelections(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BanditTuple> tuples(n);
  for (size_t i = 0; i < n; ++i) {
    const bool is_hard = random.Uniform() >= kEasyShare;
    tuples[i].num_features = 2;
    tuples[i].values = {1, is_hard ? 1.0F : 0.0F, 0, 0, 0, 0, 0, 0};
    tuples[i].action = {0};
    tuples[i].log_propensity = -1e-5;
    tuples[i].loss = random.Uniform() < (is_hard ? 0.3 : 0.9) ? -1 : 0;
    tuples[i].unit = UnitKey("", std::to_string(i));
  }
  return tuples;
}

double TrueReward(const Eigen::VectorXd& w) {
  const auto takes_first = [](double score) {
    return 1 / (1 + 3 * std::exp(-score));
  };
  return kEasyShare * 0.9 * takes_first(w[0]) +
         (1 - kEasyShare) * 0.3 * takes_first(w[0] + w[1]);
}

// Of hard queries the self-normalised objective learns to take what was never
// logged, which costs it nothing.
TEST(SharpLogTest, SelfNormalisedLearningThatLeavesTheLogIsReplaced) {
  const LinearFamily family{ActionKind::kSelect, 2, false, 0};
  const std::vector<BanditTuple> train = SharpSelections(1000, 1);
  const std::vector<BanditTuple> validation = SharpSelections(500, 2);
  PoemOptions options;
  options.set_objective(PoemOptions::SELF_NORMALISED);
  options.set_optimiser(PoemOptions::BATCH);
  const LinearGridData data(family, train, validation, options.objective());
  const Eigen::VectorXd parent = Eigen::Vector2d(12, 0);
  const double before = TrueReward(parent);
  ASSERT_OK_AND_ASSIGN(const auto policy, data.TrainPolicy());
  ASSERT_OK_AND_ASSIGN(
      const CounterfactualResult alone,
      TrainCounterfactual(policy.get(), nullptr, {.options = options}));
  EXPECT_LT(TrueReward(alone.parameters), before - 0.1);
  GridTask task{.data = &data, .options = options};
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_GT(TrueReward(outcome.parameters),
            TrueReward(alone.parameters) + 0.05);
  ASSERT_TRUE(outcome.left_log.has_value());
  EXPECT_LT(outcome.left_log->value, 0.5);
  size_t self_normalised = 0;
  size_t chosen = 0;
  for (const auto& point : outcome.points) {
    chosen += point.chosen() ? 1 : 0;
    self_normalised += point.objective() == "SELF_NORMALISED" ? 1 : 0;
    if (point.chosen()) {
      EXPECT_EQ(point.objective(), "CRM");
    }
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(self_normalised, 4u);
  // From a parent that does what the log did, points stay with it. They are
  // chosen before those that leave, though the latter have moved.
  task.parent_start = parent;
  ASSERT_OK_AND_ASSIGN(const GridOutcome near_parent, TrainGrid(task));
  EXPECT_FALSE(near_parent.left_log.has_value());
  EXPECT_GT(TrueReward(near_parent.parameters), before - 0.02);
}

}  // namespace
}  // namespace sortition
