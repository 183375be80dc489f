// The laws of all learners of labelled queries, through their interface.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/learners/learners.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

// Three items each, whose relevances 2, 1 and 0 follow a score and noise: some
// learners want labels without ties.
TestQueries OrderedQueries(uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  TestQueries queries;
  for (int query = 0; query < 20; ++query) {
    std::vector<float> features(9);
    for (float& x : features) x = static_cast<float>(random.Normal());
    std::vector<double> scores(3);
    for (size_t i = 0; i < 3; ++i) {
      scores[i] = features[3 * i] - features[3 * i + 1] + random.Normal();
    }
    std::vector<uint32_t> relevances(3);
    for (size_t i = 0; i < 3; ++i) {
      for (const double other : scores) relevances[i] += scores[i] > other;
    }
    queries.Add(features, relevances);
  }
  return queries;
}

class EveryLabelledLearnerTest : public testing::TestWithParam<LearnerInfo> {
 protected:
  std::unique_ptr<LabelledLearner> Learner() const {
    return *GetParam().make_labelled(config::v1::TrainOptions(), kShape);
  }

  const TestQueries training_ = OrderedQueries(1);
  const TestQueries validation_ = OrderedQueries(2);
  const TrustedOrders trusted_ =
      TrustedOf(training_, OrdersBy(training_, {1, 1, 0.2}), TrustedKinds()[0]);
  LabelledTask task_{.training = training_.views(),
                     .validation = validation_.views()};
};

std::vector<LearnerInfo> LabelledLearners() {
  std::vector<LearnerInfo> learners;
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.make_labelled != nullptr) learners.push_back(learner);
  }
  return learners;
}

INSTANTIATE_TEST_SUITE_P(All, EveryLabelledLearnerTest,
                         testing::ValuesIn(LabelledLearners()),
                         [](const auto& instance) {
                           return std::string(instance.param.name);
                         });

// The same bits again, also if the parts of the work are done in another order,
// as by several threads.
TEST_P(EveryLabelledLearnerTest, TheOrderOfWorkChangesNoBit) {
  const auto learner = Learner();
  if (learner->trusts_orders()) {
    task_.trusted_orders = &trusted_;
    task_.trusted_weights = {0, 1};
  }
  const auto one = learner->Train(task_);
  task_.parallel_for = [](size_t count, const auto& body) {
    for (size_t i = count; i-- > 0;) body(i);
  };
  const auto two = learner->Train(task_);
  ASSERT_EQ(one.status(), two.status());
  // Trees are trained by a library that is not here.
  ASSERT_EQ(one.ok(), GetParam().name != "trees") << one.status();
  if (!one.ok()) return;
  EXPECT_EQ(one->weights, two->weights);
  EXPECT_EQ(one->transitions, two->transitions);
  EXPECT_EQ(one->chosen, two->chosen);
  ASSERT_EQ(one->points.size(), two->points.size());
  EXPECT_GE(one->points.size(), learner->num_points());
  for (size_t i = 0; i < one->points.size(); ++i) {
    const LabelledPoint& a = one->points[i];
    const LabelledPoint& b = two->points[i];
    EXPECT_EQ(a.objective, b.objective) << i;
    EXPECT_EQ(a.dual_bound, b.dual_bound) << i;
    EXPECT_EQ(a.validation, b.validation) << i;
  }
}

// Returns the queries with feature 1 multiplied by `factor`.
TestQueries Rescaled(const TestQueries& queries, float factor) {
  TestQueries scaled;
  for (const LabelledItems& query : queries.views()) {
    const auto values = query.items.values();
    std::vector<float> features(values.begin(), values.end());
    for (size_t i = 1; i < features.size(); i += kShape.num_features) {
      features[i] *= factor;
    }
    scaled.Add(features, {query.relevances.begin(), query.relevances.end()});
  }
  return scaled;
}

// The unit of a feature does not matter: its weight is for the new unit, and
// everything else is as before. Not to the bit, because features are floats.
TEST_P(EveryLabelledLearnerTest, TheUnitOfAFeatureDoesNotMatter) {
  constexpr float kFactor = 1000;
  const auto learner = Learner();
  const TestQueries training = Rescaled(training_, kFactor);
  const TestQueries validation = Rescaled(validation_, kFactor);
  const TrustedOrders trusted =
      trusted_.Over(std::span<const LabelledItems>(training.views()));
  LabelledTask rescaled{.training = training.views(),
                        .validation = validation.views()};
  if (learner->trusts_orders()) {
    task_.trusted_orders = &trusted_;
    rescaled.trusted_orders = &trusted;
    task_.trusted_weights = rescaled.trusted_weights = {0, 1};
  }
  const auto one = learner->Train(task_);
  // Trees are trained by a library that is not here, and have no unit.
  ASSERT_EQ(one.ok(), GetParam().name != "trees") << one.status();
  if (!one.ok()) return;
  ASSERT_OK_AND_ASSIGN(const LabelledResult two, learner->Train(rescaled));
  ASSERT_EQ(one->points.size(), two.points.size());
  for (size_t i = 0; i < two.points.size(); ++i) {
    EXPECT_NEAR(one->points[i].validation, two.points[i].validation, 1e-2);
  }
  // The validation of games is flat in λ, and rounding chooses.
  if (GetParam().name == "mpg") return;
  ASSERT_EQ(one->chosen, two.chosen);
  ASSERT_EQ(one->weights.size(), two.weights.size());
  // In a chain, the weights of a feature for all labels follow each other.
  const size_t consecutive =
      GetParam().name == "chain" ? kShape.max_relevance + 1 : 1;
  double largest = 0;
  for (const double weight : one->weights) {
    largest = std::max(largest, std::abs(weight));
  }
  for (size_t i = 0; i < two.weights.size(); ++i) {
    const bool scaled = i / consecutive % kShape.num_features == 1;
    EXPECT_NEAR(one->weights[i], two.weights[i] * (scaled ? kFactor : 1),
                1e-2 * largest);
  }
}

TEST_P(EveryLabelledLearnerTest, NamesDataThatItCannotLearnFrom) {
  const auto learner = Learner();
  LabelledTask task = task_;
  task.training = {};
  const absl::Status none = learner->Train(task).status();
  EXPECT_THAT(none,
              testing::AnyOf(IsInvalidArgument(), IsFailedPrecondition()));
  EXPECT_THAT(std::string(none.message()), HasTexts(" 0 ", "queries"));
  task = task_;
  task.validation = {};
  EXPECT_THAT(learner->Train(task), IsInvalidArgument("0 queries"));
  TestQueries bad;
  bad.Add({1, 2, 3}, {1});
  bad.Add({1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6}, {0, 1});
  task.training = bad.views();
  task.validation = validation_.views();
  EXPECT_THAT(learner->Train(task),
              IsInvalidArgument("query 1: ", "is nan, must be finite"));
  TestQueries narrow;
  narrow.Add({1, 2}, {0, 1});
  task = task_;
  task.validation = narrow.views();
  EXPECT_THAT(learner->Train(task), IsInvalidArgument("1 features", "3"));
}

}  // namespace
}  // namespace sortition
