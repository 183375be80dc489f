#include "core/learners/games/game_objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "core/data/labelled_queries.h"
#include "core/games/ranking/ranking_certificate.h"
#include "core/games/ranking/smoothed_adversary.h"
#include "core/metrics/letor_metrics.h"
#include "gtest/gtest.h"
#include "tests/core/learners/games/game_objective_testing.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using testing::TestWithParam;
using testing::ValuesIn;

// One feature, ψ = x at θ = 1; J = λ/2 - ψ·y - V, ∇J = λ + Σ x (q - y).
struct Golden {
  std::vector<float> psi;
  std::vector<uint32_t> relevances;
  double value;     // V
  double moment;    // Σ x q
  double labelled;  // ψ·y
};

void ExpectGolden(const GameOptions& options, const Golden& golden) {
  TestQueries queries;
  queries.Add(golden.psi, golden.relevances);
  const auto objective = MakeObjective(queries, options);
  objective->SetLambda(0.5);
  Eigen::VectorXd gradient(1);
  const double j = objective->Evaluate(Eigen::VectorXd::Ones(1), &gradient);
  EXPECT_NEAR(j, 0.25 - golden.labelled - golden.value, 1e-6);
  EXPECT_NEAR(gradient[0], 0.5 + golden.moment - golden.labelled, 1e-6);
}

TEST(GameObjectiveTest, ValuesOfGamesSolvedByHand) {
  GameOptions options;
  options.set_max_relevance(2);
  // Ranks 1 to 3 are pooled: D_1 + D_2 + D_3 = 2.130929753571, so each has v =
  // (2.130929753571 - 2.4) / 3, and two positives cost 2 v; q = 2/3 each.
  const double v = (1 + 1 / std::log2(3.0) + 0.5 - 2.4) / 3;
  const std::vector<float> pooled = {.9F, .8F, .7F, -.1F};
  ExpectGolden(options, {pooled, {2, 0, 1, 0}, 2 * v, 1.6, 1.6});
  options.set_adversary(GameOptions::FREE);  // All with v < 0.
  ExpectGolden(options, {pooled, {2, 0, 1, 0}, 3 * v, 2.4, 1.6});
  options.set_adversary(GameOptions::K_POSITIVES);
  options.set_k(4);  // All four; the last adds D_4 + 0.1.
  ExpectGolden(
      options,
      {pooled, {2, 0, 1, 0}, 3 * v + 1 / std::log2(5.0) + .1, 2.3, 1.6});
  options.clear_k();
  options.clear_adversary();
  options.set_measure(GameOptions::GRADED_DCG);  // Gains 0, 1/3, 1.
  ExpectGolden(options,
               {pooled, {2, 0, 1, 0}, 4 * v / 3, 4. / 9 * 2.4, .9 + .7 / 3});
  options.set_measure(GameOptions::PRECISION);
  options.set_k(2);
  // P = (1, .7, .3, 0); the first costs 1/2 - 1, each of the block .05.
  ExpectGolden(options,
               {{1, .3F, .1F, -.2F}, {0, 1, 0, 2}, -.5 + .05, 1.2, .1});
  options.set_measure(GameOptions::F_BETA);
  // P(empty) = V = 4/15; q = (1/3, 1/6, 1/6).
  ExpectGolden(options, {{.2F, .1F, -.1F}, {1, 0, 0}, 4. / 15, .2 / 3, .2});
}

