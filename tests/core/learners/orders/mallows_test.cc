#include "core/learners/orders/mallows.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <random>

#include "core/aggregation/lovasz_mallows.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/random.h"
#include "core/learners/labelled/feature_scale.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/action_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/orders.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::MallowsOptions;
using config::v1::OrderDivergence;
using config::v1::RankPolicyOptions;
using testing::HasSubstr;

// Queries of `items` candidates with random scores from each list.
class Queries {
 public:
  Queries(int count, uint32_t items, uint32_t lists, uint64_t seed)
      : items_(items), lists_(lists) {
    RandomSequence random(SeedKey(seed));
    for (int q = 0; q < count; ++q) {
      std::vector<float>& features = features_.emplace_back(items * lists);
      for (float& score : features)
        score = static_cast<float>(random.Uniform());
      // The order of the file, until another one is observed.
      std::vector<uint32_t>& relevances = relevances_.emplace_back(items);
      for (uint32_t i = 0; i < items; ++i) relevances[i] = items - 1 - i;
    }
  }

  void See(size_t q, std::span<const int32_t> order) {
    for (uint32_t r = 0; r < items_; ++r) {
      relevances_[q][order[r]] = items_ - 1 - r;
    }
  }
  std::vector<uint32_t>& relevances(size_t q) { return relevances_[q]; }

  std::vector<LabelledItems> views() const {
    std::vector<LabelledItems> views;
    for (size_t q = 0; q < features_.size(); ++q) {
      views.push_back(
          {Candidates::Dense(features_[q], lists_).value(), relevances_[q]});
    }
    return views;
  }
  // Returns list j of query q.
  std::vector<double> List(size_t q, uint32_t j) const {
    std::vector<double> list;
    for (uint32_t i = 0; i < items_; ++i) {
      list.push_back(features_[q][i * lists_ + j]);
    }
    return list;
  }
  std::vector<double> Scores(size_t q, const std::vector<double>& theta) const {
    std::vector<double> scores(items_);
    for (uint32_t j = 0; j < lists_; ++j) {
      const std::vector<double> list = List(q, j);
      for (uint32_t i = 0; i < items_; ++i) scores[i] += theta[j] * list[i];
    }
    return scores;
  }

 private:
  const uint32_t items_;
  const uint32_t lists_;
  std::deque<std::vector<float>> features_;
  std::deque<std::vector<uint32_t>> relevances_;
};

MallowsOptions OptionsOf(OrderDivergence::Kind divergence, uint32_t cutoff,
                         double lambda) {
  MallowsOptions options;
  options.set_divergence(divergence);
  options.set_cutoff(cutoff);
  options.add_lambda(lambda);
  return options;
}

LabelledShape ShapeOf(uint32_t items, uint32_t lists) {
  return {.num_features = lists, .max_relevance = items - 1};
}

// The probabilities of orders under a policy with these weights, from the
// divergences themselves: log p by order (seed 002, eq. 21).
std::map<Action, double> Enumerate(const Queries& queries, size_t q,
                                   const CardinalityFunction& f,
                                   const std::vector<double>& theta) {
  std::map<Action, double> logs;
  Order order(f.num_items());
  std::iota(order.begin(), order.end(), 0u);
  double sum = 0;
  do {
    double divergence = 0;
    for (uint32_t j = 0; j < theta.size(); ++j) {
      divergence += theta[j] * f.Divergence(queries.List(q, j), order);
    }
    logs[Action(order.begin(), order.end())] = -divergence;
    sum += std::exp(-divergence);
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& [action, log] : logs) log -= std::log(sum);
  return logs;
}

ScoredCandidates AllOf(std::span<const double> scores) {
  ScoredCandidates candidates;
  candidates.scores = scores;
  candidates.top_k = static_cast<uint32_t>(scores.size());
  return candidates;
}

struct Case {
  OrderDivergence::Kind divergence;
  uint32_t cutoff;
};
const Case kCases[] = {{OrderDivergence::DCG, 0},
                       {OrderDivergence::DCG, 3},
                       {OrderDivergence::ALL_PAIRS, 0},
                       {OrderDivergence::TOP, 2}};

absl::StatusOr<std::unique_ptr<CardinalityFunction>> FunctionOf(const Case& c,
                                                                size_t items) {
  switch (c.divergence) {
    case OrderDivergence::DCG:
      return CardinalityFunction::Dcg(items, c.cutoff);
    case OrderDivergence::ALL_PAIRS:
      return CardinalityFunction::AllPairs(items);
    case OrderDivergence::TOP:
      break;
  }
  return CardinalityFunction::Top(items, c.cutoff);
}

