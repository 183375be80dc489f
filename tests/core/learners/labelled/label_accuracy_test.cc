#include "core/learners/labelled/label_accuracy.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/data/joint_features.h"
#include "core/learners/labelled/label_measure.h"
#include "core/policies/linear_policy.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;

using Weights = std::vector<double>;

model::v1::Policy SelectionAt(double alpha, double epsilon) {
  model::v1::Policy policy;
  policy.mutable_softmax_selection();
  policy.set_inverse_temperature(alpha);
  policy.set_uniform_mixture(epsilon);
  return policy;
}

model::v1::Policy Chain(uint32_t num_labels, const Weights& transitions,
                        double alpha = 1) {
  model::v1::Policy policy;
  policy.mutable_label_chain()->set_num_labels(num_labels);
  policy.mutable_label_chain()->mutable_transitions()->Add(transitions.begin(),
                                                           transitions.end());
  policy.set_inverse_temperature(alpha);
  return policy;
}

// Items with one feature, 1 by default.
struct Items {
  std::vector<float> features;
  std::vector<uint32_t> labels;
  uint32_t num_features = 1;

  explicit Items(std::vector<uint32_t> of_items)
      : features(of_items.size(), 1), labels(std::move(of_items)) {}
  Items(std::vector<float> values, std::vector<uint32_t> of_items, uint32_t d)
      : features(std::move(values)),
        labels(std::move(of_items)),
        num_features(d) {}
  LabelledItems view() const {
    return {Candidates::DenseUnchecked(features, num_features), labels};
  }
};

double Expected(const model::v1::Policy& policy, const Weights& weights,
                const Items& items) {
  return LabelFiguresOf(policy, weights, items.view()).value().expected;
}

// Scores 0 and log 3: p = (1/4, 3/4); with ε = 0.2, 0.8 p + 0.1 = (0.3, 0.7);
// with α = 2 the odds are 9.
TEST(LabelAccuracyTest, SelectionByHand) {
  const Weights weights = {0, std::log(3)};
  EXPECT_NEAR(Expected(SelectionAt(1, 0), weights, Items({1})), 0.75, 1e-15);
  EXPECT_NEAR(Expected(SelectionAt(1, 0.2), weights, Items({0})), 0.3, 1e-15);
  EXPECT_NEAR(Expected(SelectionAt(1, 0.2), weights, Items({1, 1, 0, 1})),
              (3 * 0.7 + 0.3) / 4, 1e-15);
  EXPECT_NEAR(Expected(SelectionAt(2, 0), weights, Items({1})), 0.9, 1e-15);
  // The second label is unknown to the policy.
  EXPECT_NEAR(Expected(SelectionAt(1, 0), weights, Items({1, 2})), 0.375,
              1e-15);
}

// Abstaining with score log 4 beside odds 1 and 3: p = (1/8, 3/8), and uniform
// over three actions.
TEST(LabelAccuracyTest, AbstainingIsWrong) {
  model::v1::Policy policy = SelectionAt(1, 0.3);
  policy.mutable_softmax_selection()->set_abstain_score(std::log(4));
  const Weights weights = {0, std::log(3)};
  EXPECT_NEAR(Expected(policy, weights, Items({1})), 0.7 * 3 / 8 + 0.1, 1e-15);
  ASSERT_OK_AND_ASSIGN(
      const auto labels,
      MostProbableLabels(policy, weights, Items({1}).view().items));
  EXPECT_THAT(labels, ElementsAre(kAbstain));
  EXPECT_EQ(EvaluateAction({.kind = LabelMeasure::Kind::kAccuracy},
                           std::vector<uint32_t>{1}, labels),
            0);
}

