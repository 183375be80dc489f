#include "core/losses/multivariate_loss.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using Measure = MultivariateMeasure;

std::vector<uint8_t> Bits(uint32_t word, size_t n) {
  std::vector<uint8_t> bits(n);
  for (size_t i = 0; i < n; ++i) bits[i] = (word >> i) & 1;
  return bits;
}

// The measure by its definition, item by item.
double Defined(const MultivariateLoss& loss, const std::vector<uint8_t>& v,
               const std::vector<uint8_t>& y) {
  double a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    a += v[i] * y[i];
    b += v[i] * (1 - y[i]);
    c += (1 - v[i]) * y[i];
    d += (1 - v[i]) * (1 - y[i]);
  }
  const double sensitivity = a + c > 0 ? a / (a + c) : 1;
  const double specificity = b + d > 0 ? d / (b + d) : 1;
  const double beta2 = loss.beta * loss.beta;
  switch (loss.measure) {
    case Measure::kAccuracy:
      return (a + d) / (a + b + c + d);
    case Measure::kBalanced:
      return (sensitivity + specificity) / 2;
    case Measure::kFBeta:
      return a + b + c > 0 ? (1 + beta2) * a / ((1 + beta2) * a + b + beta2 * c)
                           : 1;
    case Measure::kPrecisionAtK:
      return a / static_cast<double>(loss.most);
  }
  return -1;
}

struct Instance {
  MultivariateLoss loss;
  std::vector<uint8_t> labels;
  std::vector<double> scores;
};

// Labels of every balance and scores of every scale, half of them with ties;
// bounds from none to a single size.
Instance RandomInstance(RandomSequence& random) {
  Instance instance;
  const size_t n = 1 + random.Below(9);
  const double positive = random.Uniform();
  const double scale = std::exp(3 * random.Normal() - 1);
  const bool ties = random.Below(2) == 0;
  for (size_t i = 0; i < n; ++i) {
    instance.labels.push_back(random.Uniform() < positive ? 1 : 0);
    const double score =
        ties ? static_cast<double>(random.Below(5)) - 2 : random.Normal();
    instance.scores.push_back(scale * score);
  }
  MultivariateLoss& loss = instance.loss;
  loss.measure = static_cast<Measure>(random.Below(4));
  loss.beta = random.Below(2) == 0 ? 1 : std::exp(random.Normal());
  switch (random.Below(4)) {
    case 0:
      break;
    case 1:
      loss.most = random.Below(n + 2);
      break;
    case 2:
      loss.fewest = random.Below(n + 1);
      break;
    default:
      loss.fewest = random.Below(n + 1);
      loss.most = loss.fewest + random.Below(3);
  }
  if (loss.measure == Measure::kPrecisionAtK) {
    loss.fewest = loss.most = 1 + random.Below(n);
  }
  return instance;
}

double Hinge(const Instance& instance, const std::vector<uint8_t>& v) {
  double hinge = 1 - Defined(instance.loss, v, instance.labels);
  for (size_t i = 0; i < v.size(); ++i) {
    hinge += (v[i] - instance.labels[i]) * instance.scores[i];
  }
  return hinge;
}

size_t Size(const std::vector<uint8_t>& v) {
  return static_cast<size_t>(std::count(v.begin(), v.end(), 1));
}

// The largest `value` over all vectors within the bounds.
template <typename Value>
double Enumerate(const Instance& instance, const Value& value) {
  const size_t n = instance.labels.size();
  double best = -HUGE_VAL;
  for (uint32_t word = 0; word < (1u << n); ++word) {
    const std::vector<uint8_t> v = Bits(word, n);
    if (Size(v) < instance.loss.fewest || Size(v) > instance.loss.most) {
      continue;
    }
    best = std::max(best, value(v));
  }
  return best;
}

// 10,000 instances for each measure. Except for precision at k, a quarter each
// has no bounds, V≤k, V≥k, and both.
TEST(MultivariateLossTest, InferenceEqualsEnumeration) {
  RandomSequence random(SeedKey(1));
  LossAugmentedLabels found;
  for (int trial = 0; trial < 40000; ++trial) {
    const Instance instance = RandomInstance(random);
    auto inference =
        MultivariateInference::Create(instance.loss, instance.labels);
    ASSERT_TRUE(inference.ok()) << inference.status();
    inference->Find(instance.scores, &found);
    const double best =
        Enumerate(instance, [&](const auto& v) { return Hinge(instance, v); });
    double scale = 1;
    for (const double score : instance.scores) scale += std::abs(score);
    ASSERT_NEAR(found.hinge, best, 1e-12 * scale) << "trial " << trial;
    // v attains the maximum.
    ASSERT_NEAR(Hinge(instance, found.labels), best, 1e-12 * scale);
    ASSERT_NEAR(found.loss,
                1 - Defined(instance.loss, found.labels, instance.labels),
                1e-14);
    ASSERT_GE(Size(found.labels), instance.loss.fewest);
    ASSERT_LE(Size(found.labels), instance.loss.most);
  }
}

