#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/learners/hinge/hinge_learner.h"
#include "core/learners/orders/list_net.h"
#include "core/learners/orders/order_learners.h"
#include "core/learners/orders/pulled_list_net.h"
#include "core/learners/orders/pulled_regression.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/hinge.pb.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;
using config::v1::ListNetOptions;
using config::v1::OrderDivergence;
using config::v1::RankSvmOptions;
using config::v1::RegressionOptions;

constexpr double kLambda = 0.02;

TestQueries NoisyQueries(uint64_t seed, double noise = 1) {
  return Standardised(RandomQueries({.num_queries = 15,
                                     .num_features = 3,
                                     .max_relevance = 2,
                                     .noise = noise},
                                    seed));
}

// One learner at λ = kLambda.
struct Pulled {
  std::string name;
  std::unique_ptr<LabelledLearner> learner;
  // The objective without orders; for regression with the best intercept.
  std::function<double(const TestQueries&, const std::vector<double>&)>
      objective;
};

double Norm(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight * weight;
  return sum;
}

// λ/2 ‖w‖² and the mean over all pairs, one by one; KENDALL takes the mean by
// query.
double Hinge(const TestQueries& queries, const std::vector<double>& weights,
             bool by_query) {
  double sum = 0, count = 0;
  for (const LabelledItems& query : queries.views()) {
    const std::vector<double> s = ScoresOf(query, weights);
    double of_query = 0, pairs = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      for (size_t j = 0; j < s.size(); ++j) {
        if (query.relevances[i] <= query.relevances[j]) continue;
        of_query += std::max(0.0, 1 - s[i] + s[j]);
        ++pairs;
      }
    }
    if (pairs == 0) continue;
    sum += by_query ? of_query / pairs : of_query;
    count += by_query ? 1 : pairs;
  }
  return kLambda / 2 * Norm(weights) + sum / count;
}

double Squares(const TestQueries& queries, const std::vector<double>& weights) {
  std::vector<double> errors;
  for (const LabelledItems& query : queries.views()) {
    const std::vector<double> s = ScoresOf(query, weights);
    for (size_t i = 0; i < s.size(); ++i) {
      errors.push_back(s[i] - query.relevances[i]);
    }
  }
  double mean = 0;
  for (const double error : errors) mean += error;
  mean /= static_cast<double>(errors.size());
  double sum = kLambda * Norm(weights);
  for (const double error : errors) sum += (error - mean) * (error - mean);
  return sum;
}

double Entropy(const TestQueries& queries, const std::vector<double>& weights) {
  const ListNetObjective objective(queries.views(), kLambda,
                                   ListNetOptions::RELEVANCE);
  return objective.Evaluate(
      Eigen::Map<const Eigen::VectorXd>(weights.data(), 3), nullptr);
}

std::vector<Pulled> AllPulled() {
  std::vector<Pulled> all;
  RankSvmOptions rank_svm;
  rank_svm.add_lambda(kLambda);
  all.push_back({"ranksvm", *MakeRankSvmLearner(rank_svm, kShape),
                 [](const auto& q, const auto& w) { return Hinge(q, w, 0); }});
  for (const auto solver : {HingeOptions::ONE_SLACK, HingeOptions::N_SLACK,
                            HingeOptions::SUBGRADIENT}) {
    HingeOptions hinge;
    hinge.add_lambda(kLambda);
    hinge.set_loss(HingeOptions::KENDALL);
    hinge.set_solver(solver);
    hinge.set_gap_tolerance(solver == HingeOptions::SUBGRADIENT ? 2e-2 : 1e-3);
    hinge.set_max_passes(4000);
    all.push_back(
        {"hinge " + HingeOptions::Solver_Name(solver),
         *MakeHingeLearner(hinge, kShape),
         [](const auto& q, const auto& w) { return Hinge(q, w, 1); }});
  }
  ListNetOptions list_net;
  list_net.add_lambda(kLambda);
  all.push_back({"listnet", *MakeListNetLearner(list_net, kShape), &Entropy});
  RegressionOptions regression;
  regression.add_l2(kLambda);
  all.push_back(
      {"regression", *MakeRegressionLearner(regression, kShape), &Squares});
  return all;
}

struct Fit {
  std::vector<double> weights;
  LabelledPoint point;
};

