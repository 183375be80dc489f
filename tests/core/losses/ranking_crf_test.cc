#include "core/losses/ranking_crf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "core/base/random.h"
#include "core/losses/assignment.h"
#include "core/losses/ndcg_hinge.h"
#include "core/losses/order_moments.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr CrfObjective::Kind kKinds[] = {
    CrfObjective::kMaximumLikelihood, CrfObjective::kLossAugmented,
    CrfObjective::kLossScaled, CrfObjective::kExpectedLoss,
    CrfObjective::kKullbackLeibler};

// All quantities of one query by their definitions, order by order.
struct Enumeration {
  std::vector<double> w;
  std::vector<double> loss;
  std::vector<double> p;
  std::vector<bool> truth;
  double num_truths = 0;

  Enumeration(const std::vector<double>& scores,
              const std::vector<double>& gains) {
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> best = gains;
    std::sort(best.begin(), best.end(), std::greater<>());
    const auto sum = [](auto value_at, size_t n) {
      double total = 0;
      for (size_t r = 0; r < n; ++r) {
        total +=
            std::log(2) / std::log(static_cast<double>(r) + 2) * value_at(r);
      }
      return total;
    };
    const size_t n = scores.size();
    const double ideal = sum([&](size_t r) { return best[r]; }, n);
    double total = 0;
    do {
      w.push_back(sum([&](size_t r) { return scores[order[r]]; }, n));
      const double dcg = sum([&](size_t r) { return gains[order[r]]; }, n);
      bool falls = true;
      for (size_t r = 0; r + 1 < n; ++r) {
        falls = falls && gains[order[r]] >= gains[order[r + 1]];
      }
      truth.push_back(falls);
      num_truths += falls;
      loss.push_back(falls || ideal == 0 ? 0 : 1 - dcg / ideal);
      total += std::exp(w.back());
    } while (std::next_permutation(order.begin(), order.end()));
    for (const double each : w) p.push_back(std::exp(each) / total);
  }

  double Value(const CrfObjective& objective) const {
    double truth_w = 0;
    double log_truth = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      if (!truth[i]) continue;
      truth_w += w[i] / num_truths;
      log_truth += std::log(p[i]) / num_truths;
    }
    double sum = 0;
    switch (objective.kind) {
      case CrfObjective::kMaximumLikelihood:
        return -log_truth;
      case CrfObjective::kLossAugmented:
        for (size_t i = 0; i < w.size(); ++i) {
          sum += std::exp(w[i] + objective.loss_weight * loss[i]);
        }
        return std::log(sum) - truth_w;
      case CrfObjective::kLossScaled:
        for (size_t i = 0; i < w.size(); ++i) {
          sum += std::exp(loss[i] * (w[i] - truth_w) + loss[i]);
        }
        return std::log(sum);
      case CrfObjective::kExpectedLoss:
        return std::inner_product(p.begin(), p.end(), loss.begin(), 0.0);
      case CrfObjective::kKullbackLeibler: {
        for (const double each : loss) {
          sum += std::exp(-each / objective.temperature);
        }
        double divergence = 0;
        for (size_t i = 0; i < w.size(); ++i) {
          const double q = std::exp(-loss[i] / objective.temperature) / sum;
          divergence += q * std::log(q / p[i]);
        }
        return divergence;
      }
    }
    return NAN;
  }
};

struct GradedQuery {
  std::vector<double> scores;
  std::vector<double> gains;
};

GradedQuery RandomGradedQuery(std::mt19937_64* random, size_t max_items) {
  std::normal_distribution<double> normal(0, 2);
  GradedQuery query;
  const size_t n = 1 + (*random)() % max_items;
  for (size_t i = 0; i < n; ++i) {
    query.scores.push_back((*random)() % 5 == 0 ? 1 : normal(*random));
    query.gains.push_back(static_cast<double>((*random)() % 3));
  }
  return query;
}