TEST(MultivariateLossTest, PredictionEqualsEnumeration) {
  RandomSequence random(SeedKey(2));
  for (int trial = 0; trial < 2000; ++trial) {
    const Instance instance = RandomInstance(random);
    const auto sum = [&](const std::vector<uint8_t>& v) {
      double total = 0;
      for (size_t i = 0; i < v.size(); ++i) total += v[i] * instance.scores[i];
      return total;
    };
    const auto predicted = PredictLabels(instance.loss, instance.scores);
    const double best = Enumerate(instance, sum);
    ASSERT_NEAR(sum(predicted), best, 1e-12 * (1 + std::abs(best)));
    ASSERT_GE(Size(predicted), instance.loss.fewest);
    ASSERT_LE(Size(predicted), instance.loss.most);
    ASSERT_NEAR(MeasureOf(instance.loss, predicted, instance.labels),
                Defined(instance.loss, predicted, instance.labels), 1e-14);
  }
}

// Tries every pair (a, b), as in seed 001: O(n²).
double BestOfAllPairs(const MultivariateLoss& loss,
                      const std::vector<uint8_t>& labels,
                      const std::vector<double>& scores) {
  std::vector<double> positive, negative;
  double of_labels = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    (labels[i] != 0 ? positive : negative).push_back(scores[i]);
    of_labels += labels[i] * scores[i];
  }
  std::sort(positive.rbegin(), positive.rend());
  std::sort(negative.rbegin(), negative.rend());
  const LabelCounts counts{positive.size(), negative.size()};
  double best = -HUGE_VAL;
  double a_sum = 0;
  for (size_t a = 0; a <= positive.size(); ++a) {
    double sum = a_sum - of_labels;
    for (size_t b = 0; b <= negative.size(); ++b) {
      if (a + b >= loss.fewest && a + b <= loss.most) {
        best = std::max(best, LossOfCounts(loss, counts, a, b) + sum);
      }
      if (b < negative.size()) sum += negative[b];
    }
    if (a < positive.size()) a_sum += positive[a];
  }
  return best;
}

TEST(MultivariateLossTest, InferenceEqualsAllPairsForManyItems) {
  RandomSequence random(SeedKey(3));
  LossAugmentedLabels found;
  for (int trial = 0; trial < 200; ++trial) {
    constexpr size_t kItems = 400;
    std::vector<uint8_t> labels(kItems);
    std::vector<double> scores(kItems);
    const double scale = std::exp(-8 * random.Uniform());
    for (size_t i = 0; i < kItems; ++i) {
      labels[i] = random.Uniform() < 0.2 ? 1 : 0;
      scores[i] = scale * (random.Normal() + labels[i] - 0.5);
      if (trial % 2 == 0) scores[i] = scale * std::round(2 * scores[i] / scale);
    }
    MultivariateLoss loss;
    loss.measure = static_cast<Measure>(trial % 3);
    loss.beta = trial % 5 == 0 ? 0.3 : 1.5;
    if (trial % 7 == 0) loss.most = 50;
    if (trial % 11 == 0) loss.fewest = 30;
    auto inference = MultivariateInference::Create(loss, labels);
    ASSERT_TRUE(inference.ok()) << inference.status();
    inference->Find(scores, &found);
    ASSERT_NEAR(found.hinge, BestOfAllPairs(loss, labels, scores), 1e-10);
  }
}

// Two positives and two negatives, one of each predicted: sensitivity,
// specificity and precision are 1/2.
TEST(MultivariateLossTest, MeasuresOfAnExample) {
  const std::vector<uint8_t> labels = {1, 1, 0, 0};
  const std::vector<uint8_t> predicted = {1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(
      MeasureOf({.measure = Measure::kAccuracy}, predicted, labels), 0.5);
  EXPECT_DOUBLE_EQ(
      MeasureOf({.measure = Measure::kBalanced}, predicted, labels), 0.5);
  EXPECT_DOUBLE_EQ(MeasureOf({.beta = 2}, predicted, labels), 0.5);
  // Precision 1/3, sensitivity 1/2, β² = 4: 5 / (4 · 2 + 3).
  EXPECT_DOUBLE_EQ(
      MeasureOf({.beta = 2}, std::vector<uint8_t>{1, 0, 1, 1}, labels),
      5.0 / 11);
}

TEST(MultivariateLossTest, NothingPositiveIsBestPredictedAsNothing) {
  const std::vector<uint8_t> labels = {0, 0};
  EXPECT_EQ(MeasureOf({}, labels, labels), 1);
  EXPECT_EQ(MeasureOf({}, std::vector<uint8_t>{1, 0}, labels), 0);
}

TEST(MultivariateLossTest, NamesWhatIsOutsideItsRange) {
  const std::vector<uint8_t> labels = {0, 1};
  const auto message = [&](const MultivariateLoss& loss) {
    return std::string(
        MultivariateInference::Create(loss, labels).status().message());
  };
  EXPECT_EQ(message({.beta = 0}), "beta is 0, must be within [0.001, 1000]");
  EXPECT_EQ(message({.fewest = 2, .most = 1}),
            "fewest is 2, must be within [0, most = 1]");
  EXPECT_EQ(message({.fewest = 3}),
            "there are 2 labels, must be at least 3 = max(1, fewest)");
  EXPECT_EQ(message({.measure = Measure::kPrecisionAtK, .fewest = 1}),
            absl::StrCat("fewest and most are 1 and ", SIZE_MAX,
                         ", must both be k >= 1 for kPrecisionAtK"));
  EXPECT_FALSE(MultivariateInference::Create({}, {}).ok());
}

}  // namespace
}  // namespace sortition
