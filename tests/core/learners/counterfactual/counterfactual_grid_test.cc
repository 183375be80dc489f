#include "core/learners/counterfactual/counterfactual_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/grid_risk.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/counterfactual/policy_choice.h"
#include "core/learners/counterfactual/weighted_tuples.h"
#include "core/learners/multilabel/labels_loss_model.h"
#include "core/learners/multilabel/labels_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/threads.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using testing::HasSubstr;

// Selections drawn uniformly, with more reward if the first feature is large.
std::vector<BanditTuple> MakeSelections(size_t n, uint64_t seed) {
  std::vector<BanditTuple> tuples = RandomTuples(kSelections, n, seed);
  const std::vector<double> first = {1, 0, 0, 0};
  for (BanditTuple& tuple : tuples) {
    tuple.log_propensity = -std::log(tuple.candidates().num_candidates());
    const double x =
        tuple.candidates().Score(static_cast<uint32_t>(tuple.action[0]), first);
    tuple.loss = -1 / (1 + std::exp(-2 * x));
  }
  return tuples;
}

// A kind of action that the trainer does not read: the grid need not know it.
class LabelsGridData : public GridData {
 public:
  explicit LabelsGridData(const RandomLabels* labels) : labels_(labels) {}
  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override {
    return std::make_unique<LabelsPolicy>(
        *LabelsPolicy::Create(labels_->contexts, labels_->tuples));
  }
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override {
    return TrainPolicy();
  }
  absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& fit) const override {
    const std::shared_ptr<const LabelsLossModel> model =
        LabelsLossModel::Fit(labels_->contexts, labels_->tuples, fit)->Clone();
    return LossModelCopies([model] { return model->Clone(); });
  }

 private:
  const RandomLabels* labels_;
};

struct ObjectiveCase {
  PoemOptions::Objective objective;
  PoemOptions::Optimiser optimiser;
  size_t num_lambdas;  // In the default grid.
};

class GridTest : public testing::Test {
 protected:
  const std::vector<BanditTuple> train_ = MakeSelections(300, 1);
  const std::vector<BanditTuple> validation_ = MakeSelections(300, 2);
};

class EveryObjectiveTest : public GridTest,
                           public testing::WithParamInterface<ObjectiveCase> {};

INSTANTIATE_TEST_SUITE_P(
    Objectives, EveryObjectiveTest,
    testing::Values(
        ObjectiveCase{PoemOptions::CRM, PoemOptions::STOCHASTIC, 8},
        ObjectiveCase{PoemOptions::CRM, PoemOptions::BATCH, 8},
        ObjectiveCase{PoemOptions::IPS, PoemOptions::STOCHASTIC, 1},
        ObjectiveCase{PoemOptions::IPS, PoemOptions::BATCH, 1},
        ObjectiveCase{PoemOptions::CLIPPED_IPS, PoemOptions::STOCHASTIC, 1},
        ObjectiveCase{PoemOptions::CLIPPED_IPS, PoemOptions::BATCH, 1},
        ObjectiveCase{PoemOptions::SELF_NORMALISED, PoemOptions::BATCH, 4},
        ObjectiveCase{PoemOptions::DOUBLY_ROBUST, PoemOptions::STOCHASTIC, 8},
        ObjectiveCase{PoemOptions::DOUBLY_ROBUST, PoemOptions::BATCH, 8},
        ObjectiveCase{PoemOptions::LOG_SMOOTHING, PoemOptions::STOCHASTIC, 3},
        ObjectiveCase{PoemOptions::LOG_SMOOTHING, PoemOptions::BATCH, 3}),
    [](const auto& instance) {
      return PoemOptions::Objective_Name(instance.param.objective) + "_" +
             PoemOptions::Optimiser_Name(instance.param.optimiser);
    });

void ExpectSame(const GridOutcome& one, const GridOutcome& two) {
  EXPECT_EQ(one.parameters, two.parameters);
  ASSERT_EQ(one.points.size(), two.points.size());
  for (size_t i = 0; i < one.points.size(); ++i) {
    EXPECT_EQ(one.points[i].SerializeAsString(),
              two.points[i].SerializeAsString())
        << i;
  }
}

