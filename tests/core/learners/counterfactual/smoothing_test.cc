// Smoothing of propensities in training: what it changes, and what not.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/counterfactual/crm.h"
#include "core/counterfactual/likelihood_terms.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/learners/counterfactual/network_tuple_policy.h"
#include "core/learners/counterfactual/poem_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

constexpr double kBeta = 0.6;

// The same tuples with p^β in place of p.
std::vector<BanditTuple> WithPowers(std::vector<BanditTuple> tuples,
                                    double beta) {
  for (BanditTuple& tuple : tuples) tuple.log_propensity *= beta;
  return tuples;
}

class SmoothingTest : public testing::Test {
 protected:
  absl::StatusOr<CounterfactualResult> Train(
      const std::vector<BanditTuple>& tuples, const CounterfactualRun& run) {
    auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples);
    std::unique_ptr<CandidateLossModel> model;
    if (run.options.objective() == PoemOptions::DOUBLY_ROBUST) {
      std::vector<double> losses;
      for (const BanditTuple& tuple : tuples) losses.push_back(tuple.loss);
      model = std::make_unique<CandidateLossModel>(
          *CandidateLossModel::Fit(kSelectionsOrNone, tuples, losses, {}));
    }
    return TrainCounterfactual(&policy, model.get(), run);
  }

  GridTask Task() const {
    GridTask task{
        .data = &data_,
        .options = ShortOptions(PoemOptions::CRM, PoemOptions::STOCHASTIC)};
    for (const double c : {0.1, 1.0}) task.options.add_lambda_factor(c);
    return task;
  }

  const std::vector<BanditTuple> train_ =
      RandomTuples(kSelectionsOrNone, 200, 1);
  const std::vector<BanditTuple> validation_ =
      RandomTuples(kSelectionsOrNone, 200, 2);
  const LinearGridData data_{kSelectionsOrNone, train_, validation_,
                             PoemOptions::CRM};
};

TEST_F(SmoothingTest, EveryObjectiveLearnsAsFromPowersOfThePropensities) {
  using Poem = PoemOptions;
  for (const auto& [objective, optimiser] :
       std::vector<std::pair<Poem::Objective, Poem::Optimiser>>{
           {Poem::CRM, Poem::STOCHASTIC},
           {Poem::CRM, Poem::BATCH},
           {Poem::IPS, Poem::STOCHASTIC},
           {Poem::IPS, Poem::BATCH},
           {Poem::CLIPPED_IPS, Poem::STOCHASTIC},
           {Poem::CLIPPED_IPS, Poem::BATCH},
           {Poem::SELF_NORMALISED, Poem::BATCH},
           {Poem::DOUBLY_ROBUST, Poem::STOCHASTIC},
           {Poem::DOUBLY_ROBUST, Poem::BATCH},
           {Poem::LOG_SMOOTHING, Poem::STOCHASTIC},
           {Poem::LOG_SMOOTHING, Poem::BATCH}}) {
    CounterfactualRun run{
        .options = ShortOptions(objective, optimiser), .clip = 3, .l2 = 0.01};
    run.options.set_scale_losses(false);
    const bool has_lambda =
        objective != Poem::IPS && objective != Poem::CLIPPED_IPS;
    run.lambda = has_lambda ? 0.5 : 0;
    ASSERT_OK_AND_ASSIGN(const auto plain, Train(train_, run));
    ASSERT_OK_AND_ASSIGN(const auto powers,
                         Train(WithPowers(train_, kBeta), run));
    run.smoothing = kBeta;
    ASSERT_OK_AND_ASSIGN(const auto smoothed, Train(train_, run));
    EXPECT_EQ(smoothed.parameters, powers.parameters)
        << Poem::Objective_Name(objective);
    EXPECT_EQ(smoothed.objective, powers.objective);
    EXPECT_NE(smoothed.parameters, plain.parameters);
  }
}

