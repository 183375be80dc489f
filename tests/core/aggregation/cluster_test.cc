#include "core/aggregation/cluster.h"

#include <cmath>
#include <numeric>
#include <random>
#include <set>

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

}  // namespace
}  // namespace sortition
