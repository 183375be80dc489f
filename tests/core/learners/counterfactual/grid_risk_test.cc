// Risks that data bring along, and priors, in the grid.
#include "core/learners/counterfactual/grid_risk.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using testing::HasSubstr;

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
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("rank_weights is PREFIXES, must be ORDER "
                                   "for data without rewards by rank")));
  }
  const LinearGridData data(kSelections, tuples, tuples, PoemOptions::EXPOSURE);
  GridTask task{
      .data = &data,
      .options = ShortOptions(PoemOptions::EXPOSURE, PoemOptions::BATCH)};
  task.options.add_examination(1);
  EXPECT_THAT(TrainGrid(task),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("objective is EXPOSURE, must be another")));
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
