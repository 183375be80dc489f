#include "core/losses/label_chain.h"

#include <cmath>
#include <functional>
#include <random>

#include "gtest/gtest.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