Fit FitOf(const Pulled& pulled, const TestQueries& queries,
          const TrustedOrders* orders, double weight) {
  LabelledTask task{.training = queries.views(),
                    .validation = queries.views(),
                    .trusted_orders = orders};
  if (orders != nullptr) task.trusted_weights = {weight};
  const auto result = pulled.learner->Train(task);
  EXPECT_OK(result);
  if (!result.ok()) return {};
  EXPECT_EQ(result->points.size(), 1);
  return {result->weights, result->points[0]};
}

// Searches by random steps of growing and shrinking length from `point`: slow,
// but independent of slopes and planes.
double LeastBySearch(const std::function<double(const std::vector<double>&)>& f,
                     std::vector<double> point, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  double best = f(point);
  double length = 1;
  for (int step = 0; step < 3000; ++step) {
    std::vector<double> next = point;
    for (double& x : next) x += length * random.Normal();
    const double value = f(next);
    length *= value < best ? 1.6 : 0.85;
    length = std::max(length, 1e-7);
    if (!(value < best)) continue;
    best = value;
    point = next;
  }
  return best;
}

// The reported objective is eq. 23 at the weights, the bound holds against a
// search that starts elsewhere, and the two are near.
TEST(PulledLearnersTest, ProveThatTheyMinimiseEquation23) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const TestQueries queries = NoisyQueries(seed);
    // The orders agree with the labels by half, so that neither alone has the
    // minimum.
    const std::vector<Order> orders = OrdersBy(queries, {1, 1, 0.2});
    for (const TrustedKind& of : TrustedKinds()) {
      const TrustedOrders trusted = TrustedOf(queries, orders, of);
      for (const Pulled& pulled : AllPulled()) {
        const double weight = pulled.name == "regression" ? 8 : 0.3;
        const auto objective = [&](const std::vector<double>& w) {
          return pulled.objective(queries, w) +
                 weight * MeanByDefinition(queries, orders, of, w);
        };
        const Fit fit = FitOf(pulled, queries, &trusted, weight);
        SCOPED_TRACE(pulled.name);
        EXPECT_NEAR(fit.point.objective, objective(fit.weights),
                    1e-6 * fit.point.objective);
        ASSERT_TRUE(fit.point.dual_bound.has_value());
        const double allowed = std::max(1e-3, pulled.learner->gap_tolerance());
        EXPECT_LE(fit.point.objective - *fit.point.dual_bound, allowed)
            << fit.point.termination;
        const double searched = LeastBySearch(objective, {0, 0, 0}, seed);
        EXPECT_LE(*fit.point.dual_bound, searched * (1 + 1e-6));
        EXPECT_NEAR(searched, fit.point.objective,
                    allowed + 2e-3 * fit.point.objective);
        // The minimum is neither at 0 nor where it would be without the orders.
        EXPECT_LT(fit.point.objective, objective({0, 0, 0}) - allowed);
        EXPECT_LT(FitOf(pulled, queries, nullptr, 0).point.objective,
                  *fit.point.dual_bound);
      }
    }
  }
}

TEST(PulledLearnersTest, Weight0IsNoOrderToTheBit) {
  const TestQueries queries = NoisyQueries(4);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 4), TrustedKinds()[0]);
  for (const Pulled& pulled : AllPulled()) {
    SCOPED_TRACE(pulled.name);
    const Fit without = FitOf(pulled, queries, nullptr, 0);
    const Fit with = FitOf(pulled, queries, &trusted, 0);
    EXPECT_EQ(with.weights, without.weights);
    EXPECT_EQ(with.point.objective, without.point.objective);
    EXPECT_EQ(with.point.dual_bound, without.point.dual_bound);
    EXPECT_EQ(with.point.passes, without.point.passes);
    EXPECT_EQ(without.point.setting, "");
    EXPECT_FALSE(without.point.from_trusted.has_value());
    EXPECT_EQ(with.point.setting, "trusted order weight 0");
    ASSERT_TRUE(with.point.from_trusted.has_value());
    EXPECT_GT(with.point.from_trusted->inverted_pairs, 0.2);
  }
}