TEST(GameObjectiveTest, ValueOfAGradedGameWithALevelThatIsNeverWorthIt) {
  // Gains are 0, 1/3, 1 and ψ is that of the rows below over 3, with one
  // feature per item. With gains 0, 1, 3 the slopes are (.8, .8), (.9, .3), (0,
  // 0): the first gap has {1, 2} with v = (1.630929753571 - 1.7) / 2 < 0, the
  // second gap v > 0.
  TestQueries queries;
  queries.Add({1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0});
  GameOptions options;
  options.set_max_relevance(2);
  options.set_measure(GameOptions::GRADED_DCG);
  options.set_potentials(GameOptions::PER_LEVEL);
  const auto objective = MakeObjective(queries, options);
  objective->SetLambda(1);
  Eigen::VectorXd theta(6);
  theta << .2, .9, -.1, 2.4, 1.5, .1;
  theta /= 3;
  Eigen::VectorXd gradient(6);
  const double value = (1.630929753571457 - 1.7) / 3;
  EXPECT_NEAR(objective->Evaluate(theta, &gradient),
              theta.squaredNorm() / 2 - value, 1e-12);
  // The adversary: level 2 of item 1 with probability 1/3, level 1 of item 2.
  Eigen::VectorXd q(6);
  q << 0, 1, 0, 1. / 3, 0, 0;
  EXPECT_LT((gradient - theta - q).cwiseAbs().maxCoeff(), 1e-12);
}

// The dual objective -(1/N) Σ S_D(q) - |Σ X'(q - y) / N|² / (2λ), with S_D(q)
// the DCG of the best order. q comes from the solvers; no other code of the
// objective is used.
double DualObjective(const TestQueries& queries, const Eigen::VectorXd& theta,
                     double mu, double lambda) {
  double score = 0;
  Eigen::VectorXd moments = Eigen::VectorXd::Zero(theta.size());
  RankingGame game;
  RankingEquilibrium e;
  for (const LabelledItems& query : queries.views()) {
    const auto n = static_cast<uint32_t>(query.relevances.size());
    std::vector<double> psi(n);
    for (uint32_t i = 0; i < n; ++i) {
      psi[i] = query.items.Score(i, {theta.data(), 3});
    }
    const double m =
        std::accumulate(query.relevances.begin(), query.relevances.end(), 0.0);
    const Discounts discounts = Discounts::Dcg(n);
    EXPECT_OK(game.Solve(psi, discounts, {m, m}, &e));
    if (mu > 0) {
      EXPECT_OK(SmoothAdversary(psi, e.expected_discounts, {m, m}, mu,
                                e.positive_probabilities)
                    .status());
    }
    score += BestOrderScore(discounts, e.positive_probabilities);
    for (uint32_t i = 0; i < n; ++i) {
      query.items.AddRow(i, e.positive_probabilities[i] - query.relevances[i],
                         {moments.data(), 3});
    }
  }
  const auto n = static_cast<double>(queries.views().size());
  return -score / n - (moments / n).squaredNorm() / (2 * lambda);
}

TEST(GameObjectiveTest, OneEvaluationBoundsByTheDualObjectiveOfItsAdversary) {
  RandomSequence random(SeedKey(9));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestQueries queries = RandomQueries({.rounded = seed % 2 == 0}, seed);
    for (const double mu : {0., 1e-4, 0.3}) {
      const auto objective = MakeObjective(queries, GameOptions());
      objective->SetLambda(0.2);
      objective->SetSmoothing(mu);
      const Eigen::VectorXd theta = RandomPoint(3, 0.4, &random);
      objective->Evaluate(theta, nullptr);
      EXPECT_NEAR(objective->LowerBound().value,
                  DualObjective(queries, theta, mu, 0.2), 1e-12);
    }
  }
}