TEST_P(EveryObjectiveTest, ThreadsDoNotChangeABitAndEveryPointIsDescribed) {
  const ObjectiveCase& c = GetParam();
  const LinearGridData data(kSelections, train_, validation_, c.objective);
  GridTask task{.data = &data,
                .options = ShortOptions(c.objective, c.optimiser),
                .parent_start = Eigen::Vector4d(-0.5, 0.1, 0.1, 0.1)};
  task.parallel = SerialFor;
  ASSERT_OK_AND_ASSIGN(const GridOutcome one, TrainGrid(task));
  task.parallel = OnThreads(2);
  ASSERT_OK_AND_ASSIGN(const GridOutcome two, TrainGrid(task));
  ExpectSame(one, two);
  // The parent; two starts and one μ.
  ASSERT_EQ(one.points.size(), 1 + 2 * c.num_lambdas);
  int chosen = 0;
  for (const auto& point : one.points) {
    EXPECT_EQ(point.objective(), PoemOptions::Objective_Name(c.objective));
    EXPECT_EQ(point.optimiser(), PoemOptions::Optimiser_Name(c.optimiser));
    chosen += point.chosen() ? 1 : 0;
    if (&point == &one.points[0]) {
      EXPECT_EQ(point.termination(), kNotTrained);
      continue;
    }
    EXPECT_TRUE(point.has_lambda_factor());
    EXPECT_EQ(point.lambda() == 0, point.lambda_factor() == 0);
    EXPECT_EQ(point.epochs() > 0, c.optimiser == PoemOptions::STOCHASTIC);
    EXPECT_EQ(point.iterations() > 0, c.optimiser == PoemOptions::BATCH);
    EXPECT_NE(point.termination(), "diverged");
    EXPECT_GT(point.effective_sample_size(), 1);
    EXPECT_LE(point.effective_sample_size(), 300 + 1e-9);
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_GT(one.parameters[0], 0.3);
}

TEST_P(EveryObjectiveTest, LabelsLearnInTheSameGrid) {
  const ObjectiveCase& c = GetParam();
  const RandomLabels labels(5, 3, 30, 200, 3);
  const LabelsGridData data(&labels);
  GridTask task{.data = &data,
                .options = ShortOptions(c.objective, c.optimiser)};
  task.options.add_l2(1e-3);
  task.parallel = SerialFor;
  ASSERT_OK_AND_ASSIGN(const GridOutcome one, TrainGrid(task));
  task.parallel = OnThreads(2);
  ASSERT_OK_AND_ASSIGN(const GridOutcome two, TrainGrid(task));
  ExpectSame(one, two);
  EXPECT_EQ(one.points.size(), c.num_lambdas);
}

// Theorem 4 of [MaurerPontil09] by hand, at the failure probability of one side
// for each clip that could have been chosen.
TEST_F(GridTest, IntervalsOfAPointHoldForEveryClipThereIs) {
  const LinearGridData data(kSelections, train_, validation_, PoemOptions::CRM);
  GridTask task{.data = &data,
                .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH),
                .confidence = 0.9};
  task.options.add_lambda(0.5);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  ASSERT_OK_AND_ASSIGN(const auto policy, data.ValidationPolicy());
  const std::vector<double> weights =
      LogWeights(outcome.parameters, policy.get());
  const std::vector<double> rewards = Rewards(*policy);
  const double clip = ChooseEvaluationClip(rewards, weights, 300, 0.95);
  Moments reward, eq_1, improvement;
  for (size_t i = 0; i < 300; ++i) {
    const double weight = std::exp(weights[i]);
    eq_1.Add(rewards[i] * weight);
    reward.Add(rewards[i] * std::fmin(weight, clip));
    improvement.Add(rewards[i] * (std::fmin(weight, clip) - 1));
  }
  const double log_term = std::log(2 / (0.05 / 18));
  const auto lower = [&](const Moments& moments) {
    return moments.mean() - std::sqrt(2 * moments.variance() * log_term / 300) -
           clip * 7 * log_term / (3 * 299);
  };
  const auto& point = outcome.points[0];
  const auto& estimate = point.validation_estimate();
  EXPECT_NEAR(estimate.value(), eq_1.mean(), 1e-12);
  EXPECT_EQ(estimate.value(), point.validation_reward());
  EXPECT_NEAR(estimate.lower(), lower(reward), 1e-12);
  EXPECT_GT(estimate.lower(), 0);
  EXPECT_GT(estimate.upper(), estimate.value());
  EXPECT_EQ(estimate.confidence(), 0.9);
  EXPECT_NEAR(point.validation_improvement().value(), improvement.mean(),
              1e-12);
  EXPECT_NEAR(point.validation_improvement().lower(), lower(improvement),
              1e-12);
  // The choice does not depend on the confidence of the intervals.
  task.confidence = 0.99;
  ASSERT_OK_AND_ASSIGN(const GridOutcome wider, TrainGrid(task));
  EXPECT_LT(wider.points[0].validation_improvement().lower(),
            point.validation_improvement().lower());
  EXPECT_EQ(wider.points[0].validation_lower(), point.validation_lower());
}

// r ↦ 10 r - 3; differences of rewards have no offset.
TEST_F(GridTest, BothOptimisersCompeteInOneGrid) {
  const LinearGridData data(kSelections, train_, validation_, PoemOptions::CRM);
  const auto grid_of = [&](PoemOptions::Optimiser optimiser) {
    GridTask task{.data = &data,
                  .options = ShortOptions(PoemOptions::CRM, optimiser)};
    task.options.add_lambda(0);
    task.options.add_lambda(0.5);
    return *TrainGrid(task);
  };
  const GridOutcome batch = grid_of(PoemOptions::BATCH);
  const GridOutcome stochastic = grid_of(PoemOptions::STOCHASTIC);
  const GridOutcome both = grid_of(PoemOptions::TRY_BOTH);
  ASSERT_EQ(both.points.size(), 4u);
  size_t best = 0;
  for (size_t i = 0; i < 4; ++i) {
    model::v1::Evaluation::GridPoint point = both.points[i];
    model::v1::Evaluation::GridPoint alone =
        (i % 2 == 0 ? stochastic : batch).points[i / 2];
    point.clear_chosen();
    alone.clear_chosen();
    EXPECT_EQ(point.SerializeAsString(), alone.SerializeAsString());
    if (point.validation_lower() > both.points[best].validation_lower()) {
      best = i;
    }
  }
  EXPECT_TRUE(both.points[best].chosen());
}