TEST(RankingCrfTest, EqualsEnumeration) {
  std::mt19937_64 random(1);
  RankingCrf crf;
  for (int repeat = 0; repeat < 500; ++repeat) {
    const GradedQuery query = RandomGradedQuery(&random, 6);
    const Enumeration enumeration(query.scores, query.gains);
    std::vector<double> gradient(query.scores.size());
    for (const CrfObjective::Kind kind : kKinds) {
      const CrfObjective objective = {kind, 3, 0.4};
      const double value =
          crf.Evaluate(query.scores, query.gains, objective, gradient);
      EXPECT_NEAR(value, enumeration.Value(objective), 1e-11);
    }
    crf.Evaluate(query.scores, query.gains,
                 {.kind = CrfObjective::kExpectedLoss}, gradient);
    for (size_t i = 0; i < enumeration.p.size(); ++i) {
      EXPECT_NEAR(crf.losses()[i], enumeration.loss[i], 1e-14);
      EXPECT_NEAR(crf.probabilities()[i], enumeration.p[i], 1e-14);
    }
  }
}

TEST(RankingCrfTest, GradientsAreDerivatives) {
  std::mt19937_64 random(2);
  RankingCrf crf;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const GradedQuery query = RandomGradedQuery(&random, 7);
    const size_t n = query.scores.size();
    std::vector<double> gradient(n);
    std::vector<double> unused(n);
    for (const CrfObjective::Kind kind : kKinds) {
      const CrfObjective objective = {kind, 2, 0.7};
      crf.Evaluate(query.scores, query.gains, objective, gradient);
      for (size_t i = 0; i < n; ++i) {
        constexpr double kStep = 1e-5;
        std::vector<double> moved = query.scores;
        moved[i] += kStep;
        const double up = crf.Evaluate(moved, query.gains, objective, unused);
        moved[i] -= 2 * kStep;
        const double down = crf.Evaluate(moved, query.gains, objective, unused);
        EXPECT_NEAR(gradient[i], (up - down) / (2 * kStep), 1e-8);
      }
    }
  }
}

// Both bound the loss of the predicted order.
TEST(RankingCrfTest, UpperBoundsAreUpperBounds) {
  std::mt19937_64 random(3);
  RankingCrf crf;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const GradedQuery query = RandomGradedQuery(&random, 5);
    std::vector<double> gradient(query.scores.size());
    const Enumeration enumeration(query.scores, query.gains);
    const size_t predicted = static_cast<size_t>(
        std::max_element(enumeration.w.begin(), enumeration.w.end()) -
        enumeration.w.begin());
    for (const CrfObjective::Kind kind :
         {CrfObjective::kLossAugmented, CrfObjective::kLossScaled}) {
      EXPECT_GE(crf.Evaluate(query.scores, query.gains, {kind}, gradient),
                enumeration.loss[predicted] - 1e-12);
    }
  }
}

TEST(RankingCrfTest, LikelihoodIsTheLimitOfTheDivergence) {
  std::mt19937_64 random(4);
  RankingCrf crf;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const GradedQuery query = RandomGradedQuery(&random, 5);
    std::vector<double> likelihood(query.scores.size());
    std::vector<double> divergence(query.scores.size());
    crf.Evaluate(query.scores, query.gains, {}, likelihood);
    crf.Evaluate(query.scores, query.gains,
                 {CrfObjective::kKullbackLeibler, 1, 1e-4}, divergence);
    for (size_t i = 0; i < likelihood.size(); ++i) {
      EXPECT_NEAR(likelihood[i], divergence[i], 1e-12);
    }
  }
}

TEST(RankingCrfTest, NothingRelevantHasNothingToLearn) {
  RankingCrf crf;
  std::vector<double> gradient(3, 9);
  for (const CrfObjective::Kind kind :
       {CrfObjective::kLossScaled, CrfObjective::kExpectedLoss}) {
    crf.Evaluate(std::vector<double>{1, 2, 3}, std::vector<double>{0, 0, 0},
                 {kind}, gradient);
    EXPECT_EQ(gradient, (std::vector<double>{0, 0, 0}));
  }
}

TEST(RankingCrfTest, LargeScoresOverflowNothing) {
  RankingCrf crf;
  std::vector<double> gradient(3);
  for (const CrfObjective::Kind kind : kKinds) {
    EXPECT_TRUE(std::isfinite(crf.Evaluate(std::vector<double>{1e5, -1e5, 0},
                                           std::vector<double>{0, 2, 1}, {kind},
                                           gradient)));
    for (const double each : gradient) EXPECT_TRUE(std::isfinite(each));
  }
}

using Order = std::vector<uint32_t>;

struct CutQuery {
  std::vector<double> scores;
  std::vector<double> gains;
  size_t cutoff;
};