// For exact minimisers w1, w2 at weights c1 < c2, J1(w1) <= J1(w2) and J2(w2)
// <= J2(w1) add up to (c2 - c1) (D(w2) - D(w1)) <= 0; for approximate ones the
// right side is the sum of their proved gaps.
TEST(PulledLearnersTest, TheDivergenceFallsWithTheWeight) {
  const TestQueries queries = NoisyQueries(5);
  const TrustedOrders trusted =
      TrustedOf(queries, OrdersBy(queries, {1, 1, 0.2}), TrustedKinds()[0]);
  for (const Pulled& pulled : AllPulled()) {
    SCOPED_TRACE(pulled.name);
    double last_weight = 0, last_gap = 0, last = 0, first = 0;
    for (double weight : {0.1, 0.4, 2.0, 10.0}) {
      if (pulled.name == "regression") weight *= 40;  // Its loss is a sum.
      const LabelledPoint point =
          FitOf(pulled, queries, &trusted, weight).point;
      const double gap = point.objective - *point.dual_bound;
      const double now = point.from_trusted->divergence;
      if (last_weight > 0) {
        EXPECT_LE(now,
                  last + (gap + last_gap) / (weight - last_weight) + 1e-12);
      } else {
        first = now;
      }
      last_weight = weight;
      last_gap = gap;
      last = now;
    }
    EXPECT_LT(last, 0.7 * first);  // It does fall.
  }
}

// With J_0 the objective without orders and w* in their order, D(w*) = 0 and c
// D(w) <= J_c(w) - min J_0 <= J_0(w*) + gap - min J_0: for large c the scores
// have that order, up to differences that vanish.
TEST(PulledLearnersTest, ALargeWeightGivesTheTrustedOrder) {
  const TestQueries queries = NoisyQueries(6, 3);  // Noise: labels disagree.
  const std::vector<double> truth = {1, 0.4, 0.5};
  const std::vector<Order> orders = OrdersBy(queries, truth);
  const TrustedOrders trusted =
      TrustedOf(queries, orders, {OrderDivergence::ALL_PAIRS, 0});
  constexpr double kWeight = 3000;
  for (const Pulled& pulled : AllPulled()) {
    if (pulled.name == "hinge SUBGRADIENT") continue;  // Far too slow.
    SCOPED_TRACE(pulled.name);
    const Fit before = FitOf(pulled, queries, &trusted, 0);
    EXPECT_GT(before.point.from_trusted->inverted_pairs, 0.05);
    const Fit fit = FitOf(pulled, queries, &trusted, kWeight);
    ASSERT_TRUE(fit.point.dual_bound.has_value());
    const double gap = fit.point.objective - *fit.point.dual_bound;
    double agreeing = std::numeric_limits<double>::infinity();
    for (double scale = 0; scale <= 2; scale += 0.05) {
      std::vector<double> w = truth;
      for (double& x : w) x *= scale;
      agreeing = std::min(agreeing, pulled.objective(queries, w));
    }
    EXPECT_LE(kWeight * fit.point.from_trusted->divergence,
              agreeing + gap - pulled.objective(queries, before.weights) +
                  std::abs(before.point.objective) * 1e-2);
    // The weights do not shrink to nothing: they are better than scores of 0.
    EXPECT_LT(fit.point.objective, pulled.objective(queries, {0, 0, 0}));
    // No pair is the wrong way round by more than a hundredth of the spread.
    for (size_t q = 0; q < orders.size(); ++q) {
      const std::vector<double> s = ScoresOf(queries.views()[q], fit.weights);
      for (size_t r = 0; r + 1 < s.size(); ++r) {
        EXPECT_GT(s[orders[q][r]],
                  s[orders[q][r + 1]] - 1e-2 * std::sqrt(Norm(fit.weights)));
      }
    }
  }
}

// The gap that each learner aimed at, in units of its objective: a share of J
// for ranksvm and regression. A run that is cut short is above it.
TEST(PulledLearnersTest, PointsSayWhichGapTheyAimedAt) {
  const TestQueries queries = NoisyQueries(8);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 8), TrustedKinds()[0]);
  for (const Pulled& pulled : AllPulled()) {
    SCOPED_TRACE(pulled.name);
    const LabelledPoint point = FitOf(pulled, queries, &trusted, 0.5).point;
    const double tolerance =
        point.gap_tolerance.value_or(pulled.learner->gap_tolerance());
    EXPECT_GT(tolerance, 0);
    EXPECT_LE(point.objective - *point.dual_bound, tolerance);
    if (pulled.name == "ranksvm") {
      EXPECT_DOUBLE_EQ(tolerance, 1e-3 * point.objective);
    }
    if (pulled.name == "listnet") {
      EXPECT_EQ(tolerance, 1e-4);
      EXPECT_FALSE(
          FitOf(pulled, queries, nullptr, 0).point.gap_tolerance.has_value());
    }
    if (pulled.name == "regression") {
      EXPECT_DOUBLE_EQ(tolerance, 1e-5 * point.objective);
    }
  }
}