// The options that a learner needs, whoever calls it.
TEST(WithOptimiserTest, FewTuplesHaveBoth) {
  PoemOptions options;
  EXPECT_EQ(WithOptimiser(options, 50000).optimiser(), PoemOptions::TRY_BOTH);
  EXPECT_EQ(WithOptimiser(options, 50001).optimiser(), PoemOptions::STOCHASTIC);
  options.set_objective(PoemOptions::SELF_NORMALISED);
  EXPECT_EQ(WithOptimiser(options, 50001).optimiser(), PoemOptions::BATCH);
  options.set_objective(PoemOptions::EXPOSURE);
  options.set_sampled_orders(10);
  EXPECT_EQ(WithOptimiser(options, 10).optimiser(), PoemOptions::STOCHASTIC);
  options.clear_sampled_orders();
  options.set_failure_probability(0.05);
  EXPECT_EQ(WithOptimiser(options, 10).optimiser(), PoemOptions::BATCH);
  options.set_optimiser(PoemOptions::STOCHASTIC);
  EXPECT_EQ(WithOptimiser(options, 10).optimiser(), PoemOptions::STOCHASTIC);
}

TEST_F(GridTest, RewardUnitsScaleEstimatesAndTheirIntervals) {
  model::v1::Evaluation::GridPoint point;
  point.set_validation_reward(0.5);
  point.set_validation_lower(0.1);
  model::v1::Estimate* estimate = point.mutable_validation_estimate();
  estimate->set_value(0.5);
  estimate->set_lower(0.25);
  estimate->set_upper(1);
  estimate->set_confidence(0.95);
  *point.mutable_validation_improvement() = *estimate;
  const auto scaled = InRewardUnits(point, -3, 7);
  EXPECT_EQ(scaled.validation_reward(), 2);
  EXPECT_EQ(scaled.validation_estimate().value(), 2);
  EXPECT_EQ(scaled.validation_estimate().lower(), -0.5);
  EXPECT_EQ(scaled.validation_estimate().upper(), 7);
  EXPECT_EQ(scaled.validation_estimate().confidence(), 0.95);
  EXPECT_EQ(scaled.validation_improvement().value(), 5);
  EXPECT_EQ(scaled.validation_improvement().lower(), 2.5);
  EXPECT_EQ(scaled.validation_lower(), 0.1);
}

TEST_F(GridTest, BadCombinationsAndTooFewTuplesAreErrors) {
  const LinearGridData data(kSelections, train_, validation_, PoemOptions::CRM);
  GridTask task{.data = &data,
                .options = ShortOptions(PoemOptions::SELF_NORMALISED,
                                        PoemOptions::STOCHASTIC)};
  EXPECT_THAT(TrainGrid(task), IsInvalidArgument("must be BATCH"));
  const LinearGridData one(kSelections, std::span(train_).first(1), validation_,
                           PoemOptions::CRM);
  task = {.data = &one, .options = PoemOptions()};
  EXPECT_THAT(TrainGrid(task), IsInvalidArgument("there are 1"));
  std::vector<BanditTuple> constant = train_;
  for (BanditTuple& tuple : constant) tuple.loss = -0.5;
  const LinearGridData equal(kSelections, constant, validation_,
                             PoemOptions::CRM);
  task.data = &equal;
  EXPECT_THAT(TrainGrid(task), IsFailedPrecondition("have the loss -0.5"));
}

// The steps are too small to leave the start.
TEST_F(GridTest, PointsStartWhereTheOptionsSay) {
  const LinearGridData data(kSelections, train_, validation_, PoemOptions::CRM);
  GridTask task{
      .data = &data,
      .options = ShortOptions(PoemOptions::CRM, PoemOptions::STOCHASTIC),
      .parent_start = Eigen::VectorXd::Constant(4, -0.5)};
  task.options.mutable_adagrad()->set_step_size(1e-9);
  for (const auto start : {PoemOptions::ZERO, PoemOptions::PARENT}) {
    task.options.set_start(start);
    ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
    const double expected = start == PoemOptions::PARENT ? -0.5 : 0;
    for (const double entry : outcome.parameters) {
      EXPECT_NEAR(entry, expected, 1e-6);
    }
    EXPECT_EQ(outcome.points.size(), 9);
    EXPECT_EQ(outcome.points[1].start(),
              start == PoemOptions::PARENT ? "parent" : "zero");
  }
}

