#include "core/losses/ranking_crf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

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

// Eq. 14: the most probable order is that of falling scores.
TEST(RankingCrfTest, HighScoresComeFirst) {
  const std::vector<double> scores = {0.2, 3, 1};
  std::vector<double> gradient(3);
  RankingCrf crf;
  crf.Evaluate(scores, std::vector<double>{0, 1, 2},
               {.kind = CrfObjective::kExpectedLoss}, gradient);
  const std::span<const double> p = crf.probabilities();
  // In lexicographic order: 012 021 102 120 201 210.
  EXPECT_EQ(std::max_element(p.begin(), p.end()) - p.begin(), 3);
  EXPECT_EQ(std::min_element(p.begin(), p.end()) - p.begin(), 1);
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

}  // namespace
}  // namespace sortition