// L-BFGS meets kinks; its limit of iterations is that of the ascent's passes.
TEST(PulledLearnersTest, PassesOfListNetAreLimitedByItsOptions) {
  const TestQueries queries = NoisyQueries(9);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 9), TrustedKinds()[0]);
  ListNetOptions options;
  options.add_lambda(1e-4);
  options.mutable_lbfgs()->set_max_iterations(2);
  const Pulled pulled = {"", *MakeListNetLearner(options, kShape), {}};
  const LabelledPoint point = FitOf(pulled, queries, &trusted, 1).point;
  EXPECT_EQ(point.passes, 2);
  EXPECT_EQ(point.termination, "max passes");
  EXPECT_GT(point.objective - *point.dual_bound, *point.gap_tolerance);
  options.mutable_lbfgs()->set_max_iterations(0);
  const auto learner = *MakeListNetLearner(options, kShape);
  EXPECT_THAT(learner->Train({.training = queries.views(),
                              .validation = queries.views(),
                              .trusted_orders = &trusted,
                              .trusted_weights = {1}}),
              IsInvalidArgument("list_net.lbfgs.max_iterations is 0"));
}

constexpr uint32_t kMostPasses = 1000;
using Scales = std::vector<double>;
const Scales kScales = {1e6, 1, 1, 1e-4};

// 50 queries of 8 candidates, labels by the sum of the features over their
// scale plus noise, and one query whose labels are all the same.
TestQueries Scaled(const Scales& scales) {
  RandomSequence random(SeedKey(1));
  TestQueries queries;
  for (int q = 0; q <= 50; ++q) {
    std::vector<float> features;
    std::vector<uint32_t> relevances;
    for (int i = 0; i < 8; ++i) {
      double score = random.Normal();
      for (const double scale : scales) {
        const double x = random.Normal();
        score += x;
        features.push_back(static_cast<float>(scale * x));
      }
      const uint32_t relevance = score > 2 ? 2 : score > 0 ? 1 : 0;
      relevances.push_back(q == 50 ? 1 : relevance);
    }
    queries.Add(features, relevances);
  }
  return queries;
}

// The mean of -Σ P log P over the queries whose labels differ, P =
// softmax(labels).
double MeanEntropy(const TestQueries& queries) {
  double sum = 0, count = 0;
  for (const LabelledItems& query : queries.views()) {
    double total = 0, mean = 0;
    for (const uint32_t label : query.relevances) total += std::exp(label);
    for (const uint32_t label : query.relevances) {
      mean += label * std::exp(label) / total;
    }
    if (internal::AllEqual(query.relevances)) continue;
    sum += std::log(total) - mean;
    ++count;
  }
  return sum / count;
}

double ObjectiveAt(const TestQueries& queries, const TrustedOrders& trusted,
                   double lambda, const Eigen::VectorXd& w) {
  std::vector<double> slope(4);
  const ListNetObjective labels(queries.views(), lambda,
                                ListNetOptions::RELEVANCE);
  return labels.Evaluate(w, nullptr) + trusted.AddMean(1, {w.data(), 4}, slope);
}

HingeResult Minimum(const TestQueries& queries, const TrustedOrders& trusted,
                    double lambda) {
  const auto problem =
      *MakePulledListNet(queries.views(), ListNetOptions::RELEVANCE,
                         {.orders = &trusted, .weight = 1});
  config::v1::LbfgsOptions options;
  options.set_max_iterations(kMostPasses);
  return *MakePulledListNetSolver(problem.get(), options)
              ->Minimise(lambda, nullptr);
}

