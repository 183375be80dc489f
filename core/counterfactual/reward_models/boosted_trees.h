#pragma once
// Gradient-boosted regression trees for the squared error [Friedman01], each
// grown on half of the examples [Friedman02].
#include <cstddef>
#include <span>
#include <vector>

#include "core/counterfactual/reward_models/regression_tree.h"

namespace sortition {

struct TreeExamples {
  std::vector<std::span<const float>> rows;
  std::vector<double> targets;
  std::vector<double> weights;

  void Add(std::span<const float> row, double target, double weight) {
    rows.push_back(row);
    targets.push_back(target);
    weights.push_back(weight);
  }
};

// A mean and the trees that correct it. Splits look at the order of values
// only: after increasing transformations of the columns predictions are the
// same. Immutable, thread-safe.
class BoostedTrees {
 public:
  static constexpr size_t kMaxTrees = 200;
  static constexpr double kLearningRate = 0.1;
  // Growing ends when so many trees in a row have not made the error less.
  static constexpr size_t kPatience = 10;

  // Fits to `training`, in an order that has nothing to do with what is in it:
  // each tree takes one half of it, the next tree another. As many trees are
  // kept as have the least error on `stopping`, examples of other units; none
  // if there are no such examples. A function of its arguments, to the last
  // bit.
  static BoostedTrees Fit(const TreeExamples& training,
                          const TreeExamples& stopping, size_t num_columns);

  double Predict(std::span<const float> row) const;

  size_t num_trees() const { return trees_.size(); }
  // Of `stopping`: the part of the squared error of the mean that trees take
  // away.
  double stopping_r_squared() const { return stopping_r_squared_; }

 private:
  double mean_ = 0;
  std::vector<RegressionTree> trees_;  // Leaves times the learning rate.
  double stopping_r_squared_ = 0;
};

}  // namespace sortition
