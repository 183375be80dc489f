#include "core/aggregation/cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "Eigen/SVD"
#include "core/aggregation/cluster_choice.h"
#include "core/aggregation/principal_axes.h"
#include "core/aggregation/submodular_function.h"
#include "gtest/gtest.h"
#include "tests/core/aggregation/random_functions.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::span<const double> Row(const ScoreMatrix& matrix, Eigen::Index row) {
  return {matrix.data() + row * matrix.cols(),
          static_cast<size_t>(matrix.cols())};
}

// Lists around the three prototypes, with noise that seldom changes an order.
TEST(ClusterTest, RecoversPlantedGroups) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.05);
  const std::vector<std::vector<double>> prototypes = {
      {0.9, 0.7, 0.5, 0.3, 0.1},
      {0.1, 0.3, 0.5, 0.7, 0.9},
      {0.5, 0.1, 0.9, 0.3, 0.7}};
  ScoreMatrix lists(300, 5);
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 5; ++j) {
      lists(i, j) = prototypes[i % 3][j] + noise(random);
    }
  }
  ClusterOptions options;
  options.clusters = 3;
  for (const double euclidean : {0.0, 1.0}) {
    options.euclidean = euclidean;
    ASSERT_OK_AND_ASSIGN(
        const Clustering result,
        Cluster(lists, *CardinalityFunction::AllPairs(5), options, nullptr));
    EXPECT_TRUE(result.converged);
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(result.cluster[i], result.cluster[i % 3]);
      ASSERT_EQ(result.orders[result.cluster[i]], OrderOf(prototypes[i % 3]));
    }
    EXPECT_EQ(
        std::set<uint32_t>(result.cluster.begin(), result.cluster.end()).size(),
        3);
  }
}

// If only the first item counts, groups are those of equal favourites.
TEST(ClusterTest, TopOneGroupsByTheFavourite) {
  std::mt19937_64 random(2);
  ScoreMatrix lists = 0.2 * RandomLists(&random, 90, 3);
  for (int i = 0; i < 90; ++i) lists(i, i % 3) += 0.8;
  ClusterOptions options;
  options.clusters = 3;
  ASSERT_OK_AND_ASSIGN(
      const Clustering result,
      Cluster(lists, *CardinalityFunction::Top(3, 1), options, nullptr));
  EXPECT_NEAR(result.objective, 0, 1e-12);
  for (int i = 0; i < 90; ++i) {
    EXPECT_EQ(result.orders[result.cluster[i]][0],
              static_cast<uint32_t>(i % 3));
  }
}

TEST(ClusterTest, ObjectiveNeverRisesAndIsWhatItSays) {
  std::mt19937_64 random(3);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const int items = 2 + static_cast<int>(random() % 5);
    const ScoreMatrix lists = RandomLists(&random, 60, items);
    ClusterOptions options;
    options.clusters = 1 + static_cast<uint32_t>(random() % 8);
    options.restarts = 2;
    options.seed = static_cast<uint64_t>(repeat);
    options.euclidean = repeat % 2;
    const auto f = CardinalityFunction::Dcg(items, 0);
    ASSERT_OK_AND_ASSIGN(const Clustering result,
                         Cluster(lists, *f, options, nullptr));
    for (size_t step = 1; step < result.objectives.size(); ++step) {
      EXPECT_LE(result.objectives[step], result.objectives[step - 1] + 1e-12);
    }
    double expected = 0;
    for (int i = 0; i < 60; ++i) {
      const uint32_t c = result.cluster[i];
      expected += f->Divergence(Row(lists, i), result.orders[c]) +
                  options.euclidean *
                      (lists.row(i) - result.means.row(c)).squaredNorm();
    }
    EXPECT_NEAR(result.objective, expected, 1e-10);
    EXPECT_EQ(std::accumulate(result.sizes.begin(), result.sizes.end(), 0u),
              60u);
    for (const uint32_t size : result.sizes) EXPECT_GE(size, 1u);
  }
}