// The penalty estimates the divergence from what logged, which drew with p.
TEST_F(SmoothingTest, TheDivergenceFromTheLogIsThatOfThePropensities) {
  for (const auto optimiser : {PoemOptions::STOCHASTIC, PoemOptions::BATCH}) {
    CounterfactualRun run{
        .options = ShortOptions(PoemOptions::CLIPPED_IPS, optimiser),
        .clip = 3,
        .smoothing = kBeta,
        .l2 = 0.2};
    run.options.set_penalty(PoemOptions::KL);
    ASSERT_OK_AND_ASSIGN(const auto result, Train(train_, run));
    auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, train_);
    const double unit = LossUnit(PoemOptions::CLIPPED_IPS, policy, kBeta);
    LikelihoodTerms pull(&policy);
    double sum = 0;
    for (uint32_t i = 0; i < train_.size(); ++i) {
      const double log_h = policy.LogProbability(result.parameters, i);
      const double log_weight = log_h - kBeta * train_[i].log_propensity;
      sum += train_[i].loss * std::fmin(3, std::exp(log_weight));
      double divergence = 0;
      pull.Values(result.parameters, {&i, 1}, {&divergence, 1});
      sum += 0.2 * unit * divergence;
    }
    EXPECT_NEAR(result.objective, sum / 200, 1e-12);
  }
}

TEST_F(SmoothingTest, TheUnitIsThatOfTheTermsOfThePolicyThatLogged) {
  const auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, train_);
  double squares = 0;
  for (const BanditTuple& tuple : train_) {
    const double term =
        tuple.loss * std::pow(std::exp(tuple.log_propensity), 1 - kBeta);
    squares += term * term;
  }
  using Poem = PoemOptions;
  for (const auto objective :
       {Poem::CRM, Poem::IPS, Poem::CLIPPED_IPS, Poem::LOG_SMOOTHING}) {
    EXPECT_NEAR(LossUnit(objective, policy, kBeta), std::sqrt(squares / 200),
                1e-14);
  }
  for (const auto objective : {Poem::SELF_NORMALISED, Poem::DOUBLY_ROBUST}) {
    EXPECT_EQ(LossUnit(objective, policy, kBeta), LossUnit(objective, policy));
  }
}

// λ of CRM is relative to λ* of its own β, M is that of the propensities.
TEST_F(SmoothingTest, ListsFollowTheObjective) {
  const auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, train_);
  const double plain = *CalibratedLambda(policy);
  const double smoothed = *CalibratedLambda(policy, kBeta);
  EXPECT_NE(plain, smoothed);
  using Poem = PoemOptions;
  for (const auto& [objective, expected] :
       std::vector<std::pair<Poem::Objective, double>>{
           {Poem::CRM, smoothed},
           {Poem::DOUBLY_ROBUST, plain},
           {Poem::SELF_NORMALISED, 1},
           {Poem::LOG_SMOOTHING, 1 / std::sqrt(200)}}) {
    PoemOptions options = ShortOptions(objective, Poem::BATCH);
    options.add_lambda_factor(1);
    ASSERT_OK_AND_ASSIGN(const auto lambdas,
                         ListLambdas(options, policy, kBeta));
    EXPECT_DOUBLE_EQ(lambdas[0].lambda, expected)
        << Poem::Objective_Name(objective);
  }
  PoemOptions options;
  EXPECT_EQ(ListSmoothings(options), std::vector<double>{1});
  const double clip = ClipOf(options, policy);
  options.add_smoothing(kBeta);
  options.add_smoothing(1);
  EXPECT_EQ(ListSmoothings(options), (std::vector<double>{kBeta, 1}));
  EXPECT_EQ(ClipOf(options, policy), clip);
}

TEST_F(SmoothingTest, OneIsNoSmoothing) {
  GridTask task = Task();
  ASSERT_OK_AND_ASSIGN(const GridOutcome unset, TrainGrid(task));
  task.options.add_smoothing(1);
  ASSERT_OK_AND_ASSIGN(const GridOutcome one, TrainGrid(task));
  EXPECT_EQ(one.parameters, unset.parameters);
  ASSERT_EQ(one.points.size(), unset.points.size());
  for (size_t i = 0; i < one.points.size(); ++i) {
    EXPECT_EQ(one.points[i].SerializeAsString(),
              unset.points[i].SerializeAsString());
  }
}