// Strategies far from an equilibrium make bounds loose, but never wrong, also
// beyond ψ = 2, where the solver cuts potentials.
TEST(GameObjectiveTest, LooselySolvedGamesBoundFromBothSides) {
  GameOptions options;
  options.set_measure(GameOptions::F_BETA);
  options.set_game_tolerance(1e-9);
  GameOptions loosely = options;
  loosely.set_game_tolerance(1);
  RandomSequence random(SeedKey(12));
  double widest = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TestQueries queries =
        RandomQueries({.num_queries = 1, .num_features = 8}, seed);
    const auto exact = MakeObjective(queries, options);
    const auto loose = MakeObjective(queries, loosely);
    // The penalty is negligible, so that only the games count.
    exact->SetLambda(1e-9);
    loose->SetLambda(1e-9);
    const double scale = std::exp2(static_cast<double>(seed % 6) - 2);
    const Eigen::VectorXd a = RandomPoint(8, scale, &random);
    Eigen::VectorXd gradient;
    loose->Evaluate(-a, nullptr);  // Its sets are bad at a.
    loose->SetLambda(1e-9);        // Forgets that value.
    const double below = loose->Evaluate(a, &gradient);
    const double j = exact->Evaluate(a, nullptr);
    EXPECT_LE(below, j + 1e-8) << seed;
    EXPECT_GE(loose->best_value(), j - 1e-8) << seed;
    for (const double step : {-2., 0.5, 3.}) {
      const Eigen::VectorXd b = step * a;
      EXPECT_GE(exact->Evaluate(b, nullptr), below + gradient.dot(b - a) - 1e-8)
          << seed << " " << step;
    }
    widest = std::max(widest, loose->best_value() - below);
  }
  EXPECT_GT(widest, 0.1);
}

// If potentials are far apart, the predictor plays their order with certainty,
// so the expected measure is that of LETOR's tool for this order, over the
// queries that have something relevant.
TEST(GameObjectiveTest, ExpectedMeanNdcgOfAStrictOrderIsThatOfLetorsTool) {
  const TestQueries queries = RandomQueries(
      {.num_queries = 40, .most_items = 15, .max_relevance = 2}, 21);
  const std::vector<double> theta = {1e3, 2e3, -1e3};
  double mean_ndcg = 0, ndcg_at_3 = 0;
  int num_queries = 0;
  for (const LabelledItems& query : queries.views()) {
    const std::vector<uint32_t> labels(query.relevances.begin(),
                                       query.relevances.end());
    std::vector<double> scores(labels.size());
    ScoreAll(query.items, theta, scores);
    if (*std::max_element(labels.begin(), labels.end()) == 0) continue;
    ++num_queries;
    const LetorFigures figures = LetorFiguresOf(TiedRanking(scores, labels));
    mean_ndcg += figures.mean_ndcg;
    ndcg_at_3 += figures.ndcg[std::min<size_t>(3, labels.size()) - 1];
  }
  ASSERT_LT(num_queries, 40);
  GameOptions options;
  options.set_max_relevance(2);
  options.set_discounts(GameOptions::LETOR);
  options.set_measure(GameOptions::MEAN_NDCG);
  const Eigen::Map<const Eigen::VectorXd> point(theta.data(), 3);
  EXPECT_NEAR(MakeObjective(queries, options)->ExpectedScore(point).value(),
              mean_ndcg / num_queries, 1e-9);
  options.set_measure(GameOptions::NDCG);
  options.set_k(3);
  EXPECT_NEAR(MakeObjective(queries, options)->ExpectedScore(point).value(),
              ndcg_at_3 / num_queries, 1e-9);
}

// Every evaluation adds a plane for each query: mixed separately they bound at
// least as well as their mean does.
TEST(GameObjectiveTest, PlanesOfQueriesBoundMoreTightlyThanTheirMean) {
  RandomSequence random(SeedKey(14));
  double gained = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TestQueries queries = RandomQueries({}, seed);
    const auto objective = MakeObjective(queries, GameOptions());
    ASSERT_TRUE(objective->has_query_planes());
    objective->SetLambda(0.1);
    double least = HUGE_VAL;
    for (int step = 0; step < 8; ++step) {
      least = std::min(
          least, objective->Evaluate(RandomPoint(3, 0.4, &random), nullptr));
    }
    const double one = objective->LowerBound(1e-9, 900).value;
    const double each = objective->LowerBound(1e-9, 20000).value;
    EXPECT_LE(each, least + 1e-12);
    EXPECT_GE(each, one - 1e-12);
    gained += each - one;
  }
  EXPECT_GT(gained, 0.1);
}

