#pragma once
// Random submodular functions, scores and orders.
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster.h"
#include "core/aggregation/submodular_function.h"
#include "gtest/gtest.h"

namespace sortition {

// A list of scores uniform in [0, 1) per row.
inline ScoreMatrix RandomLists(std::mt19937_64* random, int lists, int items) {
  std::uniform_real_distribution<double> uniform(0, 1);
  ScoreMatrix matrix(lists, items);
  for (double& score : matrix.reshaped()) score = uniform(*random);
  return matrix;
}

using Function = std::unique_ptr<SubmodularFunction>;

class RandomFunctionsTest : public ::testing::Test {
 protected:
  int Below(int bound) { return static_cast<int>(random_() % bound); }

  // One in three has many ties.
  std::vector<double> Scores(size_t n) {
    std::uniform_real_distribution<double> uniform(0, 1);
    const bool ties = Below(3) == 0;
    std::vector<double> x(n);
    for (double& score : x) score = ties ? Below(3) / 2.0 : uniform(random_);
    return x;
  }

  Order RandomOrder(size_t n) {
    Order order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  std::unique_ptr<CardinalityFunction> RandomCardinality(size_t n) {
    std::normal_distribution<double> normal;
    std::vector<double> increments(n);
    for (double& increment : increments) increment = normal(random_);
    std::sort(increments.begin(), increments.end(), std::greater<>());
    return CardinalityFunction::Create(increments).value();
  }

  Function RandomCut(size_t n) {
    std::vector<CutFunction::Edge> edges;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        if (i != j && Below(2) == 0) edges.push_back({i, j, 0.5 * Below(4)});
      }
    }
    return CutFunction::Create(n, edges).value();
  }

  // Blocks of random functions with n items in all.
  std::unique_ptr<BlockFunction> RandomBlocks(size_t n) {
    std::vector<std::shared_ptr<const SubmodularFunction>> blocks;
    while (n > 0) {
      const size_t size = 1 + Below(static_cast<int>(n));
      switch (Below(4)) {
        case 0:
          blocks.push_back(CardinalityFunction::AllPairs(size));
          break;
        case 2:
          blocks.push_back(RandomCut(size));
          break;
        case 1:
          blocks.push_back(CardinalityFunction::Top(size, 1 + Below(3)));
          break;
        default:
          blocks.push_back(RandomCardinality(size));
      }
      n -= size;
    }
    return std::make_unique<BlockFunction>(blocks);
  }

  // Every kind of function.
  static constexpr int kKinds = 8;
  Function RandomFunction(size_t n, int kind) {
    switch (kind) {
      case 0:
        return CardinalityFunction::AllPairs(n);
      case 1:
        return CardinalityFunction::Top(n, 1 + Below(static_cast<int>(n)));
      case 2:
        return CardinalityFunction::Dcg(n, Below(static_cast<int>(n)));
      case 3:
        return CardinalityFunction::Ends(n);
      case 4:
        return CutFunction::Chain(n);
      case 5:
        return RandomCardinality(n);
      case 6:
        return RandomBlocks(n);
      default:
        return RandomCut(n);
    }
  }

  static constexpr int kRepeats = 10000;  // For each kind.

  std::mt19937_64 random_{7};
};

}  // namespace sortition