// The grid of two β has the points of both, β before λ.
TEST_F(SmoothingTest, EveryBetaIsCombinedWithEveryLambda) {
  GridTask task = Task();
  task.options.add_smoothing(kBeta);
  ASSERT_OK_AND_ASSIGN(const GridOutcome first, TrainGrid(task));
  task.options.set_smoothing(0, 1);
  ASSERT_OK_AND_ASSIGN(const GridOutcome second, TrainGrid(task));
  task.options.set_smoothing(0, kBeta);
  task.options.add_smoothing(1);
  ASSERT_OK_AND_ASSIGN(const GridOutcome both, TrainGrid(task));
  ASSERT_EQ(both.points.size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    auto expected = i < 2 ? first.points[i] : second.points[i - 2];
    EXPECT_EQ(expected.has_smoothing(), i < 2);
    EXPECT_EQ(expected.smoothing(), i < 2 ? kBeta : 0);
    expected.set_chosen(both.points[i].chosen());
    EXPECT_EQ(both.points[i].SerializeAsString(), expected.SerializeAsString())
        << i;
  }
  EXPECT_NE(both.points[0].lambda(), both.points[2].lambda());
  EXPECT_NE(both.points[0].train_objective(), both.points[2].train_objective());
}

// Eq. 1 of the chosen parameters, by hand.
TEST_F(SmoothingTest, ValidationHasThePropensitiesAsTheyAre) {
  GridTask task = Task();
  task.options.add_smoothing(0.3);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, validation_);
  double sum = 0;
  for (size_t i = 0; i < validation_.size(); ++i) {
    sum -= validation_[i].loss *
           std::exp(policy.LogProbability(outcome.parameters, i) -
                    validation_[i].log_propensity);
  }
  int chosen = 0;
  for (const auto& point : outcome.points) {
    if (!point.chosen()) continue;
    ++chosen;
    EXPECT_EQ(point.smoothing(), 0.3);
    EXPECT_NEAR(point.validation_reward(), sum / 200, 1e-12);
  }
  EXPECT_EQ(chosen, 1);
}

TEST_F(SmoothingTest, RunsOutOfRangeAndRisksOfTheDataAreRefused) {
  CounterfactualRun run{.options =
                            ShortOptions(PoemOptions::CRM, PoemOptions::BATCH)};
  for (const auto& [smoothing, text] :
       std::vector<std::pair<double, std::string>>{
           {0, "0"}, {-0.5, "-0.5"}, {1.5, "1.5"}, {std::nan(""), "nan"}}) {
    run.smoothing = smoothing;
    EXPECT_THAT(Train(train_, run), IsInvalidArgument("smoothing is " + text +
                                                      ", must be in (0, 1]"));
  }
  class OwnRisk : public GridRisk {
    TupleTerms* terms() override { return nullptr; }
  } risk;
  run.smoothing = kBeta;
  run.risk = &risk;
  EXPECT_THAT(Train(train_, run),
              IsInvalidArgument("smoothing is 0.6, must be 1 for data with a "
                                "risk of their own"));
}

// Of a grid, the layer takes the weights that are nearest to plain ones.
TEST_F(SmoothingTest, AHiddenLayerIsLearnedWithTheLargest) {
  HiddenLayerTask task;
  task.family = kSelectionsOrNone;
  task.tuples = train_;
  task.options = ShortOptions(PoemOptions::CRM, PoemOptions::STOCHASTIC);
  task.num_units = 2;
  ASSERT_OK_AND_ASSIGN(const auto plain, LearnHiddenLayer(task));
  task.options.add_smoothing(kBeta);
  ASSERT_OK_AND_ASSIGN(const auto smoothed, LearnHiddenLayer(task));
  EXPECT_NE(smoothed.SerializeAsString(), plain.SerializeAsString());
  task.options.add_smoothing(1);
  ASSERT_OK_AND_ASSIGN(const auto both, LearnHiddenLayer(task));
  EXPECT_EQ(both.SerializeAsString(), plain.SerializeAsString());
}

}  // namespace
}  // namespace sortition