// In training the first feature pays, in validation its opposite does: what is
// trained is worse than the parent, which follows the opposite.
TEST_F(GridTest, TheParentStaysWhereNothingValidatesBetter) {
  std::vector<BanditTuple> opposite = MakeSelections(3000, 2);
  for (BanditTuple& tuple : opposite) tuple.loss = -1 - tuple.loss;
  const LinearGridData data(kSelections, train_, opposite, PoemOptions::CRM);
  GridTask task{.data = &data,
                .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH),
                .parent_start = Eigen::Vector4d(-2, 0, 0, 0)};
  for (const auto start : {PoemOptions::ZERO, PoemOptions::BOTH}) {
    task.options.set_start(start);
    ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
    EXPECT_TRUE(outcome.keeps_parent);
    EXPECT_EQ(outcome.parameters, task.parent_start);
    const auto& row = outcome.points[0];
    EXPECT_TRUE(row.chosen());
    EXPECT_EQ(row.start(), "parent");
    EXPECT_EQ(row.termination(), kNotTrained);
    EXPECT_EQ(row.epochs() + row.iterations(), 0);
    for (const auto& point : outcome.points) {
      EXPECT_LE(point.validation_lower(), row.validation_lower());
    }
  }
  // Without a parent there is nothing to keep.
  task.parent_start.resize(0);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_FALSE(outcome.keeps_parent);
  EXPECT_NE(outcome.points[0].termination(), kNotTrained);
}

// With few tuples every interval is wide, but for that of a policy that does as
// the log did. Whether the gain is certain is for the gate to say.
TEST_F(GridTest, TheParentDoesNotBlockWhatIsEstimatedToBeBetter) {
  const LinearGridData data(
      kSelections, train_, std::span(validation_).first(150), PoemOptions::CRM);
  const GridTask task{
      .data = &data,
      .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH),
      .parent_start = Eigen::Vector4d(0, 0, 0, 0)};
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_FALSE(outcome.keeps_parent);
  EXPECT_GT(outcome.parameters[0], 0.3);
  // The parent equals the logging policy, and has criterion 0. The rigorous
  // lower bound is below 0 at the chosen point.
  for (const auto& point : outcome.points) {
    if (!point.chosen()) continue;
    EXPECT_GT(point.validation_lower(), 0);
    EXPECT_LT(point.validation_improvement().lower(), 0);
  }
}

// A log of a policy that mostly takes one of six candidates, while another one
// is often better. The expected rewards are known.
class SharpLog {
 public:
  explicit SharpLog(uint64_t seed) : random_(SeedKey(seed)) {
    for (Eigen::Index j = 0; j < kSharpFeatures; ++j) {
      interest_[j] = random_.Normal();
      logging_[j] = 3 * (0.5 * interest_[j] + random_.Normal());
    }
  }
  LinearFamily family() const {
    return {.num_features = kSharpFeatures, .uniform_mixture = kMixture};
  }
  const Eigen::VectorXd& logging() const { return logging_; }

  std::vector<BanditTuple> Draw(size_t n) {
    std::vector<BanditTuple> tuples(n);
    for (BanditTuple& tuple : tuples) {
      tuple.num_features = kSharpFeatures;
      tuple.values.resize(size_t{kSharpFeatures} * kRows);
      for (float& value : tuple.values) {
        value = static_cast<float>(random_.Normal());
      }
      const Eigen::VectorXd p = Probabilities(tuple, logging_);
      double left = random_.Uniform();
      int32_t row = 0;
      while (row + 1 < kRows && left >= p[row]) left -= p[row++];
      tuple.action = {row};
      tuple.log_propensity = std::log(p[row]);
      tuple.loss = random_.Uniform() < Rewards(tuple)[row] ? -1 : 0;
      tuple.unit = next_unit_++;
    }
    return tuples;
  }
  // The expected loss of a policy, 1 - reward, in these contexts.
  static double LossOf(const Eigen::VectorXd& parameters,
                       const Eigen::VectorXd& interest,
                       std::span<const BanditTuple> contexts) {
    double sum = 0;
    for (const BanditTuple& tuple : contexts) {
      sum += Probabilities(tuple, parameters).dot(Rewards(tuple, interest));
    }
    return 1 - sum / static_cast<double>(contexts.size());
  }
  const Eigen::VectorXd& interest() const { return interest_; }

 private:
  static constexpr uint32_t kSharpFeatures = 8;
  static constexpr int32_t kRows = 6;
  static constexpr double kMixture = 0.05;

  static Eigen::MatrixXd RowsOf(const BanditTuple& tuple) {
    return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic,
                                          Eigen::RowMajor>>(
               tuple.values.data(), kRows, kSharpFeatures)
        .cast<double>();
  }
  static Eigen::VectorXd Probabilities(const BanditTuple& tuple,
                                       const Eigen::VectorXd& parameters) {
    Eigen::VectorXd scores = RowsOf(tuple) * parameters;
    scores = (scores.array() - scores.maxCoeff()).exp();
    return ((1 - kMixture) * scores / scores.sum()).array() + kMixture / kRows;
  }
  static Eigen::VectorXd Rewards(const BanditTuple& tuple,
                                 const Eigen::VectorXd& interest) {
    const Eigen::VectorXd scores = RowsOf(tuple) * interest;
    return 1 / (1 + (1 - scores.array()).exp());
  }
  Eigen::VectorXd Rewards(const BanditTuple& tuple) const {
    return Rewards(tuple, interest_);
  }

