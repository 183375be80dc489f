#include "core/learners/classes/multiclass.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/learners/classes/linear_svm.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/classes/multiclass_learner.h"
#include "core/learners/labelled/label_accuracy.h"
#include "core/learners/learners.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/classes.pb.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::MulticlassOptions;

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
              IsInvalidArgument("labels[6] is 2, must be below 2"));
  EXPECT_THAT(
      TrainHinge(example.view(), {.costs = Eigen::MatrixXd::Ones(3, 3)}, 1),
      IsInvalidArgument("costs(0, 0) is 1, must be 0"));
  EXPECT_THAT(
      OneAgainstAll({example.features, example.labels, 3, 3}, Svm(3, 1)),
      IsInvalidArgument("20 feature values, must be 10 labels"));
}

MulticlassOptions MulticlassOptionsOf(
    MulticlassOptions::Method method,
    std::optional<MulticlassOptions::Binary> binary = std::nullopt) {
  MulticlassOptions options;
  options.set_method(method);
  if (binary.has_value()) options.set_binary(*binary);
  return options;
}

// Options of every method.
std::vector<MulticlassOptions> AllMethods() {
  return {MulticlassOptionsOf(MulticlassOptions::HINGE),
          MulticlassOptionsOf(MulticlassOptions::ONE_AGAINST_ALL,
                              MulticlassOptions::LOGISTIC),
          MulticlassOptionsOf(MulticlassOptions::ONE_AGAINST_ALL,
                              MulticlassOptions::SVM),
          MulticlassOptionsOf(MulticlassOptions::ALL_PAIRS,
                              MulticlassOptions::LOGISTIC),
          MulticlassOptionsOf(MulticlassOptions::ALL_PAIRS,
                              MulticlassOptions::SVM)};
}

std::string NameOf(const MulticlassOptions& options) {
  return MulticlassOptions::Method_Name(options.method()) +
         (options.has_binary()
              ? " " + MulticlassOptions::Binary_Name(options.binary())
              : "");
}

absl::StatusOr<LabelledResult> Learn(const MulticlassOptions& options,
                                     const TestQueries& training,
                                     const TestQueries& validation,
                                     uint32_t num_classes) {
  const auto learner = MakeMulticlassLearner(
      options, {.num_features = training.views()[0].items.num_features(),
                .max_relevance = num_classes - 1});
  if (!learner.ok()) return learner.status();
  return (*learner)->Train(
      {.training = training.views(), .validation = validation.views()});
}

// The mean over queries of the share of items whose most probable class is
// right.
double Accuracy(const std::vector<double>& weights,
                const TestQueries& queries) {
  model::v1::Policy policy;
  policy.mutable_softmax_selection();
  policy.set_inverse_temperature(1);
  double sum = 0;
  for (const LabelledItems& query : queries.views()) {
    const auto labels =
        MostProbableLabels(policy, weights, query.items).value();
    sum += EvaluateAction({.kind = LabelMeasure::Kind::kAccuracy},
                          query.relevances, labels);
  }
  return sum / static_cast<double>(queries.views().size());
}

// Example 17.1: x1 = (-1, 1) and x3 = (1, 1) with probability 0.4, x2 = (0, 1)
// with 0.2. Whether they are in one query or in two must not matter.
TestQueries Example171() {
  TestQueries queries;
  queries.Add({-1, 1, 0, 1, 1, 1, -1, 1, 1, 1}, {0, 1, 2, 0, 2});
  queries.Add({-1, 1, 1, 1, -1, 1, 0, 1, 1, 1}, {0, 2, 0, 1, 2});
  return queries;
}

// One class lies between the others: the lecture's 0.2 of errors.
TEST(MulticlassLearnerTest, OneAgainstAllFailsOnExample171) {
  const TestQueries queries = Example171();
  for (MulticlassOptions options : AllMethods()) {
    options.add_lambda(1e-3);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Learn(options, queries, queries, 3));
    const double expected =
        options.method() == MulticlassOptions::ONE_AGAINST_ALL &&
                options.binary() == MulticlassOptions::SVM
            ? 0.8
            : 1;
    if (options.method() == MulticlassOptions::ONE_AGAINST_ALL &&
        options.binary() == MulticlassOptions::LOGISTIC) {
      continue;  // May separate the classes.
    }
    EXPECT_NEAR(result.points[0].validation, expected, 1e-12)
        << NameOf(options);
    EXPECT_NEAR(Accuracy(result.weights, queries), expected, 1e-12);
  }
}

