#include "core/aggregation/cluster_choice.h"

#include <algorithm>

#include "core/aggregation/submodular_function.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

BlockFunction AllPairs(size_t n) {
  return BlockFunction({CardinalityFunction::AllPairs(n)});
}

TEST(MeanSilhouetteTest, ComparesTheOwnGroupWithTheNext) {
  Eigen::MatrixXd costs(5, 3);
  costs << 1, 4, 2,  // (2 - 1) / 2
      3, 2, 9,       // (2 - 3) / 3
      5, 0, 7,       // 1
      5, 0, 0,       // Both 0: 0
      6, 7, 1;       // Alone: 0
  EXPECT_NEAR(MeanSilhouette(costs, {0, 0, 1, 1, 2}), (0.5 - 1.0 / 3 + 1) / 5,
              1e-15);
}

// d of (1, 0.5, 0) from its reverse: 2 (0.5 + 1 + 0.5).
TEST(ClusterChoiceTest, MeasuresVectorsFromAllGroups) {
  ScoreMatrix vectors(4, 3);
  vectors << 0, 0.5, 1,  //
      1, 0.5, 0,         //
      1, 0.5, 0,         //
      1, 0.5, 0;
  config::v1::ClusterOptions options;
  options.add_clusters(2);
  ASSERT_OK_AND_ASSIGN(const GroupingChoice choice,
                       ChooseClusters(vectors, AllPairs(3), options));
  // The larger group is the first.
  EXPECT_EQ(choice.grouping.clustering.cluster,
            (std::vector<uint32_t>{1, 0, 0, 0}));
  EXPECT_EQ(choice.grouping.clustering.orders[0], (Order{0, 1, 2}));
  EXPECT_EQ(choice.grouping.clustering.orders[1], (Order{2, 1, 0}));
  EXPECT_EQ(choice.grouping.clustering.means(0, 0), 1);
  Eigen::MatrixXd expected(4, 2);
  expected << 4, 0, 0, 4, 0, 4, 0, 4;
  EXPECT_EQ(choice.grouping.divergences, expected);
  EXPECT_EQ(choice.grouping.reversed, Eigen::VectorXd::Constant(4, 4));
  EXPECT_EQ(choice.trials[0].objective(), 0);
  EXPECT_EQ(choice.trials[0].share(), 0);  // One group costs 4.
  EXPECT_EQ(choice.trials[0].silhouette(), 0.75);
}

// The Euclidean term counts for the silhouette as it does for the objective: it
// alone separates groups of equal orders.
TEST(ClusterChoiceTest, SilhouettesHaveTheEuclideanTerm) {
  ScoreMatrix vectors(4, 2);
  vectors << 1, 0,  //
      1, 0.5,       //
      9, 0,         //
      9, 0.5;
  config::v1::ClusterOptions options;
  options.add_clusters(2);
  options.set_euclidean(2);
  ASSERT_OK_AND_ASSIGN(const GroupingChoice choice,
                       ChooseClusters(vectors, AllPairs(2), options));
  EXPECT_EQ(choice.grouping.clustering.cluster,
            (std::vector<uint32_t>{0, 0, 1, 1}));
  // Own group, without the vector: 2 · 0.5². Other group: 2 (8² + 0.25²).
  EXPECT_NEAR(choice.trials[0].silhouette(), 1 - 0.5 / 128.125, 1e-12);
  EXPECT_NEAR(choice.trials[0].objective(), 4 * 2 * 0.0625, 1e-12);
}

// The first two disagree about the order of the last two items, which are tied
// in their mean.
TEST(ClusterChoiceTest, TheOwnGroupIsThatWithoutTheVector) {
  ScoreMatrix vectors(4, 3);
  vectors << 1, 0.5, 0.25,  //
      1, 0.25, 0.5,         //
      0, 1, 1,              //
      0, 1, 1;
  config::v1::ClusterOptions options;
  options.add_clusters(2);
  ASSERT_OK_AND_ASSIGN(const GroupingChoice choice,
                       ChooseClusters(vectors, AllPairs(3), options));
  // Own group: 2 · 0.25 each, although the tie of their group's mean halves it.
  // Other group: 2 (0.5 + 0.75) and half of the last pair, which is tied there,
  // too. The last two agree and are far from the others.
  EXPECT_EQ(choice.grouping.divergences(0, 0), 0.25);
  EXPECT_EQ(choice.grouping.without, (Eigen::Vector4d{0.5, 0.5, 0, 0}));
  EXPECT_NEAR(choice.trials[0].silhouette(), (2 * (1 - 0.5 / 2.75) + 2) / 4,
              1e-12);
}

// The group of equal orders is far, the group of reversed ones is near.
TEST(ClusterChoiceTest, TheNextGroupIsThatOfTheLeastCost) {
  ScoreMatrix vectors(7, 2);
  vectors << 0, 0.25,  //
      0, 0.25,         //
      0, 0.25,         //
      100, 101,        //
      100, 101,        //
      0.25, 0,         //
      0.25, 0;
  config::v1::ClusterOptions options;
  options.add_clusters(3);
  options.set_euclidean(1);
  ASSERT_OK_AND_ASSIGN(const GroupingChoice choice,
                       ChooseClusters(vectors, AllPairs(2), options));
  ASSERT_EQ(choice.grouping.clustering.cluster,
            (std::vector<uint32_t>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(choice.grouping.divergences(0, 1), 0);
  EXPECT_EQ(choice.grouping.divergences(0, 2), 0.5);
  EXPECT_EQ(choice.grouping.next, (std::vector<uint32_t>{2, 2, 2, 0, 0, 0, 0}));
}

// The mean over all 24 orders.
TEST(ClusterChoiceTest, ChanceIsTheMeanOverAllOrders) {
  srand(1);
  ScoreMatrix vectors = ScoreMatrix::Random(2, 4);
  const BlockFunction f({CardinalityFunction::Dcg(4, 3)});
  ASSERT_OK_AND_ASSIGN(const GroupingChoice choice,
                       ChooseClusters(vectors, f, {}));
  for (Eigen::Index i = 0; i < 2; ++i) {
    Order order = {0, 1, 2, 3};
    double sum = 0;
    do {
      sum += f.Divergence({vectors.row(i).data(), 4}, order);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(choice.grouping.by_chance(i), sum / 24, 1e-12);
  }
}

// Below two vectors there is no number of groups to try: 2 is tried all the
// same.
TEST(ClusterChoiceTest, TriesTwoToSixBelowTheNumberOfVectors) {
  for (const auto& [rows, most] :
       std::vector<std::pair<int, uint32_t>>{{2, 2}, {3, 2}, {5, 4}, {20, 6}}) {
    ASSERT_OK_AND_ASSIGN(
        const GroupingChoice choice,
        ChooseClusters(ScoreMatrix::Random(rows, 4), AllPairs(4), {}));
    EXPECT_EQ(choice.trials.front().clusters(), 2u);
    EXPECT_EQ(choice.trials.back().clusters(), most);
  }
}

}  // namespace
}  // namespace sortition