  RandomSequence random_;
  uint64_t next_unit_ = 1;
  Eigen::VectorXd interest_ = Eigen::VectorXd(kSharpFeatures);
  Eigen::VectorXd logging_ = Eigen::VectorXd(kSharpFeatures);
};

// Rigorous lower bounds prefer policies close to the logging policy: they chose
// a policy within 5 % of the best in half of such logs.
TEST(SharpLogTest, TheChosenPointIsNearlyTheBestOfTheGrid) {
  constexpr int kLogs = 10;
  int near_best = 0;
  for (uint64_t seed = 1; seed <= kLogs; ++seed) {
    SharpLog log(seed);
    const std::vector<BanditTuple> train = log.Draw(1000);
    const std::vector<BanditTuple> validation = log.Draw(500);
    const std::vector<BanditTuple> fresh = log.Draw(300);
    const LinearGridData data(log.family(), train, validation,
                              PoemOptions::CRM);
    double best = 1;
    double chosen = 1;
    GridTask task{.data = &data,
                  .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH),
                  .parent_start = log.logging()};
    for (const double c : {0.0, 0.1, 1.0}) task.options.add_lambda_factor(c);
    task.on_point = [&](const auto& /*point*/, const Eigen::VectorXd& w) {
      best = std::min(best, SharpLog::LossOf(w, log.interest(), fresh));
    };
    ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
    chosen = SharpLog::LossOf(outcome.parameters, log.interest(), fresh);
    near_best += chosen <= 1.05 * best ? 1 : 0;
    EXPECT_LT(chosen,
              1.01 * SharpLog::LossOf(log.logging(), log.interest(), fresh))
        << seed;
  }
  EXPECT_GE(near_best, 8);
}

// By hand: weights 2, 0, 1 and 1 of a policy, 1, 1, 2 and 0 of another.
TEST(SelfNormalisedGainTest, IsTheDifferenceOfWeightedMeans) {
  const double never = -std::numeric_limits<double>::infinity();
  const std::vector<double> rewards = {1, 0, 0.5, 0};
  const std::vector<double> own = {std::log(2), never, 0, 0};
  const std::vector<double> other = {0, 0, std::log(2), never};
  const Gain gain = SelfNormalisedGain(
      {.rewards = rewards, .log_weights = own, .other_log_weights = other});
  // Both have the mean weight 1, S = 2.5 / 4 and 2 / 4.
  EXPECT_NEAR(gain.value, 0.625 - 0.5, 1e-12);
  // Influences ρ (r - S) - ρ₀ (r - S₀) of the four.
  const double d[] = {2 * 0.375 - 0.5, 0.5, -0.125, -0.625};
  double squares = 0;
  for (const double each : d) squares += each * each;
  EXPECT_NEAR(gain.standard_error, std::sqrt(squares / 3 / 4), 1e-12);
  EXPECT_NEAR(gain.effective_sample_size, 16.0 / 6, 1e-12);
  EXPECT_FALSE(gain.has_standard_error());
  // Twice the same tuples, by counts.
  const std::vector<double> twice = {2, 2, 2, 2};
  const Gain counted = SelfNormalisedGain({.rewards = rewards,
                                           .log_weights = own,
                                           .other_log_weights = other,
                                           .counts = twice});
  EXPECT_NEAR(counted.value, gain.value, 1e-12);
  EXPECT_LT(counted.standard_error, gain.standard_error);
}

// By hand: differences 0.5, -0.1, 0.2 have the mean 0.2; their deviations 0.3,
// -0.3, 0 the variance 0.09.
TEST(GainOfTermsTest, IsTheMeanDifference) {
  const std::vector<double> terms = {-0.5, -0.1, -0.2};
  const std::vector<double> other = {0, -0.2, 0};
  Gain whole;
  whole.value = 7;
  whole.effective_sample_size = 3;
  const Gain gain = GainOfTerms({terms, other}, whole);
  EXPECT_NEAR(gain.value, 0.2, 1e-15);
  EXPECT_EQ(gain.of_supported, gain.value);
  EXPECT_NEAR(gain.standard_error, std::sqrt(0.09 / 3), 1e-15);
  EXPECT_EQ(gain.effective_sample_size, 3);
  // Two units: their deviations add up to 0.
  const std::vector<uint64_t> units = {1, 1, 2};
  EXPECT_NEAR(GainOfTerms({terms, other, {}, units}, whole).standard_error, 0,
              1e-15);
  // A tuple that counts twice is two.
  const std::vector<double> counts = {1, 1, 2};
  EXPECT_NEAR(GainOfTerms({terms, other, counts}, whole).value, 0.2, 1e-15);
  EXPECT_NEAR(GainOfTerms({terms, other, counts}, whole).standard_error,
              std::sqrt(0.06 / 4), 1e-15);
}