// Three items on the axes, one of each class. With a large λ each binary
// learner and the hinge keep all examples within the margin, and the minimum is
// known. One against all for class l: w = (1/λn) Σ y_i x_i, n = 3, of features
// that are divided by s_j. A feature v that one item of three has, has s² = 2
// v²/9, so that w_j = ±v / (λ n s²) = ±9 / (2 v λ n).
TEST(MulticlassLearnerTest, WeightsAreBlocksByClass) {
  TestQueries queries;
  queries.Add({1, 0, 0, 0, 2, 0, 0, 0, 4}, {0, 1, 2});
  MulticlassOptions options = MulticlassOptionsOf(
      MulticlassOptions::ONE_AGAINST_ALL, MulticlassOptions::SVM);
  options.add_lambda(100);
  options.mutable_one_slack()->set_gap_tolerance(1e-9);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Learn(options, queries, queries, 3));
  const double expected[] = {4.5,    -2.25, -1.125, -4.5, 2.25,
                             -1.125, -4.5,  -2.25,  1.125};
  ASSERT_EQ(result.weights.size(), 9);
  for (size_t j = 0; j < 9; ++j) {
    EXPECT_NEAR(result.weights[j], expected[j] / 300, 1e-8) << j;
  }
  // 1 - λ/2 ‖w‖² each, because w = Σ y_i x_i / (λ n) and all are in the margin;
  // scaled features are v/s = 3 / √2.
  EXPECT_NEAR(result.points[0].objective, 1 - 50 * 3 * 4.5 / 90000, 1e-8);
  options.set_method(MulticlassOptions::HINGE);
  options.clear_binary();
  ASSERT_OK_AND_ASSIGN(const LabelledResult hinge,
                       Learn(options, queries, queries, 3));
  EXPECT_EQ(hinge.weights.size(), 9);
  EXPECT_EQ(hinge.points[0].validation, 1);
}

// 1 of class 0 and -1 of class 1: both binary learners minimise λ/2 w² + log(1
// + exp(-w)), which is least where λ w = 1 / (1 + exp(w)): at w = log 2 for λ =
// 1 / (3 log 2). The mean, not the sum, counts beside λ, and there is no
// intercept.
TEST(MulticlassLearnerTest, LogisticByHand) {
  TestQueries queries;
  queries.Add({1, -1, 1, -1}, {0, 1, 0, 1});
  for (const auto method :
       {MulticlassOptions::ONE_AGAINST_ALL, MulticlassOptions::ALL_PAIRS}) {
    MulticlassOptions options =
        MulticlassOptionsOf(method, MulticlassOptions::LOGISTIC);
    const double log2 = std::log(2);
    options.add_lambda(1 / (3 * log2));
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Learn(options, queries, queries, 2));
    EXPECT_NEAR(result.weights[0], log2, 1e-9);
    EXPECT_NEAR(result.weights[1], -log2, 1e-9);
    EXPECT_NEAR(result.points[0].objective, log2 / 6 + std::log(1.5), 1e-9);
    EXPECT_EQ(result.points[0].termination, "all solved");
  }
}

// The objective and the bound of every point bracket the minimum, whatever the
// method.
TEST(MulticlassLearnerTest, EveryPointHasAGap) {
  const TestQueries training =
      RandomQueries({.num_queries = 40, .max_relevance = 3, .noise = 0.3}, 1);
  const TestQueries validation =
      RandomQueries({.num_queries = 40, .max_relevance = 3, .noise = 0.3}, 2);
  for (const MulticlassOptions& options : AllMethods()) {
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Learn(options, training, validation, 4));
    ASSERT_EQ(result.points.size(), 13);
    double best = 0;
    for (const LabelledPoint& point : result.points) {
      EXPECT_GE(point.objective, *point.dual_bound) << NameOf(options);
      // Coordinate steps of the SVM are slow if λ is small; the point says so.
      EXPECT_TRUE(point.objective - *point.dual_bound <= 1e-3 ||
                  (options.binary() == MulticlassOptions::SVM &&
                   point.termination.ends_with("not solved")))
          << NameOf(options);
      best = std::max(best, point.validation);
    }
    EXPECT_EQ(result.points[result.chosen].validation, best);
    EXPECT_NEAR(Accuracy(result.weights, validation), best, 1e-12);
    EXPECT_EQ(result.weights.size(), 4 * 3);
    // Far better than chance, although no line separates the classes: the
    // features have no constant.
    EXPECT_GT(best, 0.5) << NameOf(options);
  }
}

// Items (2, 0) of class 0 and (0, 1) of class 1 have weights of their own.
// Their features have standard deviations 1 and 1/2, so both are 2 in training.
// With u = w_0 - w_1 of the feature and w_0 = -w_1 = u/2, each adds λ/4 u² +
// 1/2 max(0, Δ - 2 u). Predicting 1 for 0 costs 3: u = 3/2 at λ = 1, J = 9/16.
// Predicting 0 for 1 costs 1: u = -1/2, J = 1/16, and u = -1 for the feature as
// it is.
TEST(MulticlassLearnerTest, CostsAreByRowsOfWhatIsSaid) {
  TestQueries queries;
  queries.Add({2, 0, 0, 1}, {0, 1});
  MulticlassOptions options = MulticlassOptionsOf(MulticlassOptions::HINGE);
  for (const double cost : {0, 1, 3, 0}) options.add_cost(cost);
  options.add_lambda(1);
  options.mutable_one_slack()->set_gap_tolerance(1e-10);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Learn(options, queries, queries, 2));
  EXPECT_NEAR(result.points[0].objective, 9.0 / 16 + 1.0 / 16, 1e-9);
  const double expected[] = {0.75, -0.5, -0.75, 0.5};
  for (size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(result.weights[j], expected[j], 1e-4) << j;
  }
}

