#include "core/losses/multivariate_loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/losses/label_chain.h"
#include "core/losses/pairwise_hinge.h"
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

struct Chain {
  Eigen::MatrixXd unary;
  Eigen::MatrixXd transitions;
};

Chain RandomChain(std::mt19937_64* random) {
  const auto r = static_cast<Eigen::Index>(1 + (*random)() % 6);
  const auto q = static_cast<Eigen::Index>(1 + (*random)() % 4);
  std::normal_distribution<double> normal;
  const bool ties = (*random)() % 3 == 0;
  const auto number = [&](double) {
    return ties ? std::round(normal(*random)) : 2 * normal(*random);
  };
  return {Eigen::MatrixXd::Zero(r, q).unaryExpr(number),
          Eigen::MatrixXd::Zero(q, q).unaryExpr(number)};
}

void ForEachLabelling(
    const Chain& chain,
    const std::function<void(const std::vector<uint32_t>&)>& visit) {
  std::vector<uint32_t> labels(static_cast<size_t>(chain.unary.rows()));
  const auto q = static_cast<uint32_t>(chain.unary.cols());
  for (;;) {
    visit(labels);
    size_t j = 0;
    while (j < labels.size() && ++labels[j] == q) labels[j++] = 0;
    if (j == labels.size()) return;
  }
}

double Wrong(const std::vector<uint32_t>& labels,
             const std::vector<uint32_t>& truth) {
  double wrong = 0;
  for (size_t j = 0; j < labels.size(); ++j) wrong += labels[j] != truth[j];
  return wrong / static_cast<double>(labels.size());
}

TEST(LabelChainTest, MaximumEqualsEnumeration) {
  std::mt19937_64 random(1);
  LabelChain solver;
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const Chain chain = RandomChain(&random);
    std::vector<uint32_t> truth(static_cast<size_t>(chain.unary.rows()));
    for (uint32_t& label : truth) {
      label = static_cast<uint32_t>(random() % chain.unary.cols());
    }
    const double weight = repeat % 2 == 0 ? 0 : 3;
    std::vector<uint32_t> found;
    const double value = solver.Maximise(
        chain.unary, chain.transitions,
        weight == 0 ? std::span<const uint32_t>() : truth, weight, &found);
    double most = -HUGE_VAL;
    ForEachLabelling(chain, [&](const std::vector<uint32_t>& labels) {
      most = std::max(most, ChainScore(chain.unary, chain.transitions, labels) +
                                weight * Wrong(labels, truth));
    });
    ASSERT_NEAR(value, most, 1e-12);
    ASSERT_NEAR(ChainScore(chain.unary, chain.transitions, found) +
                    weight * Wrong(found, truth),
                most, 1e-12);
  }
}

TEST(LabelChainTest, SumsAndMarginalsEqualEnumeration) {
  std::mt19937_64 random(2);
  LabelChain solver;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const Chain chain = RandomChain(&random);
    const double log_sum = solver.Sum(chain.unary, chain.transitions);
    Eigen::MatrixXd marginals = 0 * chain.unary;
    Eigen::MatrixXd counts = 0 * chain.transitions;
    double total = 0;
    ForEachLabelling(chain, [&](const std::vector<uint32_t>& labels) {
      const double weight =
          std::exp(ChainScore(chain.unary, chain.transitions, labels));
      total += weight;
      for (size_t j = 0; j < labels.size(); ++j) {
        marginals(static_cast<Eigen::Index>(j), labels[j]) += weight;
        if (j > 0) counts(labels[j - 1], labels[j]) += weight;
      }
    });
    ASSERT_NEAR(log_sum, std::log(total), 1e-12);
    ASSERT_LT((solver.marginals() - marginals / total).norm(), 1e-12);
    ASSERT_LT((solver.transition_counts() - counts / total).norm(), 1e-12);
  }
}

TEST(LabelChainTest, LargeScoresOverflowNothing) {
  LabelChain solver;
  const Eigen::MatrixXd unary = Eigen::MatrixXd::Constant(200, 3, 5000);
  const Eigen::MatrixXd transitions = Eigen::MatrixXd::Constant(3, 3, -900);
  EXPECT_NEAR(solver.Sum(unary, transitions),
              200 * 5000 - 199 * 900 + 200 * std::log(3), 1e-6);
  // The only likely labelling uses the least likely transition.
  Eigen::MatrixXd forced(2, 2);
  forced << 0, -5000, -5000, 0;
  Eigen::MatrixXd against(2, 2);
  against << 0, -3000, 0, 0;
  EXPECT_NEAR(solver.Sum(forced, against), -3000, 1e-9);
  EXPECT_NEAR(solver.marginals()(1, 1), 1, 1e-12);
}

// Scores are multiples of 1/2, so that ties and differences of exactly 1 are
// common.
TEST(PairwiseHingeTest, IsTheSumOverAllPairs) {
  RandomSequence random(SeedKey(1));
  PairwiseHinge hinge;
  for (int trial = 0; trial < 10000; ++trial) {
    const size_t n = random.Below(13);
    std::vector<double> scores(n), slopes(n);
    std::vector<uint32_t> relevances(n);
    for (size_t i = 0; i < n; ++i) {
      scores[i] = 3 * random.Normal();
      if (trial % 2 == 0) scores[i] = std::round(2 * scores[i]) / 2;
      relevances[i] = static_cast<uint32_t>(random.Below(5) * 100);
    }
    double value = 0;
    uint64_t pairs = 0;
    std::vector<double> expected(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (relevances[i] <= relevances[j]) continue;
        ++pairs;
        if (1 - (scores[i] - scores[j]) <= 0) continue;
        value += 1 - (scores[i] - scores[j]);
        expected[i] -= 1;
        expected[j] += 1;
      }
    }
    const auto sum = hinge.Evaluate(scores, relevances, slopes);
    EXPECT_NEAR(sum.value, value, 1e-11);
    EXPECT_EQ(slopes, expected);
    EXPECT_EQ(CountPairs(relevances), pairs);
  }
}

// Sums such as 0.1 + 0.2 - 1 are rounded. Both items of a pair must agree on
// whether it is active, or the sum is wrong by a whole score.
TEST(PairwiseHingeTest, BothEndsAgreeWhereRoundingDecides) {
  PairwiseHinge hinge;
  RandomSequence random(SeedKey(2));
  for (int trial = 0; trial < 2000; ++trial) {
    const double low = 1e3 * random.Normal();
    std::vector<double> scores = {low + 1, low,
                                  std::nextafter(low + 1, HUGE_VAL),
                                  std::nextafter(low + 1, -HUGE_VAL)};
    std::vector<double> slopes(4);
    const std::vector<uint32_t> relevances = {1, 0, 1, 1};
    const auto sum = hinge.Evaluate(scores, relevances, slopes);
    EXPECT_EQ(slopes[0] + slopes[1] + slopes[2] + slopes[3], 0);
    EXPECT_NEAR(sum.value, 0, 1e-11);
  }
}

}  // namespace
}  // namespace sortition
