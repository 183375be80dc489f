#include "core/learners/classes/multiclass.h"

#include <cmath>
#include <random>

#include "core/learners/classes/linear_svm.h"
#include "core/learners/classes/logistic.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

BinaryLearner Svm(uint32_t num_features, double lambda) {
  return
      [=](std::span<const float> features,
          std::span<const uint8_t> labels) -> absl::StatusOr<Eigen::VectorXd> {
        const auto result =
            TrainLinearSvm({features, labels, num_features},
                           {.lambda = lambda, .gap_tolerance = 1e-8});
        if (!result.ok()) return result.status();
        return Eigen::Map<const Eigen::VectorXd>(
            result->weights.data(),
            static_cast<Eigen::Index>(result->weights.size()));
      };
}

absl::StatusOr<MulticlassResult> TrainHinge(const MulticlassData& data,
                                            const MulticlassHinge& options,
                                            double lambda) {
  auto trainer = MulticlassHingeTrainer::Create(data, options);
  if (!trainer.ok()) return trainer.status();
  return (*trainer)->Train(lambda);
}

// Example 17.1: x1 = (-1, 1) and x3 = (1, 1) with probability 0.4, x2 = (0, 1)
// with 0.2, x_i of label i.
struct Example171Rows {
  std::vector<float> features;
  std::vector<uint32_t> labels;

  Example171Rows() {
    const int counts[] = {4, 2, 4};
    for (uint32_t label = 0; label < 3; ++label) {
      for (int i = 0; i < counts[label]; ++i) {
        features.push_back(static_cast<float>(label) - 1);
        features.push_back(1);
        labels.push_back(label);
      }
    }
  }
  MulticlassData view() const { return {features, labels, 2, 3}; }
  double Errors(const MulticlassModel& model) const {
    double errors = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      errors += model.Predict({features.data() + 2 * i, 2}) != labels[i];
    }
    return errors / static_cast<double>(labels.size());
  }
};

TEST(MulticlassTest, OneAgainstAllFailsWhereTheHingeDoesNot) {
  const Example171Rows example;
  ASSERT_OK_AND_ASSIGN(const MulticlassModel one_against_all,
                       OneAgainstAll(example.view(), Svm(2, 1)));
  EXPECT_EQ(example.Errors(one_against_all), 0.2);
  ASSERT_OK_AND_ASSIGN(const MulticlassResult hinge,
                       TrainHinge(example.view(), {}, 1e-3));
  EXPECT_EQ(example.Errors(hinge.model), 0);
  ASSERT_OK_AND_ASSIGN(const MulticlassModel pairs,
                       AllPairs(example.view(), Svm(2, 1e-2)));
  EXPECT_EQ(example.Errors(pairs), 0);
}

// All pairs and one against all work with any binary learner.
TEST(MulticlassTest, ReductionsTakeOtherLearners) {
  const Example171Rows example;
  const BinaryLearner logistic =
      [](std::span<const float> features,
         std::span<const uint8_t> labels) -> absl::StatusOr<Eigen::VectorXd> {
    config::v1::LogisticOptions options;
    options.set_l2(0.01);
    const auto result = FitLogistic({features, labels, 2}, options);
    if (!result.ok()) return result.status();
    Eigen::VectorXd weights =
        Eigen::Map<const Eigen::VectorXd>(result->weights.data(), 2);
    weights(1) += result->intercept;  // The second feature is 1.
    return weights;
  };
  ASSERT_OK_AND_ASSIGN(const MulticlassModel pairs,
                       AllPairs(example.view(), logistic));
  EXPECT_EQ(example.Errors(pairs), 0);
}

double Objective(const MulticlassData& data, const Eigen::MatrixXd& costs,
                 double lambda, const Eigen::MatrixXd& weights) {
  double hinge = 0;
  for (size_t i = 0; i < data.labels.size(); ++i) {
    Eigen::VectorXd x(data.num_features);
    for (uint32_t j = 0; j < data.num_features; ++j) {
      x(j) = data.features[i * data.num_features + j];
    }
    const Eigen::VectorXd scores = weights * x;
    double most = -HUGE_VAL;
    for (Eigen::Index l = 0; l < scores.size(); ++l) {
      most = std::max(
          most, costs(l, data.labels[i]) + scores(l) - scores(data.labels[i]));
    }
    hinge += most;
  }
  return lambda / 2 * weights.squaredNorm() +
         hinge / static_cast<double>(data.labels.size());
}