// The best order of one group is that of the mean: there is no assignment to
// choose.
TEST(ClusterTest, OneClusterIsTheAggregate) {
  std::mt19937_64 random(4);
  const ScoreMatrix lists = RandomLists(&random, 20, 6);
  ClusterOptions options;
  options.clusters = 1;
  ASSERT_OK_AND_ASSIGN(
      const Clustering result,
      Cluster(lists, *CardinalityFunction::AllPairs(6), options, nullptr));
  const Eigen::VectorXd mean = lists.colwise().mean();
  EXPECT_EQ(result.orders[0], OrderOf({mean.data(), 6}));
}

// Equal lists leave clusters empty unless they are filled.
TEST(ClusterTest, FillsEmptyClusters) {
  ScoreMatrix lists = ScoreMatrix::Constant(5, 3, 0.5);
  ClusterOptions options;
  options.clusters = 5;
  ASSERT_OK_AND_ASSIGN(
      const Clustering result,
      Cluster(lists, *CardinalityFunction::AllPairs(3), options, nullptr));
  for (const uint32_t size : result.sizes) EXPECT_EQ(size, 1u);
}

TEST(ClusterTest, IsAFunctionOfItsSeed) {
  std::mt19937_64 random(5);
  const ScoreMatrix lists = RandomLists(&random, 200, 6);
  const auto run = [&](uint64_t seed, uint32_t restarts) {
    ClusterOptions options;
    options.clusters = 6;
    options.seed = seed;
    options.restarts = restarts;
    return Cluster(lists, *CardinalityFunction::AllPairs(6), options, nullptr)
        .value();
  };
  EXPECT_EQ(run(1, 1).cluster, run(1, 1).cluster);
  EXPECT_NE(run(1, 1).cluster, run(2, 1).cluster);
  EXPECT_LE(run(1, 20).objective, run(1, 1).objective);
}

TEST(ClusterTest, NamesWhatIsWrong) {
  const ScoreMatrix lists = ScoreMatrix::Zero(3, 2);
  const auto f = CardinalityFunction::AllPairs(2);
  const auto problem = [&](const ScoreMatrix& data, auto set) {
    ClusterOptions options;
    set(&options);
    return std::string(Cluster(data, *f, options, nullptr).status().message());
  };
  EXPECT_THAT(problem(lists, [](auto* o) { o->clusters = 4; }),
              HasSubstr("clusters is 4, must be in [1, 3]"));
  EXPECT_THAT(problem(lists, [](auto* o) { o->euclidean = NAN; }),
              HasSubstr("euclidean is nan, must be at least 0"));
  EXPECT_THAT(problem(lists, [](auto* o) { o->restarts = 0; }),
              HasSubstr("restarts is 0"));
  EXPECT_THAT(problem(ScoreMatrix::Zero(3, 4), [](auto*) {}),
              HasSubstr("lists have 4 scores, must have 2"));
  EXPECT_THAT(problem(ScoreMatrix::Constant(3, 2, INFINITY), [](auto*) {}),
              HasSubstr("score 0 of list 0 is inf, must be finite"));
}

BlockFunction AllPairs(size_t n) {
  return BlockFunction({CardinalityFunction::AllPairs(n)});
}

