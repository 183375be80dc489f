#include "core/aggregation/block_function.h"

#include <memory>
#include <random>
#include <vector>

#include "core/aggregation/cluster.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Properties of every submodular function are in submodular_function_test.cc.
class BlockFunctionTest : public RandomFunctionsTest {
 protected:
  double Normal() { return normal_(random_); }

 private:
  std::normal_distribution<double> normal_;
};

// σ has the items of each block by falling score, whatever it does between
// blocks, so the divergence is 0.
TEST_F(BlockFunctionTest, BlocksAreNotCompared) {
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const std::unique_ptr<BlockFunction> f = RandomBlocks(1 + Below(10));
    const std::vector<double> x = Scores(f->num_items());
    const Order order = RandomOrder(f->num_items());
    std::vector<double> shifted = x;
    for (size_t b = 0; b < f->num_blocks(); ++b) {
      const double shift = Normal();
      for (size_t i = f->begin(b); i < f->begin(b + 1); ++i) {
        shifted[i] += shift;
      }
    }
    ASSERT_NEAR(f->Divergence(x, OrderOf(shifted)), 0, 1e-12);
    ASSERT_NEAR(f->Divergence(shifted, order), f->Divergence(x, order), 1e-12);
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
  // 2 (1 - 0.25) for the inverted pair; the first item of the second block
  // lacks 0.75 - 0.5.
  EXPECT_EQ(f.Divergence(x, order), 1.75);
}

// Two kinds of sources over 40 queries of 3 candidates: the scores of one kind
// are those of the other reversed, plus shifts of each query that do not affect
// any block.
TEST_F(BlockFunctionTest, GroupsSourcesOfManyQueries) {
  const std::shared_ptr<const CardinalityFunction> dcg =
      CardinalityFunction::Dcg(3, 0);
  const BlockFunction f(
      std::vector<std::shared_ptr<const SubmodularFunction>>(40, dcg));
  ScoreMatrix sources(6, 120);
  for (int i = 0; i < 120; ++i) {
    const double quality = Normal();
    for (int s = 0; s < 6; ++s) {
      sources(s, i) = (s % 2 == 0 ? 1 : -1) * quality + 0.3 * Normal() +
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