TEST(MulticlassTest, HingeIsAtItsMinimum) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<float> features(40 * 3);
    std::vector<uint32_t> labels(40);
    for (float& feature : features)
      feature = static_cast<float>(normal(random));
    for (uint32_t& label : labels) label = static_cast<uint32_t>(random() % 4);
    const MulticlassData data = {features, labels, 3, 4};
    MulticlassHinge options;
    options.one_slack.set_gap_tolerance(1e-6);
    options.costs = Eigen::MatrixXd::Zero(4, 4).unaryExpr(
        [&](double) { return static_cast<double>(random() % 3); });
    options.costs.diagonal().setZero();
    ASSERT_OK_AND_ASSIGN(const MulticlassResult result,
                         TrainHinge(data, options, 0.1));
    EXPECT_LE(result.descent.gap(), 1e-6);
    EXPECT_NEAR(Objective(data, options.costs, 0.1, result.model.weights),
                result.descent.objective, 1e-9);
    for (int other = 0; other < 100; ++other) {
      const Eigen::MatrixXd moved =
          result.model.weights +
          Eigen::MatrixXd::Zero(4, 3).unaryExpr(
              [&](double) { return 0.1 * normal(random); });
      EXPECT_GE(Objective(data, options.costs, 0.1, moved),
                result.descent.dual_bound - 1e-9);
    }
  }
}

// Starting from the last λ and its planes finds the same minimum as a cold
// start.
TEST(MulticlassTest, AStartChangesNoMinimum) {
  const Example171Rows example;
  MulticlassHinge options;
  options.one_slack.set_gap_tolerance(1e-7);
  ASSERT_OK_AND_ASSIGN(const auto trainer,
                       MulticlassHingeTrainer::Create(example.view(), options));
  uint32_t steps = 0;
  for (const double lambda : {1.0, 0.1, 0.01}) {
    steps = 0;
    ASSERT_OK_AND_ASSIGN(const MulticlassResult warm,
                         trainer->Train(lambda, [&steps] { ++steps; }));
    EXPECT_EQ(steps, warm.descent.evaluations);
    ASSERT_OK_AND_ASSIGN(const MulticlassResult cold,
                         TrainHinge(example.view(), options, lambda));
    EXPECT_NEAR(warm.descent.objective, cold.descent.objective, 2e-7);
  }
}

// 10,000 examples at the first points of the descent, with costs and features
// that are multiples of 1/2, so that labels tie. No maximum is above its own
// value, so one that is not the largest would show in the mean.
TEST(MulticlassTest, LossAugmentedLabelsEqualEnumeration) {
  std::mt19937_64 random(2);
  const auto half = [&] { return static_cast<double>(random() % 7) / 2 - 1.5; };
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<float> features(50 * 2);
    std::vector<uint32_t> labels(50);
    for (float& feature : features) feature = static_cast<float>(half());
    for (uint32_t& label : labels) label = static_cast<uint32_t>(random() % 4);
    MulticlassHinge options;
    options.one_slack.set_max_iterations(1 + static_cast<uint32_t>(repeat % 4));
    options.costs = Eigen::MatrixXd::Zero(4, 4).unaryExpr(
        [&](double) { return std::abs(half()); });
    options.costs.diagonal().setZero();
    const MulticlassData data = {features, labels, 2, 4};
    ASSERT_OK_AND_ASSIGN(const MulticlassResult result,
                         TrainHinge(data, options, 0.25));
    ASSERT_NEAR(Objective(data, options.costs, 0.25, result.model.weights),
                result.descent.objective, 1e-12);
  }
}

TEST(MulticlassTest, NamesWhatIsWrong) {
  const Example171Rows example;
  MulticlassData data = example.view();
  data.num_labels = 2;
  EXPECT_THAT(TrainHinge(data, {}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("labels[6] is 2, must be below 2")));
  EXPECT_THAT(
      TrainHinge(example.view(), {.costs = Eigen::MatrixXd::Ones(3, 3)}, 1),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("costs(0, 0) is 1, must be 0")));
  EXPECT_THAT(
      OneAgainstAll({example.features, example.labels, 3, 3}, Svm(3, 1)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("20 feature values, must be 10 labels")));
}

}  // namespace
}  // namespace sortition