// Each of the four tuples is there 20 times, as one unit: nothing more is known
// than from four.
TEST(SelfNormalisedGainTest, TuplesOfAUnitAreNotIndependent) {
  const double never = -std::numeric_limits<double>::infinity();
  const std::vector<double> rewards = {1, 0, 0.5, 0};
  const std::vector<double> own = {std::log(2), never, 0, 0};
  const std::vector<double> other = {0, 0, std::log(2), never};
  const Gain alone = SelfNormalisedGain(
      {.rewards = rewards, .log_weights = own, .other_log_weights = other});
  std::vector<double> all_rewards, all_own, all_other;
  std::vector<uint64_t> units;
  for (uint64_t i = 0; i < 80; ++i) {
    all_rewards.push_back(rewards[i % 4]);
    all_own.push_back(own[i % 4]);
    all_other.push_back(other[i % 4]);
    units.push_back(i % 4);
  }
  GainSample sample = {.rewards = all_rewards,
                       .log_weights = all_own,
                       .other_log_weights = all_other};
  const Gain independent = SelfNormalisedGain(sample);
  sample.units = units;
  const Gain gain = SelfNormalisedGain(sample);
  EXPECT_NEAR(gain.value, alone.value, 1e-12);
  EXPECT_NEAR(gain.standard_error, alone.standard_error, 1e-12);
  EXPECT_NEAR(gain.weight.error, alone.weight.error, 1e-12);
  EXPECT_LT(independent.standard_error, gain.standard_error / 4);
  // Of a single unit nothing is known.
  units.assign(80, 7);
  EXPECT_EQ(SelfNormalisedGain(sample).standard_error,
            std::numeric_limits<double>::infinity());
}

// What a policy does where nothing was logged counts as the smallest reward.
TEST(SelfNormalisedGainTest, ActionsThatWereNeverLoggedEarnNothing) {
  const std::vector<double> rewards(400, 1);
  const std::vector<double> half(400, std::log(0.5));
  const Gain gain =
      SelfNormalisedGain({.rewards = rewards, .log_weights = half});
  EXPECT_NEAR(gain.value, 0.5 - 1, 1e-12);
  EXPECT_NEAR(SelfNormalisedGain({.rewards = rewards,
                                  .log_weights = std::vector<double>(400, 0)})
                  .value,
              0, 1e-12);
}

// AdaGrad's steps diverge with so large an l2: another point is chosen.
TEST_F(GridTest, APointThatDivergesIsKeptAndNotChosen) {
  const LinearGridData data(kSelections, train_, validation_, PoemOptions::CRM);
  GridTask task{.data = &data,
                .options = ShortOptions(PoemOptions::CLIPPED_IPS,
                                        PoemOptions::STOCHASTIC),
                .parent_start = Eigen::VectorXd::Constant(4, 10)};
  task.options.set_start(PoemOptions::PARENT);
  task.options.add_l2(1e308);
  task.options.add_l2(1e-4);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_EQ(outcome.points[1].termination(), "diverged");
  EXPECT_FALSE(outcome.points[1].has_validation_estimate());
  EXPECT_FALSE(outcome.points[1].chosen());
  task.options.mutable_l2()->RemoveLast();
  EXPECT_THAT(TrainGrid(task),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("diverged")));
}

GridTask BatchTask(const GridData* data) {
  GridTask task{.data = data,
                .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH)};
  task.options.add_lambda(0);
  return task;
}

// The bound of a policy that does nothing is 0, and nothing is surely better on
// 60 tuples. It must not win, or nothing would ever be learned from small logs.
TEST_F(GridTest, APolicyThatDoesNothingDoesNotCompete) {
  const std::vector<BanditTuple> few = MakeSelections(60, 2);
  const LinearGridData data(kSelections, train_, few, PoemOptions::CRM);
  GridTask task = BatchTask(&data);
  task.options.add_l2(1e6);
  task.options.add_l2(1e-6);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_NEAR(outcome.points[0].effective_sample_size(), 60, 1e-3);
  EXPECT_LT(outcome.points[1].validation_improvement().lower(), 0);
  EXPECT_TRUE(outcome.points[1].chosen() && outcome.moved);
}

// Logs round propensities: 1/3 is logged as 0.333.
TEST_F(GridTest, RoundedPropensitiesAreNoMove) {
  std::vector<BanditTuple> rounded = validation_;
  for (BanditTuple& tuple : rounded) {
    tuple.log_propensity =
        std::log(std::round(1000 * std::exp(tuple.log_propensity)) / 1000);
  }
  const LinearGridData data(kSelections, train_, rounded, PoemOptions::CRM);
  GridTask task = BatchTask(&data);
  task.options.add_l2(1e6);
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_FALSE(outcome.moved);
}

class WithUnreachable : public LinearGridData {
 public:
  using LinearGridData::LinearGridData;
  std::vector<double> UnreachableRewards() const override {
    return std::vector<double>(300, 1);
  }
};

TEST_F(GridTest, UnreachableRewardsCountForTheLog) {
  const LinearGridData all(kSelections, train_, validation_, PoemOptions::CRM);
  const WithUnreachable half(kSelections, train_, validation_,
                             PoemOptions::CRM);
  GridTask task = BatchTask(&all);
  ASSERT_OK_AND_ASSIGN(const GridOutcome one, TrainGrid(task));
  task.data = &half;
  ASSERT_OK_AND_ASSIGN(const GridOutcome two, TrainGrid(task));
  EXPECT_NEAR(two.points[0].validation_reward(),
              one.points[0].validation_reward() / 2, 1e-12);
  EXPECT_LT(two.points[0].validation_improvement().value(), 0);
}

