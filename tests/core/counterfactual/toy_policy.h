#pragma once
// A policy small enough to write out, so that objectives are tested without
// core/policies.
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/tuple_policy.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"

namespace sortition {

// Compares the gradient of `objective` at `point` with central differences.
inline void ExpectGradient(const Objective& objective,
                           const Eigen::VectorXd& point,
                           double tolerance = 1e-6) {
  Eigen::VectorXd gradient(point.size());
  objective.Evaluate(point, &gradient);
  EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
            tolerance * gradient.norm())
      << point.transpose();
}

// Expects passes in blocks to equal a pass at once.
template <typename Policy>
void ExpectBlocksChangeNothing(const Objective& objective,
                               const Eigen::VectorXd& point, Policy* policy) {
  Eigen::VectorXd gradient(point.size()), whole(point.size());
  policy->block_size_ = 16;
  const double value = objective.Evaluate(point, &gradient);
  policy->block_size_ = policy->num_tuples();
  EXPECT_EQ(objective.Evaluate(point, &whole), value);
  EXPECT_EQ(gradient, whole);
}

// Softmax over 3 actions with given features.
class ToyPolicy : public TuplePolicy {
 public:
  static constexpr int kActions = 3;
  static constexpr int kDimension = 2;

  ToyPolicy(size_t n, uint64_t seed) {
    RandomSequence random(SeedKey(seed));
    for (size_t i = 0; i < n; ++i) {
      Eigen::MatrixXd x(kActions, kDimension);
      for (int a = 0; a < kActions; ++a) {
        for (int j = 0; j < kDimension; ++j) x(a, j) = random.Normal();
      }
      features.push_back(x);
      actions.push_back(static_cast<int>(i % kActions));
      weights.push_back(1);
      losses.push_back(-random.Uniform());
      log_propensities.push_back(std::log(0.1 + 0.9 * random.Uniform()));
    }
  }

  size_t num_tuples() const override { return losses.size(); }
  Eigen::Index dimension() const override { return kDimension; }
  double loss(size_t i) const override { return losses[i]; }
  double log_propensity(size_t i) const override { return log_propensities[i]; }
  double weight(size_t i) const override { return weights[i]; }
  // Appends a copy of tuple i, of weight 1.
  void Repeat(size_t i) {
    features.push_back(Eigen::MatrixXd(features[i]));
    actions.push_back(int{actions[i]});
    weights.push_back(1);
    losses.push_back(double{losses[i]});
    log_propensities.push_back(double{log_propensities[i]});
  }
  void LogProbabilities(const Eigen::VectorXd& w,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override {
    point = w;
    block.assign(tuples.begin(), tuples.end());
    for (size_t k = 0; k < tuples.size(); ++k) {
      const Eigen::VectorXd scores = features[tuples[k]] * w;
      log_probabilities[k] =
          scores[actions[tuples[k]]] - std::log(scores.array().exp().sum());
    }
  }
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override {
    for (size_t k = 0; k < block.size(); ++k) {
      const Eigen::MatrixXd& x = features[block[k]];
      Eigen::VectorXd probability = (x * point).array().exp();
      probability /= probability.sum();
      *gradient += factors[k] * (x.row(actions[block[k]]).transpose() -
                                 x.transpose() * probability);
    }
  }
  size_t block_size() const override { return block_size_; }

  size_t block_size_ = 16;  // Most tests have more tuples.
  Eigen::VectorXd point;
  std::vector<uint32_t> block;
  std::vector<Eigen::MatrixXd> features;
  std::vector<int> actions;  // What each tuple logged.
  std::vector<double> weights;
  std::vector<double> losses;
  std::vector<double> log_propensities;
};

}  // namespace sortition