// The accuracy is that of the served policy over the joint features.
TEST(LabelAccuracyTest, IsThatOfTheServedPolicy) {
  RandomSequence random(SeedKey(1));
  constexpr uint32_t kFeatures = 3;
  constexpr uint32_t kClasses = 4;
  for (int repeat = 0; repeat < 50; ++repeat) {
    Weights weights(kFeatures * kClasses);
    for (double& weight : weights) weight = 3 * random.Normal();
    std::vector<float> features(2 * kFeatures);
    for (float& x : features) x = static_cast<float>(random.Normal());
    const Items items(features,
                      {static_cast<uint32_t>(random.Below(kClasses)),
                       static_cast<uint32_t>(random.Below(kClasses))},
                      kFeatures);
    model::v1::Policy policy = SelectionAt(0.5 + random.Uniform(), 0.1);
    if (repeat % 2 == 0) {
      policy.mutable_softmax_selection()->set_abstain_score(random.Normal());
    }
    ASSERT_OK_AND_ASSIGN(const LinearPolicy served,
                         LinearPolicy::Create(policy, weights));
    double expected = 0;
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_OK_AND_ASSIGN(
          const JointFeatures joint,
          MultiVectorFeatures(
              std::span(features).subspan(i * kFeatures, kFeatures), kClasses));
      PolicyQuery query;
      query.candidates = joint.View();
      expected +=
          served.FirstProbabilities(query, nullptr)[items.labels[i]] / 2;
    }
    ASSERT_NEAR(Expected(policy, weights, items), expected, 1e-14);
  }
}

TEST(LabelAccuracyTest, ChainEqualsEnumeration) {
  RandomSequence random(SeedKey(2));
  constexpr uint32_t kFeatures = 2;
  constexpr uint32_t kLabels = 3;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto normal = [&](size_t n) {
      Weights values(n);
      for (double& value : values) value = random.Normal();
      return values;
    };
    const Weights weights = normal(kFeatures * kLabels);
    const Weights transitions = normal(kLabels * kLabels);
    const Weights x = normal(3 * kFeatures);
    std::vector<uint32_t> truth;
    for (int i = 0; i < 3; ++i) {
      truth.push_back(static_cast<uint32_t>(random.Below(kLabels)));
    }
    const double alpha = 0.5 + random.Uniform();
    const Items items({x.begin(), x.end()}, truth, kFeatures);
    double total = 0;
    double right = 0;
    for (uint32_t code = 0; code < 27; ++code) {
      const uint32_t y[] = {code % 3, code / 3 % 3, code / 9};
      double score =
          transitions[y[0] * 3 + y[1]] + transitions[y[1] * 3 + y[2]];
      double share = 0;
      for (size_t j = 0; j < 3; ++j) {
        for (size_t f = 0; f < kFeatures; ++f) {
          score += weights[f * kLabels + y[j]] *
                   static_cast<double>(items.features[j * kFeatures + f]);
        }
        share += y[j] == truth[j] ? 1.0 / 3 : 0;
      }
      total += std::exp(alpha * score);
      right += share * std::exp(alpha * score);
    }
    ASSERT_NEAR(Expected(Chain(kLabels, transitions, alpha), weights, items),
                right / total, 1e-13);
  }
}