GroupingChoice Choose(const ScoreMatrix& vectors, uint32_t clusters,
                      double euclidean = 0) {
  config::v1::ClusterOptions options;
  options.add_clusters(clusters);
  options.set_euclidean(euclidean);
  return ChooseClusters(vectors, AllPairs(vectors.cols()), options).value();
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
  const GroupingChoice choice = Choose(vectors, 2);
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
  const GroupingChoice choice = Choose(vectors, 2, 2);
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
  const GroupingChoice choice = Choose(vectors, 2);
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
  const GroupingChoice choice = Choose(vectors, 3, 1);
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

using Index = Eigen::Index;

// Rows alternate between sources. Rows are sampled at random, so that with a
// period of any length each source has its share, within 6 standard deviations.
TEST(PrincipalAxesTest, RowsOfAnyPeriodAreMet) {
  for (const Index period : {2, 3, 5}) {
    const std::vector<Index> places = SpreadOut(3000 * period, 3000);
    ASSERT_EQ(places.size(), 3000u);
    std::vector<int> counts(period);
    for (Index i = 0; i < 3000; ++i) {
      ASSERT_GE(places[i], i * period);
      ASSERT_LT(places[i], (i + 1) * period);
      ++counts[places[i] % period];
    }
    for (const int count : counts)
      EXPECT_NEAR(count, 3000.0 / static_cast<double>(period), 165);
  }
  EXPECT_EQ(SpreadOut(4, 9), (std::vector<Index>{0, 1, 2, 3}));
}

// Points along (3, 4) / 5 with a small orthogonal part; most of the many
// columns are constant.
TEST(PrincipalAxesTest, FindsTheDirectionsOfLargestVariance) {
  ScoreMatrix vectors = ScoreMatrix::Constant(400, 50, 7);
  for (int i = 0; i < 400; ++i) {
    const double along = std::cos(i);
    const double across = 0.1 * std::sin(2 * i);
    vectors(i, 10) += 0.6 * along - 0.8 * across;
    vectors(i, 20) += 0.8 * along + 0.6 * across;
  }
  const PrincipalAxes axes = FindPrincipalAxes(vectors);
  EXPECT_NEAR(axes.axes(10, 0), 0.6, 1e-3);
  EXPECT_NEAR(axes.axes(20, 0), 0.8, 1e-3);
  EXPECT_NEAR(axes.axes(10, 1), 0.8, 1e-3);
  EXPECT_NEAR(axes.axes(20, 1), -0.6, 1e-3);
  EXPECT_NEAR(axes.axes.col(0).norm(), 1, 1e-12);
  EXPECT_NEAR(axes.shares[0], 1 / 1.01, 1e-3);
  EXPECT_NEAR(axes.shares[0] + axes.shares[1], 1, 1e-12);
  const Eigen::MatrixXd points = axes.Project(vectors, {17, 3});
  EXPECT_NEAR(points(0, 0) - points(1, 0), std::cos(17) - std::cos(3), 1e-3);
}

TEST(PrincipalAxesTest, OfEqualVectorsThereAreNone) {
  const PrincipalAxes axes = FindPrincipalAxes(ScoreMatrix::Constant(5, 3, 2));
  EXPECT_EQ(axes.axes.cwiseAbs().maxCoeff(), 0);
  EXPECT_EQ(axes.shares[0], 0);
}

// There are more columns than are copied at a time.
TEST(PrincipalAxesTest, AxesAreTheSingularVectors) {
  srand(1);
  ScoreMatrix vectors = ScoreMatrix::Random(7, 2500);
  vectors.row(0).array() += 2;
  vectors.row(1).array() *= 3;
  const ScoreMatrix centred = vectors.rowwise() - vectors.colwise().mean();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(
      centred, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const PrincipalAxes axes = FindPrincipalAxes(vectors);
  EXPECT_FALSE(axes.of_sample);
  const Eigen::VectorXd squares = svd.singularValues().array().square();
  const Eigen::MatrixXd points = axes.Project(vectors, {0, 1, 2, 3, 4, 5, 6});
  for (Index a = 0; a < 2; ++a) {
    EXPECT_NEAR(std::abs(axes.axes.col(a).dot(svd.matrixV().col(a))), 1, 1e-9);
    EXPECT_NEAR(axes.shares[a], squares(a) / squares.sum(), 1e-9);
    EXPECT_GT(axes.axes.col(a).maxCoeff(), -axes.axes.col(a).minCoeff());
    EXPECT_NEAR(points.col(a).squaredNorm(), squares(a), 1e-9 * squares(a));
  }
  EXPECT_TRUE(FindPrincipalAxes(ScoreMatrix::Random(401, 2)).of_sample);
}

}  // namespace
}  // namespace sortition
