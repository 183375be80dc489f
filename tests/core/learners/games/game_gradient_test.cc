// Properties of the objective of every measure: gradients, subgradients, the
// same bits for any number of threads.
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/learners/games/game_objective_testing.h"
#include "tests/testing/central_differences.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

class EveryGameGradientTest : public TestWithParam<GameOptions> {};

TEST_P(EveryGameGradientTest, GradientMatchesDifferences) {
  RandomSequence random(SeedKey(5));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestQueries queries = RandomQueries({.max_relevance = 2}, seed);
    const auto objective = MakeObjective(queries, GetParam());
    objective->SetLambda(0.1);
    const Eigen::VectorXd point =
        RandomPoint(objective->dimension(), 0.4, &random);
    Eigen::VectorXd gradient;
    objective->Evaluate(point, &gradient);
    // The objective is linear between kinks, which are rare; F_BETA's values
    // are accurate to 1e-9.
    const double tolerance =
        GetParam().measure() == GameOptions::F_BETA ? 1e-4 : 1e-8;
    EXPECT_LT((gradient - CentralDifferences(*objective, point))
                  .cwiseAbs()
                  .maxCoeff(),
              tolerance)
        << seed;
  }
}

TEST_P(EveryGameGradientTest, SubgradientsSupportTheObjectiveEverywhere) {
  constexpr double kLambda = 0.3;
  RandomSequence random(SeedKey(6));
  for (uint64_t seed = 0; seed < 10; ++seed) {
    // Ties make kinks at every point of the test.
    const TestQueries queries =
        RandomQueries({.max_relevance = 2, .rounded = true}, seed);
    const auto objective = MakeObjective(queries, GetParam());
    objective->SetLambda(kLambda);
    std::vector<Eigen::VectorXd> points, gradients;
    std::vector<double> values;
    for (const double scale : {0., 0.01, 0.3, 1., 5.}) {
      points.push_back(RandomPoint(objective->dimension(), scale, &random));
      for (double& x : points.back()) x = std::round(x * 8) / 8;
      gradients.emplace_back();
      values.push_back(objective->Evaluate(points.back(), &gradients.back()));
    }
    for (size_t a = 0; a < points.size(); ++a) {
      for (size_t b = 0; b < points.size(); ++b) {
        const Eigen::VectorXd step = points[b] - points[a];
        EXPECT_GE(values[b], values[a] + gradients[a].dot(step) +
                                 kLambda / 2 * step.squaredNorm() - 2e-9)
            << seed << " " << a << " " << b;
      }
    }
    // Therefore no bound from planes is above any value.
    EXPECT_LE(objective->LowerBound().value,
              *std::min_element(values.begin(), values.end()) + 2e-9);
  }
}

TEST_P(EveryGameGradientTest, ThreadsDoNotChangeABit) {
  const TestQueries queries =
      RandomQueries({.num_queries = 100, .max_relevance = 2}, 7);
  const auto two_threads = [](size_t count,
                              const std::function<void(size_t)>& body) {
    std::thread odd([&] {
      for (size_t i = 1; i < count; i += 2) body(i);
    });
    for (size_t i = (count + 1) / 2; i-- > 0;) body(2 * i);
    odd.join();
  };
  const auto serial = MakeObjective(queries, GetParam());
  const auto parallel =
      GameObjective::Create(queries.views(), GetParam(), two_threads).value();
  RandomSequence random(SeedKey(8));
  Eigen::VectorXd one, other;
  for (int step = 0; step < 5; ++step) {
    const Eigen::VectorXd point =
        RandomPoint(serial->dimension(), 0.3, &random);
    EXPECT_EQ(serial->Evaluate(point, &one), parallel->Evaluate(point, &other));
    EXPECT_EQ(one, other);
    EXPECT_EQ(serial->ExpectedScore(point).value(),
              parallel->ExpectedScore(point).value());
  }
  EXPECT_EQ(serial->LowerBound().value, parallel->LowerBound().value);
}

INSTANTIATE_TEST_SUITE_P(All, EveryGameGradientTest, ValuesIn(AllGames()));

}  // namespace
}  // namespace sortition