TEST(GameObjectiveTest, SmoothedObjectiveIsNearAndBelow) {
  constexpr double kMu = 0.05;
  RandomSequence random(SeedKey(10));
  const TestQueries queries = RandomQueries({}, 3);
  const auto objective = MakeObjective(queries, GameOptions());
  objective->SetLambda(0.2);
  for (int step = 0; step < 20; ++step) {
    const Eigen::VectorXd theta = RandomPoint(3, 0.4, &random);
    objective->SetSmoothing(0);
    const double exact = objective->Evaluate(theta, nullptr);
    objective->SetSmoothing(kMu);
    Eigen::VectorXd gradient;
    const double smoothed = objective->Evaluate(theta, &gradient);
    EXPECT_LE(smoothed, exact + 1e-12);
    EXPECT_GE(smoothed, exact - kMu / 2 * 8);  // At most 8 positives.
    EXPECT_LT((gradient - CentralDifferences(*objective, theta))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-7);
  }
}

TEST(GameObjectiveTest, KeepsTheBestExactPointOfALambda) {
  const TestQueries queries = RandomQueries({}, 13);
  const auto objective = MakeObjective(queries, GameOptions());
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(3);
  const Eigen::VectorXd far = Eigen::VectorXd::Constant(3, 100);
  objective->SetLambda(1);
  const double j = objective->Evaluate(zero, nullptr);
  EXPECT_GT(objective->Evaluate(far, nullptr), j);
  objective->SetSmoothing(1);  // Below J, so it does not count.
  EXPECT_LT(objective->Evaluate(zero, nullptr), j);
  objective->SetSmoothing(0);
  EXPECT_EQ(objective->best_point(), zero);
  EXPECT_EQ(objective->best_value(), j);
  objective->SetLambda(2);
  objective->Evaluate(far, nullptr);
  EXPECT_EQ(objective->best_point(), far);
}

TEST(GameObjectiveTest, CentredFeaturesAreThoseLessTheirMeanInTheQuery) {
  TestQueries raw, centred;
  raw.Add({1, 5, 2, 4, 3, 3, 6, 0}, {1, 0, 0, 1});  // Both means are 3.
  centred.Add({-2, 2, -1, 1, 0, 0, 3, -3}, {1, 0, 0, 1});
  GameOptions options;
  options.set_adversary(GameOptions::FREE);
  const auto plain = MakeObjective(centred, options);
  options.set_centre_features(true);
  const auto centring = MakeObjective(raw, options);
  const Eigen::Vector2d theta(.3, -.05);
  Eigen::VectorXd one, other;
  EXPECT_NEAR(plain->Evaluate(theta, &one), centring->Evaluate(theta, &other),
              1e-12);
  EXPECT_LT((one - other).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(GameObjectiveTest, ExpectedScoreIsThatOfTheEquilibriumStrategy) {
  // d in ValuesOfGamesSolvedByHand is ψ + v.
  const double v = (1 + 1 / std::log2(3.0) + 0.5 - 2.4) / 3;
  TestQueries queries;
  queries.Add({.9F, .8F, .7F, -.1F}, {1, 0, 1, 0});
  queries.Add({.9F, .8F, .7F, -.1F}, {0, 0, 0, 1});
  const auto dcg = MakeObjective(queries, GameOptions());
  EXPECT_NEAR(dcg->ExpectedScore(Eigen::VectorXd::Ones(1)).value(),
              (.9 + .7 + 2 * v + 1 / std::log2(5.0)) / 2, 1e-6);
  // ψ = 0, two items: the predictor plays the empty set with probability
  // (1+β²)/(n+1+2β²) = 2/5, otherwise both items, whose F is 2/3 with one
  // positive and 0 with none.
  GameOptions options;
  options.set_measure(GameOptions::F_BETA);
  TestQueries sets;
  sets.Add({1, 2}, {1, 0});
  sets.Add({1, 2}, {0, 0});
  EXPECT_NEAR(MakeObjective(sets, options)
                  ->ExpectedScore(Eigen::VectorXd::Zero(1))
                  .value(),
              (.6 * 2 / 3 + .4) / 2, 1e-6);
}

// Properties of the objective of every measure: gradients, subgradients, the
// same bits for any number of threads.

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