// Features of scales from 1e-4 to 1e6 slow the ascent down. It still ends, its
// proof stays sound, and its bound is at least that of the labels alone. L-BFGS
// comes as near as the ascent does with 1 instead of 1e6, whose J is that at
// v_0 = 1e6 w_0 and λ/2 v_0².
TEST(PulledListNetTest, LearnsFromUnscaledFeatures) {
  const TestQueries queries = Scaled(kScales);
  const TestQueries scaled = Scaled({1, 1, 1, 1e-4});
  const std::vector<Order> orders = OrdersBy(queries, {0, 1, 0, 0});
  const TrustedOrders trusted = TrustedOf(queries, orders, TrustedKinds()[0]);
  const TrustedOrders of_scaled = TrustedOf(scaled, orders, TrustedKinds()[0]);
  for (const double lambda : {1.0 / 50, 1.0 / 50 / 64}) {
    const HingeResult result = Minimum(queries, trusted, lambda);
    EXPECT_EQ(result.termination, "stalled; L-BFGS");
    EXPECT_LT(result.passes, kMostPasses / 2);
    EXPECT_GT(result.gap(), kPulledListNetGap);
    EXPECT_GE(result.dual_bound, MeanEntropy(queries) - 1e-12);
    EXPECT_NEAR(result.objective,
                ObjectiveAt(queries, trusted, lambda, result.weights), 1e-9);
    const HingeResult best = Minimum(scaled, of_scaled, lambda);
    EXPECT_EQ(best.termination, "gap closed");
    EXPECT_LE(result.dual_bound, best.objective);
    EXPECT_LE(result.objective, best.objective + kPulledListNetGap);
    const double v = 1e6 * result.weights[0];
    EXPECT_GE(result.objective, best.dual_bound - lambda / 2 * v * v - 1e-6);
  }
}

// Without l2 a feature that is the same everywhere cannot be distinguished from
// the intercept. With more columns than are solved directly there is no proof.
TEST(PulledRegressionTest, SaysWhatIsProved) {
  const TestQueries queries =
      RandomQueries({.num_queries = 15, .max_relevance = 2}, 8);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 8), TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(PulledRegressionResult result,
                       FitPulledRelevance(queries.views(), 0, {&trusted, 5}));
  EXPECT_TRUE(result.is_proved);
  EXPECT_LE(result.gap(), kPulledRegressionGap * result.objective);
  EXPECT_GE(result.gap(), -1e-9);
  const TestQueries wide =
      RandomQueries({.num_queries = 40, .num_features = 300}, 8);
  const TrustedOrders of_wide =
      TrustedOf(wide, RandomOrders(wide, 8), TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(result,
                       FitPulledRelevance(wide.views(), 1, {&of_wide, 5}));
  EXPECT_FALSE(result.is_proved);
  EXPECT_LE(result.gap(), kPulledRegressionGap * result.objective);
  EXPECT_THAT(FitPulledRelevance(wide.views(), -1, {&of_wide, 5}),
              IsInvalidArgument("l2 is -1, must be finite"));
  EXPECT_THAT(FitPulledRelevance(wide.views(), 1, {&of_wide, NAN}),
              IsInvalidArgument("weight is nan, must be finite"));
}

// One query of scores w (0, 1) + b, relevances 0 and 1, order 0 before 1. The
// least squares are 0 at w = 1, b = 0. Pairs that contradict the order cost,
// with Top(2, 1), c max(0, w). So w - 1 = e with errors shared by b: e²/2 + c
// (1 + e) is least at e = -c, J = c - c²/2, until w = 0 for c >= 1, where J =
// 1/2.
TEST(PulledRegressionTest, SolvesAPairByHand) {
  TestQueries queries;
  queries.Add({0, 1}, {0, 1});
  const TrustedOrders trusted =
      TrustedOf(queries, {{0, 1}}, {config::v1::OrderDivergence::TOP, 1});
  for (const double c : {0.0, 0.25, 0.75, 1.0, 20.0}) {
    ASSERT_OK_AND_ASSIGN(const PulledRegressionResult result,
                         FitPulledRelevance(queries.views(), 0, {&trusted, c}));
    const double w = std::max(0.0, 1 - c);
    const double least = c < 1 ? c - c * c / 2 : 0.5;
    EXPECT_NEAR(result.objective, least, 2e-5 * least + 1e-9);
    EXPECT_NEAR(result.weights[0], w, 0.01);
    EXPECT_LE(result.dual_bound, least + 1e-12);
    EXPECT_LT(result.iterations, kMostPulledIterations);
  }
}

// All relevances are the same: the intercept alone fits them, J = 0, and the
// search ends.
TEST(PulledRegressionTest, EndsWhereTheObjectiveIs0) {
  TestQueries queries;
  queries.Add({0.3F, 1, 0.7F}, {3, 3, 3});
  const TrustedOrders trusted =
      TrustedOf(queries, {{0, 2, 1}}, TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(const PulledRegressionResult result,
                       FitPulledRelevance(queries.views(), 1, {&trusted, 1}));
  EXPECT_NEAR(result.objective, 0, 1e-9);
  EXPECT_NEAR(result.intercept, 3, 1e-4);
  EXPECT_LT(result.iterations, 200);
}

}  // namespace
}  // namespace sortition