// Risks that data bring along, and priors, in the grid.

// The weighted losses of the tuples, as the learner makes them itself.
class SameRisk : public GridRisk {
 public:
  SameRisk(std::unique_ptr<TuplePolicy> policy, TermFunction function,
           double unit)
      : policy_(std::move(policy)),
        terms_(*WeightedTerms::Create(policy_.get(), std::move(function),
                                      nullptr)),
        unit_(unit) {}
  TupleTerms* terms() override { return &terms_; }
  double loss_unit() const override { return unit_; }

 private:
  std::unique_ptr<TuplePolicy> policy_;
  WeightedTerms terms_;
  double unit_;
};

class SameRiskData : public LinearGridData {
 public:
  using LinearGridData::LinearGridData;
  absl::StatusOr<MakeGridRisk> PrepareRisk(
      const PoemOptions& options) const override {
    const auto objective = options.objective();
    return MakeGridRisk([this, objective](double clip, double lambda)
                            -> absl::StatusOr<std::unique_ptr<GridRisk>> {
      auto policy = *TrainPolicy();
      const double unit = LossUnit(objective, *policy);
      return std::make_unique<SameRisk>(std::move(policy),
                                        objective == PoemOptions::LOG_SMOOTHING
                                            ? LogSmoothedTerm(lambda)
                                            : ClippedTerm(clip),
                                        unit);
    });
  }
};

// Clip, λ, unit of losses, scales and penalties reach a risk as they reach the
// learner's own.
TEST(GridRiskTest, TheSameRiskFromTheDataChangesNothing) {
  const std::vector<BanditTuple> train = RandomTuples(kSelections, 120, 1);
  const std::vector<BanditTuple> validation = RandomTuples(kSelections, 120, 2);
  for (const auto objective :
       {PoemOptions::CRM, PoemOptions::IPS, PoemOptions::CLIPPED_IPS,
        PoemOptions::LOG_SMOOTHING}) {
    const LinearGridData own(kSelections, train, validation, objective);
    const SameRiskData brought(kSelections, train, validation, objective);
    for (const auto optimiser : {PoemOptions::STOCHASTIC, PoemOptions::BATCH}) {
      for (const auto penalty :
           {PoemOptions::NORM, PoemOptions::PROXIMAL, PoemOptions::KL}) {
        GridTask task{.options = ShortOptions(objective, optimiser),
                      .parent_start = Eigen::Vector4d(0.5, 0, -0.5, 0.1)};
        task.options.set_penalty(penalty);
        task.options.set_standardise(true);
        task.options.add_l2(0.05);
        task.options.add_lambda_factor(0.5);
        if (objective == PoemOptions::IPS ||
            objective == PoemOptions::CLIPPED_IPS) {
          task.options.clear_lambda_factor();
        }
        task.data = &own;
        ASSERT_OK_AND_ASSIGN(const GridOutcome expected, TrainGrid(task));
        task.data = &brought;
        ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
        EXPECT_EQ(outcome.parameters, expected.parameters);
        ASSERT_EQ(outcome.points.size(), expected.points.size());
        for (size_t i = 0; i < outcome.points.size(); ++i) {
          EXPECT_EQ(outcome.points[i].SerializeAsString(),
                    expected.points[i].SerializeAsString());
        }
      }
    }
  }
}

// ‖w - c‖², which mini-batches do not see.
class Bowl : public Objective {
 public:
  explicit Bowl(Eigen::VectorXd centre) : centre_(std::move(centre)) {}
  Eigen::Index dimension() const override { return centre_.size(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    if (gradient != nullptr) *gradient = 2 * (point - centre_);
    return (point - centre_).squaredNorm();
  }

 private:
  Eigen::VectorXd centre_;
};

class BowlRisk : public SameRisk {
 public:
  BowlRisk(std::unique_ptr<TuplePolicy> policy, const Bowl& bowl, double unit)
      : SameRisk(std::move(policy), ClippedTerm(10), unit), bowl_(bowl) {}
  const Objective* objective() const override { return &bowl_; }