TEST(MallowsTest, PublishesThePolicyThatDrawsItsModel) {
  constexpr uint32_t kItems = 5;
  const Queries queries(1, kItems, 3, 1);
  const std::vector<double> theta = {4, 1, -2};
  for (const Case& c : kCases) {
    ASSERT_OK_AND_ASSIGN(
        const auto learner,
        MakeMallowsLearner(OptionsOf(c.divergence, c.cutoff, 1),
                           ShapeOf(kItems, 3)));
    EXPECT_FALSE(learner->has_temperature());
    ASSERT_OK_AND_ASSIGN(const model::v1::Policy policy,
                         learner->MakePolicy({}));
    ASSERT_OK_AND_ASSIGN(const auto distribution,
                         MakeActionDistribution(policy));
    ASSERT_OK_AND_ASSIGN(const auto f, FunctionOf(c, kItems));
    const std::vector<double> scores = queries.Scores(0, theta);
    double mass = 0;
    for (const auto& [action, log] : Enumerate(queries, 0, *f, theta)) {
      const double p = distribution->LogPropensity(AllOf(scores), action);
      EXPECT_NEAR(p, log, 1e-10);
      mass += std::exp(p);
    }
    EXPECT_NEAR(mass, 1, 1e-12);
  }
}

// For the largest number of candidates that it learns from.
TEST(MallowsTest, ThePolicyIsTheModelOfLongListsToo) {
  const std::vector<double> theta = {4, 1};
  for (const uint32_t n : {13u, 16u}) {
    const Queries queries(1, n, 2, 6);
    ASSERT_OK_AND_ASSIGN(
        const auto learner,
        MakeMallowsLearner(OptionsOf(OrderDivergence::DCG, 0, 1),
                           ShapeOf(n, 2)));
    ASSERT_OK_AND_ASSIGN(const model::v1::Policy policy,
                         learner->MakePolicy({}));
    ASSERT_OK_AND_ASSIGN(const auto distribution,
                         MakeActionDistribution(policy));
    const std::vector<double> scores = queries.Scores(0, theta);
    ObservedOrder observed;
    observed.lists.resize(2, n);
    for (uint32_t j = 0; j < 2; ++j) {
      const std::vector<double> list = queries.List(0, j);
      for (uint32_t i = 0; i < n; ++i) observed.lists(j, i) = list[i];
    }
    observed.order.resize(n);
    std::iota(observed.order.begin(), observed.order.end(), 0u);
    std::mt19937_64 random(n);
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::shuffle(observed.order.begin(), observed.order.end(), random);
      ASSERT_OK_AND_ASSIGN(
          const double log_p,
          MallowsLogProbability(observed,
                                CardinalityFunction::Dcg(n, 0)->increments(),
                                Eigen::Vector2d(theta[0], theta[1])));
      EXPECT_NEAR(distribution->LogPropensity(
                      AllOf(scores),
                      Action(observed.order.begin(), observed.order.end())),
                  log_p, 1e-9);
    }
  }
}

TEST(MallowsTest, MinimisesAndValidatesByTheLikelihoodOfTheOrders) {
  constexpr uint32_t kItems = 4;
  constexpr size_t kTraining = 68;
  constexpr double kLambda = 0.05;
  const Queries queries(kTraining + 2, kItems, 2, 2);
  const Action seen = {0, 1, 2, 3};
  for (const Case& c : kCases) {
    ASSERT_OK_AND_ASSIGN(
        const auto learner,
        MakeMallowsLearner(OptionsOf(c.divergence, c.cutoff, kLambda),
                           ShapeOf(kItems, 2)));
    const std::vector<LabelledItems> views = queries.views();
    const std::span<const LabelledItems> all(views);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         learner->Train({.training = all.first(kTraining),
                                         .validation = all.last(2)}));
    ASSERT_EQ(result.points.size(), 1);
    ASSERT_OK_AND_ASSIGN(const auto f, FunctionOf(c, kItems));
    // The mean of -log p of a query, by enumeration.
    const auto mean_loss = [&](size_t begin, size_t end,
                               const std::vector<double>& theta) {
      double sum = 0;
      for (size_t q = begin; q < end; ++q) {
        sum -= Enumerate(queries, q, *f, theta).at(seen);
      }
      return sum / static_cast<double>(end - begin);
    };
    EXPECT_NEAR(result.points[0].validation,
                -mean_loss(kTraining, kTraining + 2, result.weights), 1e-10);
    // λ is for the weights of the scaled lists.
    const FeatureScale scale(all.first(kTraining));
    const auto objective = [&](const std::vector<double>& theta) {
      double squares = 0;
      for (size_t j = 0; j < 2; ++j) {
        squares += std::pow(theta[j] * scale.scales()[j], 2);
      }
      return kLambda / 2 * squares + mean_loss(0, kTraining, theta);
    };
    const double least = objective(result.weights);
    EXPECT_NEAR(result.points[0].objective, least, 1e-6);
    for (size_t j = 0; j < 2; ++j) {
      for (const double step : {-1e-3, 1e-3}) {
        std::vector<double> theta = result.weights;
        theta[j] += step;
        EXPECT_GT(objective(theta), least);
      }
    }
  }
}

