#include "core/aggregation/block_function.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/aggregation/cluster.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class BlockFunctionTest : public ::testing::Test {
 protected:
  int Below(int bound) { return static_cast<int>(random_() % bound); }

  // One to three blocks of one to four items, of functions of any kind.
  BlockFunction RandomFunction() {
    std::vector<std::shared_ptr<const CardinalityFunction>> blocks;
    const int count = 1 + Below(3);
    for (int b = 0; b < count; ++b) {
      const size_t n = 1 + Below(4);
      std::vector<double> increments(n);
      switch (Below(3)) {
        case 0:
          blocks.push_back(CardinalityFunction::AllPairs(n));
          break;
        case 1:
          blocks.push_back(CardinalityFunction::Top(n, 1 + Below(3)));
          break;
        default:
          for (double& increment : increments) increment = normal_(random_);
          std::sort(increments.rbegin(), increments.rend());
          blocks.push_back(CardinalityFunction::Create(increments).value());
      }
    }
    return BlockFunction(blocks);
  }

  // One in three has many ties.
  std::vector<double> Scores(size_t n) {
    const bool ties = Below(3) == 0;
    std::vector<double> x(n);
    for (double& score : x) score = ties ? Below(3) / 2.0 : normal_(random_);
    return x;
  }

  Order RandomOrder(size_t n) {
    Order order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
};

std::vector<uint8_t> SetOf(uint32_t bits, size_t n) {
  std::vector<uint8_t> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = (bits >> i) & 1;
  return in;
}

TEST_F(BlockFunctionTest, IsSubmodularAndAgreesWithItsExtension) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    const BlockFunction f = RandomFunction();
    const size_t n = f.num_items();
    if (n > 7) continue;
    for (uint32_t s = 0; s < 1u << n; ++s) {
      const std::vector<uint8_t> in = SetOf(s, n);
      ASSERT_NEAR(LovaszExtension(f, std::vector<double>(in.begin(), in.end())),
                  f.Value(in), 1e-12);
      for (uint32_t t = 0; t < 1u << n; ++t) {
        ASSERT_GE(f.Value(in) + f.Value(SetOf(t, n)) + 1e-12,
                  f.Value(SetOf(s | t, n)) + f.Value(SetOf(s & t, n)));
      }
    }
  }
}

TEST_F(BlockFunctionTest, ExtremeSubgradientsAreWhatEachItemAdds) {
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const BlockFunction f = RandomFunction();
    const Order order = RandomOrder(f.num_items());
    std::vector<double> h(f.num_items(), 99);
    f.ExtremeSubgradient(order, h);
    std::vector<uint8_t> in(f.num_items());
    double before = 0;
    for (const uint32_t item : order) {
      in[item] = 1;
      ASSERT_NEAR(h[item], f.Value(in) - before, 1e-12);
      before = f.Value(in);
    }
  }
}

// Eq. 12; and 0 where σ has the items of each block by falling score, whatever
// it does between blocks.
TEST_F(BlockFunctionTest, ClosedFormEqualsTheDefinition) {
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const BlockFunction f = RandomFunction();
    const std::vector<double> x = Scores(f.num_items());
    const Order order = RandomOrder(f.num_items());
    const double divergence = f.Divergence(x, order);
    ASSERT_NEAR(divergence, DivergenceByDefinition(f, x, order), 1e-12);
    ASSERT_GE(divergence, 0);
    std::vector<double> shifted = x;
    for (size_t b = 0; b < f.num_blocks(); ++b) {
      const double shift = normal_(random_);
      for (size_t i = f.begin(b); i < f.begin(b + 1); ++i) shifted[i] += shift;
    }
    ASSERT_NEAR(f.Divergence(x, OrderOf(shifted)), 0, 1e-12);
    ASSERT_NEAR(f.Divergence(shifted, order), divergence, 1e-12);
  }
}

TEST_F(BlockFunctionTest, BlocksAreThoseOfTheirOwnFunctions) {
  const BlockFunction f(
      {CardinalityFunction::AllPairs(2), CardinalityFunction::Top(3, 1)});
  ASSERT_EQ(f.num_items(), 5u);
  EXPECT_EQ(f.begin(1), 2u);
  const std::vector<double> x = {0.25, 1, 0, 0.5, 0.75};
  const Order order = {3, 0, 2, 1, 4};
  EXPECT_EQ(f.SplitOrder(order), (Order{0, 1, 1, 0, 2}));
  // 2 (1 - 0.25) of the inverted pair; the first of the second block lacks
  // 0.75 - 0.5.
  EXPECT_EQ(f.BlockDivergences(x, order), (std::vector<double>{1.5, 0.25}));
  EXPECT_EQ(f.Divergence(x, order), 1.75);
}

// Two kinds of sources over 40 queries of 3 candidates: the one's scores are
// the other's reversed, with shifts of each query that no block minds.
TEST_F(BlockFunctionTest, GroupsSourcesOfManyQueries) {
  const std::shared_ptr<const CardinalityFunction> dcg =
      CardinalityFunction::Dcg(3, 0);
  const BlockFunction f(
      std::vector<std::shared_ptr<const CardinalityFunction>>(40, dcg));
  ScoreMatrix sources(6, 120);
  for (int i = 0; i < 120; ++i) {
    const double quality = normal_(random_);
    for (int s = 0; s < 6; ++s) {
      sources(s, i) = (s % 2 == 0 ? 1 : -1) * quality + 0.3 * normal_(random_) +
                      static_cast<double>(i / 3 % 5);
    }
  }
  ASSERT_OK_AND_ASSIGN(const Clustering result,
                       Cluster(sources, f, ClusterOptions(), nullptr));
  for (int s = 0; s < 6; ++s)
    EXPECT_EQ(result.cluster[s], result.cluster[s % 2]);
  EXPECT_NE(result.cluster[0], result.cluster[1]);
}

}  // namespace
}  // namespace sortition