CutQuery RandomCutQuery(std::mt19937_64* random) {
  std::normal_distribution<double> normal(0, std::exp2((*random)() % 6) / 16);
  CutQuery query;
  const size_t n = 1 + (*random)() % 7;
  const uint64_t levels = 1 + (*random)() % 4;
  const bool ties = (*random)() % 2 == 0;
  for (size_t i = 0; i < n; ++i) {
    query.scores.push_back((*random)() % 4 == 0 ? 0 : normal(*random));
    if (ties) query.scores[i] = std::round(64 * query.scores[i]) / 64;
    query.gains.push_back(std::exp2((*random)() % levels) - 1);
  }
  query.cutoff = (*random)() % (n + 1);
  return query;
}

// The definitions of sec. 17.4, whose rank numbers rise.
struct Definition {
  const CutQuery& query;
  size_t n = query.scores.size();
  Order own = OwnOrder();
  double ideal = Gain(own);

  Order OwnOrder() const {
    Order order(query.scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return query.gains[a] != query.gains[b]
                 ? query.gains[a] > query.gains[b]
                 : query.scores[a] > query.scores[b];
    });
    return order;
  }
  double Gain(const Order& order) const {
    const size_t ranks = query.cutoff == 0 ? order.size() : query.cutoff;
    double gain = 0;
    for (size_t r = 0; r < std::min(ranks, order.size()); ++r) {
      gain += query.gains[order[r]] / std::log2(static_cast<double>(r) + 2);
    }
    return gain;
  }
  double Loss(const Order& order) const {
    return ideal > 0 ? 1 - Gain(order) / ideal : 0;
  }
  // The pairs of different labels that the order has the wrong way round.
  double Score(const Order& order) const {
    double score = 0;
    for (size_t r = 0; r < n; ++r) {
      for (size_t below = r + 1; below < n; ++below) {
        if (query.gains[order[r]] >= query.gains[order[below]]) continue;
        score += query.scores[order[r]] - query.scores[order[below]];
      }
    }
    return score;
  }
  // Eq. 10: the score by rank numbers, relative to the labels' order.
  double NumberedScore(const Order& order) const {
    double score = 0;
    for (size_t r = 0; r < n; ++r) {
      score += static_cast<double>(n - r) *
               (query.scores[order[r]] - query.scores[own[r]]);
    }
    return score;
  }
};

TEST(NdcgHingeTest, EqualsEnumeration) {
  std::mt19937_64 random(1);
  NdcgHinge hinge;
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const CutQuery query = RandomCutQuery(&random);
    const Definition definition = {query};
    std::vector<double> slopes(query.scores.size());
    const NdcgHinge::Answer answer =
        hinge.Evaluate(query.scores, query.gains, query.cutoff, slopes);
    double most = -HUGE_VAL;
    Order order(query.scores.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      most = std::max(most, definition.Loss(order) + definition.Score(order));
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_NEAR(answer.value, most, 1e-11);
    const Order found(hinge.order().begin(), hinge.order().end());
    ASSERT_NEAR(answer.loss, definition.Loss(found), 1e-12);
    ASSERT_NEAR(answer.value, answer.loss + definition.Score(found), 1e-11);
    ASSERT_NEAR(answer.value, answer.loss + definition.NumberedScore(found),
                1e-11);
    ASSERT_NEAR(std::accumulate(slopes.begin(), slopes.end(), 0.0), 0, 1e-12);
    // It bounds the loss of the order of the scores (lemma 17.4).
    Order by_score = definition.own;
    std::stable_sort(by_score.begin(), by_score.end(),
                     [&](uint32_t a, uint32_t b) {
                       return query.scores[a] > query.scores[b];
                     });
    ASSERT_GE(answer.value, definition.Loss(by_score) - 1e-12);
  }
}

// Both ways to find it agree: gains that differ only by rounding are more than
// two labels.
TEST(NdcgHingeTest, MergingEqualsAssigning) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0, 0.02);
  NdcgHinge hinge;
  for (int repeat = 0; repeat < 30; ++repeat) {
    constexpr size_t kItems = 60;
    std::vector<double> scores(kItems);
    std::vector<double> gains(kItems);
    for (size_t i = 0; i < kItems; ++i) {
      scores[i] = normal(random);
      gains[i] = static_cast<double>(random() % 2);
    }
    std::vector<double> slopes(kItems);
    // The maximum of Δ + Σ v s, where labels determine v̄.
    const auto most = [&] {
      double sum = hinge.Evaluate(scores, gains, 10, slopes).loss;
      for (size_t rank = 0; rank < kItems; ++rank) {
        sum += static_cast<double>(kItems - rank) * scores[hinge.order()[rank]];
      }
      return sum;
    };
    const double merged = most();
    gains[0] += 1e-13;
    EXPECT_NEAR(most(), merged, 1e-9);
  }
}

