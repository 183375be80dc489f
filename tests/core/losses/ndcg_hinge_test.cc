#include "core/losses/ndcg_hinge.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/losses/assignment.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