// Observes orders drawn from the published policy and recovers θ.
TEST(MallowsTest, FindsTheTruthIn5000Orders) {
  constexpr uint32_t kItems = 6;
  const std::vector<double> truth = {2, 1, 3};
  Queries queries(5100, kItems, 3, 3);
  ASSERT_OK_AND_ASSIGN(
      const auto learner,
      MakeMallowsLearner(OptionsOf(OrderDivergence::ALL_PAIRS, 0, 1e-9),
                         ShapeOf(kItems, 3)));
  ASSERT_OK_AND_ASSIGN(const model::v1::Policy policy, learner->MakePolicy({}));
  ASSERT_OK_AND_ASSIGN(const auto distribution, MakeActionDistribution(policy));
  Draw draw;
  for (size_t q = 0; q < 5100; ++q) {
    const std::vector<double> scores = queries.Scores(q, truth);
    distribution->Sample(AllOf(scores), CounterRandom(SeedKey(q)), &draw);
    queries.See(q, draw.action);
  }
  const std::vector<LabelledItems> views = queries.views();
  const std::span<const LabelledItems> all(views);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       learner->Train({.training = all.first(5000),
                                       .validation = all.last(100)}));
  ASSERT_EQ(result.standard_errors.size(), 3);
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(result.weights[j], truth[j], 0.05 * truth[j]);
    EXPECT_LT(std::abs(result.weights[j] - truth[j]),
              4 * result.standard_errors[j]);
    EXPECT_LT(result.standard_errors[j], 0.02 * truth[j]);
  }
}

absl::Status TrainOn(const Queries& queries, const MallowsOptions& options,
                     const LabelledShape& shape) {
  const std::vector<LabelledItems> views = queries.views();
  return MakeMallowsLearner(options, shape)
      .value()
      ->Train({.training = views, .validation = views})
      .status();
}

TEST(MallowsTest, TiesAreForRanksThatDoNotCount) {
  Queries queries(2, 5, 2, 4);
  queries.relevances(1) = {0, 9, 0, 3, 0};
  const LabelledShape shape = ShapeOf(10, 2);
  EXPECT_THAT(
      TrainOn(queries, OptionsOf(OrderDivergence::DCG, 0, 1), shape).message(),
      HasSubstr("query 1 from 0: two candidates have the relevance 0 at "
                "the ranks 2 and 3 from 0, must differ"));
  EXPECT_THAT(
      TrainOn(queries, OptionsOf(OrderDivergence::DCG, 3, 1), shape).message(),
      HasSubstr("query 1 from 0: two candidates have the relevance 0 at "
                "the ranks 2 and 3 from 0, must differ"));
  EXPECT_OK(TrainOn(queries, OptionsOf(OrderDivergence::DCG, 2, 1), shape));
  EXPECT_OK(TrainOn(queries, OptionsOf(OrderDivergence::TOP, 2, 1), shape));
}

TEST(MallowsTest, NamesWhatIsWrong) {
  const LabelledShape shape = ShapeOf(5, 2);
  EXPECT_THAT(TrainOn(Queries(1, 17, 2, 5),
                      OptionsOf(OrderDivergence::DCG, 0, 1), ShapeOf(17, 2))
                  .message(),
              HasSubstr("training query 0 from 0: it has 17 candidates, must "
                        "have at most 16"));
  const auto problem = [&](const MallowsOptions& options) {
    return std::string(MakeMallowsLearner(options, shape).status().message());
  };
  EXPECT_THAT(problem(OptionsOf(OrderDivergence::TOP, 0, 1)),
              HasSubstr("cutoff = 0: must be in [1, 1000000]"));
  EXPECT_THAT(problem(OptionsOf(OrderDivergence::TOP, 16, 1)),
              HasSubstr("mallows.cutoff is 16, must be below 16"));
  EXPECT_THAT(problem(OptionsOf(OrderDivergence::ALL_PAIRS, 2, 1)),
              HasSubstr("cutoff = 2: must be 0"));
  EXPECT_THAT(problem(OptionsOf(OrderDivergence::DCG, 0, 0)),
              HasSubstr("mallows.lambda"));
  ASSERT_OK_AND_ASSIGN(
      const auto learner,
      MakeMallowsLearner(OptionsOf(OrderDivergence::DCG, 0, 1), shape));
  LabelledPolicyTask task;
  task.rank.set_cutoff(3);
  EXPECT_THAT(std::string(learner->MakePolicy(task).status().message()),
              HasSubstr("rank_policy.cutoff is set, must be unset"));
  task.rank.clear_cutoff();
  task.rank.set_kind(RankPolicyOptions::PLACKETT_LUCE);
  EXPECT_THAT(std::string(learner->MakePolicy(task).status().message()),
              HasSubstr("rank_policy.kind is set, must be BOLTZMANN"));
  task.rank.set_kind(RankPolicyOptions::BOLTZMANN);
  task.rank.set_head(5);
  task.uniform_mixture = 0.25;
  ASSERT_OK_AND_ASSIGN(const model::v1::Policy policy,
                       learner->MakePolicy(task));
  EXPECT_EQ(policy.boltzmann_ranking().head(), 5);
  EXPECT_EQ(policy.uniform_mixture(), 0.25);
}

}  // namespace
}  // namespace sortition