// Cases in which Start() is the answer, and cases in which it is not: relevant
// items have scores above the others' that are worth about as much as the loss.
TEST(NdcgHingeTest, ManyLevelsEqualAssigningFromNothing) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  NdcgHinge hinge;
  Assignment assignment;
  for (const double deviation : {0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1.0}) {
    for (int repeat = 0; repeat < 12; ++repeat) {
      constexpr size_t kItems = 80;
      std::vector<double> scores(kItems);
      std::vector<double> gains(kItems);
      for (size_t i = 0; i < kItems; ++i) {
        gains[i] = static_cast<double>(random() % (3 + repeat % 3));
        scores[i] = deviation * (normal(random) + (repeat % 3 - 1) * gains[i]);
      }
      std::vector<double> slopes(kItems);
      const double value = hinge.Evaluate(scores, gains, 0, slopes).value;
      const CutQuery query = {scores, gains, 0};
      const Definition definition = {query};
      const double least = assignment.Solve(
          kItems,
          [&](size_t item, std::span<double> costs) {
            for (size_t rank = 0; rank < kItems; ++rank) {
              costs[rank] = gains[item] / definition.ideal /
                                std::log2(static_cast<double>(rank) + 2) -
                            static_cast<double>(kItems - rank) * scores[item];
            }
          },
          {});
      double own = 0;
      for (size_t rank = 0; rank < kItems; ++rank) {
        own +=
            static_cast<double>(kItems - rank) * scores[definition.own[rank]];
      }
      ASSERT_NEAR(value, 1 - own - least, 1e-10 * (1 + deviation * 1e3));
    }
  }
}

TEST(NdcgHingeTest, SlopesAreDerivatives) {
  std::mt19937_64 random(3);
  NdcgHinge hinge;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const CutQuery query = RandomCutQuery(&random);
    const size_t n = query.scores.size();
    std::vector<double> slopes(n);
    std::vector<double> unused(n);
    const double value =
        hinge.Evaluate(query.scores, query.gains, query.cutoff, slopes).value;
    // Subgradients of a convex function: the function lies above its tangents.
    std::vector<double> moved = query.scores;
    double tangent = value;
    for (size_t i = 0; i < n; ++i) {
      const double step = 0.1 * static_cast<double>(random() % 7) - 0.3;
      moved[i] += step;
      tangent += slopes[i] * step;
    }
    EXPECT_GE(hinge.Evaluate(moved, query.gains, query.cutoff, unused).value,
              tangent - 1e-11);
  }
}

struct Problem {
  size_t n;
  std::vector<double> costs;

  double Cost(std::span<const uint32_t> columns) const {
    double cost = 0;
    for (size_t i = 0; i < n; ++i) cost += costs[i * n + columns[i]];
    return cost;
  }
};

Problem RandomProblem(std::mt19937_64* random, size_t n) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Problem problem = {n, std::vector<double>(n * n)};
  const bool ties = (*random)() % 2 == 0;
  for (double& cost : problem.costs) {
    cost = ties ? std::round(2 * uniform(*random)) : uniform(*random);
  }
  return problem;
}

double Solve(Assignment* assignment, const Problem& problem,
             std::span<const double> prices,
             std::span<const uint32_t> columns = {}) {
  return assignment->Solve(
      problem.n,
      [&](size_t row, std::span<double> costs) {
        std::copy_n(problem.costs.begin() + row * problem.n, problem.n,
                    costs.begin());
      },
      prices, columns);
}

// No assignment costs less than Σ u + Σ v.
double DualBound(const Assignment& assignment, const Problem& problem) {
  double bound = 0;
  for (size_t i = 0; i < problem.n; ++i) {
    double least = HUGE_VAL;
    for (size_t j = 0; j < problem.n; ++j) {
      least = std::min(
          least, problem.costs[i * problem.n + j] - assignment.prices()[j]);
    }
    bound += least + assignment.prices()[i];
  }
  return bound;
}