 private:
  Bowl bowl_;
};

// The minimum of ‖w - c‖² / κ + μ ‖w‖² is c / (1 + κ μ).
TEST(GridRiskTest, BatchMinimisesTheObjectiveOfARiskInItsUnit) {
  const std::vector<BanditTuple> tuples = RandomTuples(kSelections, 50, 3);
  const Eigen::VectorXd centre = Eigen::Vector4d(1, -2, 3, 0.5);
  LinearTuplePolicy policy = *LinearTuplePolicy::Create(kSelections, tuples);
  BowlRisk risk(std::make_unique<LinearTuplePolicy>(
                    *LinearTuplePolicy::Create(kSelections, tuples)),
                Bowl(centre), 4);
  CounterfactualRun run{
      .options = ShortOptions(PoemOptions::CRM, PoemOptions::BATCH),
      .clip = 10,
      .l2 = 0.5,
      .risk = &risk};
  run.options.mutable_lbfgs()->set_max_iterations(100);
  ASSERT_OK_AND_ASSIGN(const auto scaled,
                       TrainCounterfactual(&policy, nullptr, run));
  EXPECT_LT((scaled.parameters - centre / 3).norm(), 1e-3);
  run.options.set_scale_losses(false);
  ASSERT_OK_AND_ASSIGN(const auto plain,
                       TrainCounterfactual(&policy, nullptr, run));
  EXPECT_LT((plain.parameters - centre / 1.5).norm(), 1e-3);
}

TEST(GridRiskTest, DataWithoutARiskAreTold) {
  const std::vector<BanditTuple> tuples = RandomTuples(kSelections, 50, 4);
  for (const auto objective : {PoemOptions::CRM, PoemOptions::DOUBLY_ROBUST}) {
    const LinearGridData data(kSelections, tuples, tuples, objective);
    GridTask task{.data = &data,
                  .options = ShortOptions(objective, PoemOptions::BATCH)};
    task.options.set_rank_weights(PoemOptions::PREFIXES);
    EXPECT_THAT(TrainGrid(task),
                IsInvalidArgument("rank_weights is PREFIXES, must be ORDER "
                                  "for data without rewards by rank"));
  }
  const LinearGridData data(kSelections, tuples, tuples, PoemOptions::EXPOSURE);
  GridTask task{
      .data = &data,
      .options = ShortOptions(PoemOptions::EXPOSURE, PoemOptions::BATCH)};
  task.options.add_examination(1);
  EXPECT_THAT(TrainGrid(task),
              IsInvalidArgument("objective is EXPOSURE, must be another"));
}

// The steps are too small to leave the start.
TEST(GridPriorTest, PointsAlsoStartFromThePrior) {
  const std::vector<BanditTuple> tuples = RandomTuples(kSelections, 50, 5);
  const LinearGridData data(kSelections, tuples, tuples, PoemOptions::IPS);
  GridTask task{
      .data = &data,
      .options = ShortOptions(PoemOptions::IPS, PoemOptions::STOCHASTIC),
      .prior = Eigen::Vector4d(1, 2, 3, 4)};
  task.options.mutable_adagrad()->set_step_size(1e-9);
  const auto starts = [&task](PoemOptions::Start start, bool has_parent) {
    task.options.set_start(start);
    task.parent_start = has_parent ? Eigen::VectorXd(Eigen::Vector4d::Ones())
                                   : Eigen::VectorXd();
    const GridOutcome outcome = *TrainGrid(task);
    std::vector<std::string> names;
    for (const auto& point : outcome.points) names.push_back(point.start());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(starts(PoemOptions::ZERO, true), (Names{"parent", "zero"}));
  EXPECT_EQ(starts(PoemOptions::PARENT, true),
            (Names{"parent", "parent", "prior"}));
  EXPECT_EQ(starts(PoemOptions::BOTH, true),
            (Names{"parent", "zero", "parent", "prior"}));
  EXPECT_EQ(starts(PoemOptions::BOTH, false), (Names{"zero", "prior"}));
  EXPECT_EQ(starts(PoemOptions::PARENT, false), (Names{"prior"}));
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_LT((outcome.parameters - task.prior).norm(), 1e-6);
}

// A pull that nothing outweighs leads to w₀: the prior, or without one the
// parent.
TEST(GridPriorTest, ProximalPullsToThePriorOrElseToTheParent) {
  const std::vector<BanditTuple> tuples = RandomTuples(kSelections, 50, 6);
  const LinearGridData data(kSelections, tuples, tuples, PoemOptions::IPS);
  GridTask task{.data = &data,
                .options = ShortOptions(PoemOptions::IPS, PoemOptions::BATCH),
                .parent_start = Eigen::Vector4d(0.1, 0.2, 0.3, 0.4)};
  task.options.set_penalty(PoemOptions::PROXIMAL);
  task.options.set_start(PoemOptions::ZERO);
  task.options.mutable_lbfgs()->set_max_iterations(100);
  task.options.add_prior_decisions(1e9);
  const auto learned = [&task] {
    const GridOutcome outcome = *TrainGrid(task);
    EXPECT_EQ(outcome.points.size(), 2);
    EXPECT_EQ(outcome.points[1].l2(), 1e9 / 50);
    EXPECT_EQ(outcome.points[0].termination(), kNotTrained);
    return outcome.points[1].validation_reward();
  };
  const auto reward_at = [&](const Eigen::VectorXd& point) {
    GridTask there = task;
    there.parent_start = point;
    return TrainGrid(there)->points[0].validation_reward();
  };
  EXPECT_NEAR(learned(), reward_at(task.parent_start), 1e-6);
  task.prior = Eigen::Vector4d(-1, 2, -1, 1);
  EXPECT_NEAR(learned(), reward_at(task.prior), 1e-6);
  EXPECT_GT(std::abs(learned() - reward_at(task.parent_start)), 1e-3);
}

}  // namespace
}  // namespace sortition