TEST(MulticlassLearnerTest, PublishesASelectionAmongClasses) {
  ASSERT_OK_AND_ASSIGN(
      const auto learner,
      MakeMulticlassLearner(MulticlassOptions(),
                            {.num_features = 2, .max_relevance = 2}));
  EXPECT_EQ(learner->measure().Name(), "accuracy");
  EXPECT_EQ(learner->default_action(), ActionKind::kSelect);
  ASSERT_OK_AND_ASSIGN(const model::v1::Policy policy,
                       learner->MakePolicy({.action_kind = ActionKind::kSelect,
                                            .inverse_temperature = 4,
                                            .uniform_mixture = 0.1}));
  EXPECT_TRUE(policy.has_softmax_selection());
  EXPECT_FALSE(policy.softmax_selection().has_abstain_score());
  EXPECT_EQ(policy.inverse_temperature(), 4);
  EXPECT_EQ(policy.uniform_mixture(), 0.1);
  EXPECT_THAT(learner->MakePolicy({.action_kind = ActionKind::kRank}),
              IsInvalidArgument("action is rank, must be select"));
}

TEST(MulticlassLearnerTest, NamesWhatIsWrong) {
  ExpectRefusals(
      MulticlassOptionsOf(MulticlassOptions::HINGE),
      [](const MulticlassOptions& options) {
        return MakeMulticlassLearner(options,
                                     {.num_features = 2, .max_relevance = 2})
            .status();
      },
      {{"cost: 0", "multiclass.cost has 1 values, must have 9, 3 x 3"},
       {"cost: 0 method: ALL_PAIRS", "must be unset for method ALL_PAIRS"},
       {"binary: SVM", "multiclass.binary is set"},
       {"lambda: -1", "multiclass.lambda is -1"}});
  MulticlassOptions options = MulticlassOptionsOf(MulticlassOptions::HINGE);
  for (int l = 0; l < 9; ++l) options.add_cost(1);
  const TestQueries queries = Example171();
  EXPECT_THAT(Learn(options, queries, queries, 3),
              IsInvalidArgument("costs(0, 0) is 1, must be 0"));
  options.clear_cost();
  TestQueries alike;
  alike.Add({1, 2}, {1, 1});
  EXPECT_THAT(Learn(options, alike, queries, 2), IsInvalidArgument("features"));
  EXPECT_THAT(Learn(options, alike, alike, 2),
              IsFailedPrecondition("is of class 1: nothing tells"));
}

// Reads rows of 64 integers of 0 .. 16 and the digit, scaled to 1, with a
// constant. Each row is a query; `part` selects one of two parts by hash, 2
// selects all.
TestQueries ReadDigits(const std::string& path, int part) {
  TestQueries queries;
  std::ifstream file(path);
  std::string line;
  for (int number = 0; std::getline(file, line); ++number) {
    const Hash128 hash =
        StableHash(HashDomain::kSplit, {std::to_string(number)});
    if (part != 2 && (UnitInterval(hash) < 0.25) != (part == 1)) continue;
    std::istringstream fields(line);
    std::vector<float> row;
    for (std::string field; std::getline(fields, field, ',');) {
      row.push_back(std::stof(field) / 16);
    }
    const auto label = static_cast<uint32_t>(std::lround(16 * row.back()));
    row.back() = 1;
    queries.Add(row, {label});
  }
  return queries;
}

// Needs the directory SORTITION_OPTDIGITS with optdigits.tra and optdigits.tes.
TEST(HandwrittenDigitsTest, AreLearned) {
  const char* path = std::getenv("SORTITION_OPTDIGITS");
  if (path == nullptr) {
    GTEST_SKIP() << "skipped: SORTITION_OPTDIGITS is unset; "
                    "SORTITION_OPTDIGITS=DIRECTORY ./dev test --long";
  }
  const std::string directory = path;
  const TestQueries training = ReadDigits(directory + "/optdigits.tra", 0);
  const TestQueries validation = ReadDigits(directory + "/optdigits.tra", 1);
  const TestQueries test = ReadDigits(directory + "/optdigits.tes", 2);
  ASSERT_EQ(training.views().size() + validation.views().size(), 3823);
  ASSERT_EQ(test.views().size(), 1797);
  for (MulticlassOptions options : AllMethods()) {
    for (const double lambda : {3e-2, 3e-3, 3e-4}) options.add_lambda(lambda);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Learn(options, training, validation, 10));
    const double accuracy = Accuracy(result.weights, test);
    const LabelledPoint& chosen = result.points[result.chosen];
    std::cout << NameOf(options) << ": accuracy " << accuracy << ", validation "
              << chosen.validation << ", lambda " << chosen.lambda << ", "
              << chosen.termination << "\n";
    // The sum of the pairs' scores, which is linear, includes pairs that know
    // nothing about the item: fewer predictions are right than by votes.
    const bool pairs = options.method() == MulticlassOptions::ALL_PAIRS;
    EXPECT_GT(accuracy, pairs ? 0.87 : 0.94) << NameOf(options);
  }
}

}  // namespace
}  // namespace sortition
