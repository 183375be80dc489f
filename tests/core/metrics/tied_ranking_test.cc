// Metrics of rankings with ties against the enumeration of all orders.
#include "core/metrics/tied_ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/metrics/letor_metrics.h"
#include "core/metrics/pair_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxGrade = 3;

struct TiedQuery {
  std::vector<double> scores;
  std::vector<uint32_t> relevances;
  std::vector<uint32_t> unranked = {};  // Of candidates without a rank.

  TiedRanking ranking() const { return {scores, relevances, unranked}; }
};

// Few different scores, so that nearly all queries have ties.
TiedQuery RandomTies(std::mt19937_64* random) {
  TiedQuery query;
  const size_t n = 1 + (*random)() % 6;
  for (size_t i = 0; i < n; ++i) {
    query.scores.push_back(static_cast<double>((*random)() % 3));
    query.relevances.push_back(static_cast<uint32_t>((*random)() % 4));
  }
  for (uint64_t i = (*random)() % 3; i > 0; --i) {
    query.unranked.push_back(static_cast<uint32_t>((*random)() % 4));
  }
  return query;
}

// Returns the mean of `value` over all orders of the items in which scores
// fall. `value` gets the relevances by rank.
double MeanOverOrders(
    const TiedQuery& query,
    const std::function<double(const std::vector<uint32_t>&)>& value) {
  std::vector<size_t> order(query.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  double sum = 0;
  double count = 0;
  do {
    if (!std::is_sorted(order.begin(), order.end(), [&](size_t i, size_t j) {
          return query.scores[i] > query.scores[j];
        })) {
      continue;
    }
    std::vector<uint32_t> relevances;
    for (const size_t i : order) relevances.push_back(query.relevances[i]);
    sum += value(relevances);
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / count;
}

struct NamedMetric {
  std::string name;
  std::function<double(const TiedRanking&)> of;
};

std::vector<NamedMetric> AllMetrics() {
  std::vector<NamedMetric> metrics = {
      {"average precision",
       [](const auto& r) { return AveragePrecision(r, 2); }},
      {"mean NDCG", [](const auto& r) { return LetorFiguresOf(r).mean_ndcg; }},
      {"LETOR's average precision",
       [](const auto& r) { return LetorFiguresOf(r).average_precision; }}};
  for (uint32_t k = 0; k <= 7; ++k) {
    const std::string at = "@" + std::to_string(k);
    metrics.insert(
        metrics.end(),
        {{"DCG" + at, [k](const auto& r) { return Dcg(r, k); }},
         {"NDCG" + at, [k](const auto& r) { return Ndcg(r, k); }},
         {"linear NDCG" + at,
          [k](const auto& r) {
            const double value = LinearNdcg(r, k);
            return std::isnan(value) ? 0 : value;
          }},
         {"ERR" + at,
          [k](const auto& r) {
            return ExpectedReciprocalRank(r, kMaxGrade, k);
          }},
         {"RR" + at, [k](const auto& r) { return ReciprocalRank(r, 2, k); }}});
    if (k == 0) continue;
    metrics.insert(
        metrics.end(),
        {{"P" + at, [k](const auto& r) { return Precision(r, 2, k); }},
         {"recall" + at,
          [k](const auto& r) {
            const double value = Recall(r, 2, k);
            return std::isnan(value) ? 0 : value;
          }},
         {"success" + at, [k](const auto& r) { return Success(r, 2, k); }},
         {"LETOR's NDCG" + at,
          [k](const auto& r) { return LetorFiguresOf(r).ndcg[k - 1]; }},
         {"LETOR's P" + at,
          [k](const auto& r) { return LetorFiguresOf(r).precision[k - 1]; }}});
  }
  return metrics;
}

TEST(TiedRankingTest, EveryMetricIsTheMeanOverAllOrdersOfTies) {
  std::mt19937_64 random(1);
  const std::vector<NamedMetric> metrics = AllMetrics();
  for (int trial = 0; trial < 60; ++trial) {
    const TiedQuery query = RandomTies(&random);
    for (const NamedMetric& metric : metrics) {
      EXPECT_NEAR(metric.of(query.ranking()),
                  MeanOverOrders(query,
                                 [&](const auto& relevances) {
                                   return metric.of(TiedRanking::OfOrder(
                                       relevances, query.unranked));
                                 }),
                  1e-12)
          << metric.name << ", trial " << trial;
    }
  }
}

// To the bit, so that no comparison of two figures depends on the file.
TEST(TiedRankingTest, TheOrderOfTheDataChangesNoBit) {
  std::mt19937_64 random(2);
  const std::vector<NamedMetric> metrics = AllMetrics();
  for (int trial = 0; trial < 200; ++trial) {
    const TiedQuery query = RandomTies(&random);
    std::vector<size_t> lines(query.scores.size());
    std::iota(lines.begin(), lines.end(), size_t{0});
    std::shuffle(lines.begin(), lines.end(), random);
    TiedQuery shuffled;
    shuffled.unranked.assign(query.unranked.rbegin(), query.unranked.rend());
    for (const size_t i : lines) {
      shuffled.scores.push_back(query.scores[i]);
      shuffled.relevances.push_back(query.relevances[i]);
    }
    for (const NamedMetric& metric : metrics) {
      EXPECT_EQ(metric.of(query.ranking()), metric.of(shuffled.ranking()))
          << metric.name;
    }
  }
}

// Two of four candidates are relevant, at any two ranks: the mean of
// (1/a + 2/b) / 2 over the six pairs of places a < b is 49/72.
TEST(TiedRankingTest, EqualScoresOfASortedFileGetNoCredit) {
  const TiedQuery query = {{0, 0, 0, 0}, {1, 1, 0, 0}};
  EXPECT_NEAR(AveragePrecision(query.ranking(), 1), 49.0 / 72, 1e-15);
  EXPECT_NEAR(Precision(query.ranking(), 1, 1), 0.5, 1e-15);
  EXPECT_NEAR(ReciprocalRank(query.ranking(), 1, 0),
              (3 * 1.0 + 2 * 0.5 + 1.0 / 3) / 6, 1e-15);
}

// Of six candidates with equal scores two are relevant. Two places are without
// a relevant one with probability 4/6 · 3/5, five never are: only four are not
// relevant.
TEST(TiedRankingTest, SuccessIsHypergeometric) {
  const TiedQuery query = {{7, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 1, 0, 0}};
  EXPECT_EQ(Success(query.ranking(), 1, 1), 0);
  EXPECT_NEAR(Success(query.ranking(), 1, 3), 1 - 4.0 / 6 * 3 / 5, 1e-15);
  EXPECT_EQ(Success(query.ranking(), 1, 6), 1);
  EXPECT_EQ(Success(query.ranking(), 2, 7), 0);
}

// One relevant candidate is at rank 0, one is not ranked: half of what there is
// to find was found, and the best order has a second gain at rank 1.
TEST(TiedRankingTest, CandidatesWithoutARankCountInWhatThereIsToFind) {
  const TiedQuery query = {{2, 1}, {1, 0}, {0, 1}};
  EXPECT_DOUBLE_EQ(AveragePrecision(query.ranking(), 1), 0.5);
  EXPECT_DOUBLE_EQ(Recall(query.ranking(), 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(LinearNdcg(query.ranking(), 0),
                   1 / (1 + 1 / std::log2(3.0)));
  EXPECT_DOUBLE_EQ(Precision(query.ranking(), 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(ReciprocalRank(query.ranking(), 1, 0), 1);
}

// A query whose relevant documents were not retrieved at all.
TEST(TiedRankingTest, ARankingOfNothingIsWorthNothing) {
  const TiedQuery query = {{}, {}, {2}};
  EXPECT_EQ(AveragePrecision(query.ranking(), 1), 0);
  EXPECT_EQ(LinearNdcg(query.ranking(), 0), 0);
  EXPECT_EQ(Ndcg(query.ranking(), 5), 0);
  EXPECT_EQ(Recall(query.ranking(), 1, 5), 0);
  EXPECT_EQ(Success(query.ranking(), 1, 5), 0);
  EXPECT_EQ(Precision(query.ranking(), 1, 5), 0);
  EXPECT_EQ(ReciprocalRank(query.ranking(), 1, 0), 0);
  EXPECT_EQ(LetorFiguresOf(query.ranking()).mean_ndcg, 0);
  EXPECT_TRUE(std::isnan(Recall(query.ranking(), 3, 5)));
}

TEST(TiedRankingTest, GroupsAreByFallingScore) {
  const TiedRanking ranking({{1, 5, 1, 3}}, {{0, 2, 4, 1}});
  ASSERT_EQ(ranking.num_groups(), 3u);
  EXPECT_EQ(ranking.begin(2), 2u);
  EXPECT_EQ(ranking.group(0)[0], 2u);
  EXPECT_EQ(ranking.group(1)[0], 1u);
  EXPECT_EQ(ranking.group(2)[0], 4u);
  EXPECT_EQ(ranking.group(2)[1], 0u);
}

// Large groups are where the recursion of ERR could lose digits: 2,000 equal
// scores with one relevant candidate stop the user at each rank alike.
TEST(TiedRankingTest, IsExactForLargeGroups) {
  TiedQuery query{std::vector<double>(2000, 1.0), std::vector<uint32_t>(2000)};
  query.relevances[7] = 1;
  double expected = 0;
  for (int rank = 1; rank <= 2000; ++rank) expected += 1.0 / rank / 2000;
  EXPECT_NEAR(ExpectedReciprocalRank(query.ranking(), 1, 0), expected / 2,
              1e-14);
  EXPECT_NEAR(ReciprocalRank(query.ranking(), 1, 0), expected, 1e-14);
  EXPECT_NEAR(AveragePrecision(query.ranking(), 1), expected, 1e-14);
}

TEST(KendallTauCostTest, CountsTiesOfEitherKindHalf) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const TiedQuery query = RandomTies(&random);
    const size_t n = query.scores.size();
    double differ = 0;
    double pairs = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double s = query.scores[i] - query.scores[j];
        const double y = static_cast<double>(query.relevances[i]) -
                         static_cast<double>(query.relevances[j]);
        ++pairs;
        differ += s * y < 0 ? 1 : s * y > 0 ? 0 : 0.5;
      }
    }
    EXPECT_NEAR(KendallTauCost(query.scores, query.relevances),
                pairs > 0 ? differ / pairs : 0, 1e-14);
  }
}

// Counts and variance against all orders of the data.
TEST(TiedPairsTest, VarianceIsThatOfRandomOrder) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 40; ++trial) {
    const TiedQuery query = RandomTies(&random);
    const size_t n = query.scores.size();
    std::vector<size_t> lines(n);
    std::iota(lines.begin(), lines.end(), size_t{0});
    double sum = 0;
    double squares = 0;
    double count = 0;
    const TiedPairs pairs = CountTiedPairs(query.scores, query.relevances);
    do {
      std::vector<double> scores;
      std::vector<uint32_t> relevances;
      for (const size_t i : lines) {
        scores.push_back(query.scores[i]);
        relevances.push_back(query.relevances[i]);
      }
      uint64_t tied = 0;
      uint64_t in_order = 0;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = i + 1; j < n; ++j) {
          if (scores[i] != scores[j] || relevances[i] == relevances[j])
            continue;
          ++tied;
          in_order += relevances[i] > relevances[j] ? 1 : 0;
        }
      }
      const TiedPairs counted = CountTiedPairs(scores, relevances);
      EXPECT_EQ(counted.tied, tied);
      EXPECT_EQ(counted.tied_in_label_order, in_order);
      EXPECT_EQ(counted.pairs, pairs.pairs);
      const auto value = static_cast<double>(in_order);
      sum += value;
      squares += value * value;
      ++count;
    } while (std::next_permutation(lines.begin(), lines.end()));
    EXPECT_NEAR(sum / count, static_cast<double>(pairs.tied) / 2, 1e-12);
    EXPECT_NEAR(squares / count - sum / count * (sum / count), pairs.variance,
                1e-10);
  }
}

TEST(TiedPairsTest, DeviationIsInStandardDeviations) {
  TiedPairs pairs = CountTiedPairs(std::vector<double>{1, 1, 2},
                                   std::vector<uint32_t>{1, 0, 0});
  EXPECT_EQ(pairs.pairs, 2u);
  EXPECT_EQ(pairs.tied, 1u);
  EXPECT_DOUBLE_EQ(pairs.variance, 0.25);
  EXPECT_DOUBLE_EQ(pairs.Deviation(), 1);
  for (int more = 1; more < 16; ++more) {
    pairs.Add(
        CountTiedPairs(std::vector<double>{1, 1}, std::vector<uint32_t>{1, 0}));
  }
  EXPECT_DOUBLE_EQ(pairs.Deviation(), 4);
  EXPECT_EQ(TiedPairs().Deviation(), 0);
}

}  // namespace
}  // namespace sortition