// Each item alone slightly prefers 0, but 0 after 0 costs more than a 1 gains:
// 0 1 0.
TEST(LabelAccuracyTest, MostProbableLabelsOfAChainLookAtTransitions) {
  const Items items({0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto labels,
                       MostProbableLabels(Chain(2, {-2, 0, 0, -2}),
                                          Weights{0.5, 0}, items.view().items));
  EXPECT_THAT(labels, ElementsAre(0, 1, 0));
  ASSERT_OK_AND_ASSIGN(
      const auto without,
      MostProbableLabels(Chain(2, {}), Weights{0.5, 0}, items.view().items));
  EXPECT_THAT(without, ElementsAre(0, 0, 0));
  // weights[j q + l] of feature j.
  const Items two({1, 0, 0, 1}, {0, 0}, 2);
  ASSERT_OK_AND_ASSIGN(
      const auto by_feature,
      MostProbableLabels(Chain(3, {}), Weights{0, 0, 1, 0, 1, 0},
                         two.view().items));
  EXPECT_THAT(by_feature, ElementsAre(2, 1));
}

// Odds 1 and 3 of two labels; the second item's label is unknown.
TEST(LabelAccuracyTest, OtherFiguresByHand) {
  const Weights weights = {0, std::log(3)};
  const double entropy = -0.25 * std::log(0.25) - 0.75 * std::log(0.75);
  for (const auto& policy : {SelectionAt(1, 0), Chain(2, {0, 0, 0, 0})}) {
    ASSERT_OK_AND_ASSIGN(
        const LabelFigures figures,
        LabelFiguresOf(policy, weights, Items({1, 2, 0, 1}).view()));
    EXPECT_NEAR(figures.expected, (0.75 + 0 + 0.25 + 0.75) / 4, 1e-15);
    EXPECT_EQ(figures.by_score, 0.5);
    EXPECT_EQ(figures.by_chance, 0.375);
    EXPECT_NEAR(figures.entropy, entropy, 1e-15);
  }
  // One of three actions is abstaining; p = (1/8, 3/8, 1/2).
  model::v1::Policy policy = SelectionAt(1, 0);
  policy.mutable_softmax_selection()->set_abstain_score(std::log(4));
  ASSERT_OK_AND_ASSIGN(const LabelFigures figures,
                       LabelFiguresOf(policy, weights, Items({1}).view()));
  EXPECT_EQ(figures.by_score, 0);
  EXPECT_NEAR(figures.by_chance, 1.0 / 3, 1e-15);
  EXPECT_NEAR(figures.entropy,
              std::log(8) / 8 - 3.0 / 8 * std::log(3.0 / 8) + std::log(2) / 2,
              1e-15);
}

TEST(LabelAccuracyTest, OfEqualClassesTheLowestIsTaken) {
  ASSERT_OK_AND_ASSIGN(const auto labels,
                       MostProbableLabels(SelectionAt(1, 0), Weights{1, 2, 2},
                                          Items({0}).view().items));
  EXPECT_THAT(labels, ElementsAre(1));
}

TEST(LabelAccuracyTest, NamesWhatIsWrong) {
  const auto error = [](const model::v1::Policy& policy,
                        const Weights& weights) {
    return LabelFiguresOf(policy, weights, Items({0.F, 1.F}, {0}, 2).view());
  };
  model::v1::Policy order;
  order.set_inverse_temperature(1);
  order.mutable_plackett_luce();
  EXPECT_THAT(error(order, {1, 2}), IsFailedPrecondition("it has no accuracy"));
  EXPECT_THAT(error(SelectionAt(0, 0), {1, 2}),
              IsInvalidArgument("inverse_temperature is 0"));
  EXPECT_THAT(error(SelectionAt(1, 0), {1, 2, 3}),
              IsInvalidArgument("3 weights, must be 2 features"));
  EXPECT_THAT(error(Chain(2, {}), {1, 2, 3}),
              IsInvalidArgument("3 weights, must be 2 features times 2"));
  EXPECT_THAT(error(Chain(1, {}), {1, 2}),
              IsInvalidArgument("num_labels is 1, must be in "
                                "[2, 1000]"));
  EXPECT_THAT(error(Chain(2, {1}), {1, 2, 3, 4}),
              IsInvalidArgument("transitions has 1 values, must "
                                "have 4 or none"));
  EXPECT_THAT(error(Chain(2, {1, 2, 3, HUGE_VAL}), {1, 2, 3, 4}),
              IsInvalidArgument("transitions[3] is inf"));
  EXPECT_THAT(error(Chain(2, {}, -1), {1, 2, 3, 4}),
              IsInvalidArgument("inverse_temperature is -1"));
  model::v1::Policy mixed = Chain(2, {});
  mixed.set_uniform_mixture(0.1);
  EXPECT_THAT(error(mixed, {1, 2, 3, 4}),
              IsInvalidArgument("uniform_mixture is 0.1, must be "
                                "0"));
  EXPECT_THAT(error(SelectionAt(1, 0), {1, HUGE_VAL}),
              IsInvalidArgument("not finite"));
}

}  // namespace
}  // namespace sortition
