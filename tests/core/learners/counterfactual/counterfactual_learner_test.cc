#include "core/learners/counterfactual/counterfactual_learner.h"

#include <cmath>
#include <memory>
#include <vector>

#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/counterfactual/poem_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using testing::HasSubstr;

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
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("all 400 training tuples have the loss -0.5")));
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
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("there are 1, must be at least 2")));
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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("clip is 0.5, must be at least 1")));
  run.clip = 5;
  run.start = Eigen::VectorXd::Zero(2);
  for (const auto optimiser : {PoemOptions::BATCH, PoemOptions::STOCHASTIC}) {
    run.options.set_optimiser(optimiser);
    EXPECT_THAT(problem.Train(run),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("start has 2 entries, must have 5")));
  }
}

}  // namespace
}  // namespace sortition