void ExpectAssignment(std::span<const uint32_t> columns) {
  std::vector<uint32_t> sorted(columns.begin(), columns.end());
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
}

TEST(AssignmentTest, EqualsEnumeration) {
  std::mt19937_64 random(1);
  Assignment assignment;
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const Problem problem = RandomProblem(&random, 1 + random() % 7);
    std::vector<double> prices;
    if (repeat % 3 == 0) {
      prices.resize(problem.n);
      for (double& price : prices) price = static_cast<double>(random() % 5);
    }
    std::vector<uint32_t> start;
    if (repeat % 2 == 0) {
      start.resize(problem.n);
      std::iota(start.begin(), start.end(), 0);
      std::shuffle(start.begin(), start.end(), random);
    }
    const double cost = Solve(&assignment, problem, prices, start);
    ExpectAssignment(assignment.columns());
    ASSERT_NEAR(cost, problem.Cost(assignment.columns()), 1e-12);
    std::vector<uint32_t> columns(problem.n);
    std::iota(columns.begin(), columns.end(), 0);
    double least = HUGE_VAL;
    do {
      least = std::min(least, problem.Cost(columns));
    } while (std::next_permutation(columns.begin(), columns.end()));
    ASSERT_NEAR(cost, least, 1e-12);
    ASSERT_NEAR(DualBound(assignment, problem), least, 1e-12);
  }
}

TEST(AssignmentTest, PricesProveLargeOnes) {
  std::mt19937_64 random(2);
  Assignment assignment;
  for (const size_t n : {50, 200, 300}) {
    const Problem problem = RandomProblem(&random, n);
    const double cost = Solve(&assignment, problem, {});
    ExpectAssignment(assignment.columns());
    EXPECT_NEAR(cost, DualBound(assignment, problem), 1e-9);
  }
  EXPECT_EQ(assignment.Solve(0, nullptr, {}), 0);
}

std::vector<double> RankWeights(size_t n) {
  std::vector<double> weights;
  for (size_t rank = 0; rank < n; ++rank) {
    weights.push_back(1 / std::log2(static_cast<double>(rank) + 2));
  }
  return weights;
}

TEST(OrderMomentsTest, EqualEnumeration) {
  RandomSequence random(SeedKey(1));
  OrderMoments moments;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const size_t n = 1 + random.Below(6);
    const std::vector<double> weights = RankWeights(n);
    std::vector<double> scores(n);
    for (double& score : scores) score = std::round(4 * random.Normal()) / 2;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    double z = 0;
    std::vector<double> expected(n);
    do {
      double w = 0;
      for (size_t rank = 0; rank < n; ++rank) {
        w += weights[rank] * scores[order[rank]];
      }
      z += std::exp(w);
      for (size_t rank = 0; rank < n; ++rank) {
        expected[order[rank]] += weights[rank] * std::exp(w);
      }
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<double> means(n);
    EXPECT_NEAR(moments.Evaluate(weights, scores, means), std::log(z), 1e-12);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(means[i], expected[i] / z, 1e-13);
    }
  }
}

// Sizes on both sides of where BoltzmannOrders takes over. Without it, sums of
// scores 1000 apart would not be finite.
TEST(OrderMomentsTest, FarScoresAreExactToo) {
  RandomSequence random(SeedKey(2));
  OrderMoments moments;
  BoltzmannOrders orders;
  for (const double spread : {1.0, 100.0, 299.0, 301.0, 1000.0, 1e6}) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      constexpr size_t kItems = OrderMoments::kMaxItems;
      const std::vector<double> weights = RankWeights(kItems);
      std::vector<double> scores(kItems);
      for (double& score : scores) {
        score = spread * (repeat % 2 == 0 ? random.Uniform()
                                          : std::round(random.Uniform()));
      }
      std::vector<double> means(kItems);
      std::vector<double> expected(kItems);
      const double log_z = moments.Evaluate(weights, scores, means);
      orders.Build(weights, scores);
      orders.ExpectedRankWeights(expected);
      EXPECT_NEAR(log_z, orders.LogPartition(), 1e-12 * (1 + std::abs(log_z)));
      for (size_t i = 0; i < kItems; ++i) {
        EXPECT_NEAR(means[i], expected[i], 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace sortition
