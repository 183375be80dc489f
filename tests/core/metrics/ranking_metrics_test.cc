#include "core/metrics/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "core/metrics/letor_metrics.h"
#include "core/metrics/pair_metrics.h"
#include "core/metrics/set_metrics.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using Relevances = std::vector<uint32_t>;

TiedRanking Order(const Relevances& relevances) {
  return TiedRanking::OfOrder(relevances);
}

// 3, 0, 1: 7 / log2(2) + 0 + 1 / log2(4) = 7.5.
TEST(DcgTest, HasExponentialGainAndLogarithmicDiscount) {
  EXPECT_DOUBLE_EQ(Dcg(Order({3, 0, 1}), 0), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Order({3, 0, 1}), 3), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Order({3, 0, 1}), 10), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Order({3, 0, 1}), 2), 7);
  EXPECT_DOUBLE_EQ(Dcg(Order({0, 2}), 0), 3 / std::log2(3.0));
  EXPECT_EQ(Dcg(Order({}), 0), 0);
}

// Order 0, 1, 3; the best is 3, 1, 0: (1/log2(3) + 7/2) / (7 + 1/log2(3)).
TEST(NdcgTest, ComparesWithTheBestOrder) {
  const double b = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(Ndcg(Order({0, 1, 3}), 0), (b + 3.5) / (7 + b));
  EXPECT_DOUBLE_EQ(Ndcg(Order({3, 1, 0}), 0), 1);
  EXPECT_DOUBLE_EQ(Ndcg(Order({1, 0, 3}), 1), 1.0 / 7);
}

TEST(NdcgTest, IsZeroWhereNothingIsRelevant) {
  EXPECT_EQ(Ndcg(Order({0, 0}), 0), 0);
}

// Seed 003, eq. 12: relevances 0, 1, 3 over log2 of 2, 3, 4.
TEST(LinearNdcgTest, HasTheRelevanceItselfAsGain) {
  const double b = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(LinearNdcg(Order({0, 1, 3}), 0), (b + 1.5) / (3 + b));
  EXPECT_DOUBLE_EQ(LinearNdcg(Order({0, 1, 3}), 2), b / (3 + b));
  EXPECT_TRUE(std::isnan(LinearNdcg(Order({0}), 0)));
}

// Grades up to 2: R is 0, 1/4, 3/4. Order 2, 0, 1:
//   1 · 3/4 + 0 + 1/3 · 1/4 · 1/4 = 0.75 + 1/48.
TEST(ErrTest, IsTheCascade) {
  EXPECT_DOUBLE_EQ(ExpectedReciprocalRank(Order({2, 0, 1}), 2, 0),
                   0.75 + 1.0 / 48);
  EXPECT_DOUBLE_EQ(ExpectedReciprocalRank(Order({2, 0, 1}), 2, 2), 0.75);
  EXPECT_EQ(ExpectedReciprocalRank(Order({0, 0}), 2, 0), 0);
}

TEST(PrecisionTest, CountsRanksThatWereNotFilled) {
  EXPECT_DOUBLE_EQ(Precision(Order({2, 0, 1}), 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(Precision(Order({2, 0, 1}), 2, 3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(Precision(Order({2, 0, 1}), 1, 4), 0.5);
}

// Gains 1, 0, 3, 0 with discounts 1, 1, 1/log2 3, 1/2; the best order is
// 3, 1, 0, 0.
TEST(LetorMetricsTest, FirstTwoRanksAreNotDiscounted) {
  const LetorFigures figures = LetorFiguresOf(Order({1, 0, 2, 0}));
  const double third = (1 + 3 / std::log2(3.0)) / 4;
  EXPECT_DOUBLE_EQ(figures.ndcg[0], 1. / 3);
  EXPECT_DOUBLE_EQ(figures.ndcg[1], 1. / 4);
  EXPECT_DOUBLE_EQ(figures.ndcg[2], third);
  EXPECT_DOUBLE_EQ(figures.ndcg[3], third);
  EXPECT_DOUBLE_EQ(figures.mean_ndcg, (1. / 3 + 1. / 4 + 2 * third) / 4);
}

// The tool leaves NDCG@k of shorter queries undefined and adds it as 0.
TEST(LetorMetricsTest, NdcgBeyondTheLastCandidateIsZeroAndPrecisionIsDiluted) {
  const LetorFigures figures = LetorFiguresOf(Order({2, 0, 1, 0}));
  EXPECT_GT(figures.ndcg[3], 0);
  for (int k = 5; k <= kLetorRanks; ++k) {
    EXPECT_EQ(figures.ndcg[k - 1], 0);
    EXPECT_DOUBLE_EQ(figures.precision[k - 1], 2. / k);
  }
  EXPECT_DOUBLE_EQ(figures.precision[0], 1);
  EXPECT_DOUBLE_EQ(figures.precision[1], 1. / 2);
  EXPECT_DOUBLE_EQ(figures.precision[2], 2. / 3);
  // Ranks 1 and 3 are relevant.
  EXPECT_DOUBLE_EQ(figures.average_precision, (1 + 2. / 3) / 2);
}

TEST(LetorMetricsTest, EverythingIsZeroWhereNothingIsRelevant) {
  const LetorFigures figures = LetorFiguresOf(Order(Relevances(12, 0)));
  EXPECT_EQ(figures.mean_ndcg, 0);
  EXPECT_EQ(figures.average_precision, 0);
  for (int k = 0; k < kLetorRanks; ++k) {
    EXPECT_EQ(figures.ndcg[k], 0);
    EXPECT_EQ(figures.precision[k], 0);
  }
}

TEST(LetorMetricsTest, TheBestOrderHasNdcgOneAtEveryRank) {
  const LetorFigures figures =
      LetorFiguresOf(Order({2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  for (int k = 0; k < kLetorRanks; ++k) EXPECT_EQ(figures.ndcg[k], 1);
  EXPECT_NEAR(figures.mean_ndcg, 1, 1e-15);
  EXPECT_DOUBLE_EQ(figures.average_precision, 1);
}

// Mean NDCG goes over all ranks, not the ten that are printed.
TEST(LetorMetricsTest, MeanNdcgGoesOverAllRanks) {
  Relevances last(12, 0);
  last[11] = 1;
  // NDCG is 0 for eleven ranks, then 1/log2 12 over 1.
  EXPECT_DOUBLE_EQ(LetorFiguresOf(Order(last)).mean_ndcg,
                   1 / std::log2(12.0) / 12);
}

TEST(LetorMetricsTest, MeansCountEveryQueryTheSame) {
  const std::vector<LetorFigures> figures = {LetorFiguresOf(Order({1, 0})),
                                             LetorFiguresOf(Order({0, 0})),
                                             LetorFiguresOf(Order({0, 1}))};
  const LetorFigures mean = MeanOf(figures);
  EXPECT_DOUBLE_EQ(mean.ndcg[0], 1. / 3);
  EXPECT_DOUBLE_EQ(mean.ndcg[1], 2. / 3);
  EXPECT_DOUBLE_EQ(mean.mean_ndcg, (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(mean.average_precision, (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(mean.precision[9], (0.1 + 0 + 0.1) / 3);
}

TEST(RecallTest, IsTheShareOfTheRelevantThatIsFound) {
  EXPECT_DOUBLE_EQ(Recall(Order({2, 0, 1, 1}), 1, 1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(Recall(Order({2, 0, 1, 1}), 1, 3), 2.0 / 3);
  EXPECT_DOUBLE_EQ(Recall(Order({2, 0, 1, 1}), 2, 9), 1);
  EXPECT_TRUE(std::isnan(Recall(Order({0}), 1, 1)));
}

TEST(SuccessTest, IsOneIfAnyOfTheFirstIsRelevant) {
  EXPECT_EQ(Success(Order({0, 1, 2}), 1, 1), 0);
  EXPECT_EQ(Success(Order({0, 1, 2}), 1, 2), 1);
  EXPECT_EQ(Success(Order({0, 1, 2}), 2, 2), 0);
  EXPECT_EQ(Success(Order({0, 1, 2}), 2, 9), 1);
}

using Set = std::vector<uint8_t>;

// a = 2, b = 1, c = 3, d = 4.
const SetCounts kCounts = {2, 1, 3, 4};

TEST(SetMetricsTest, CountsTheFourCases) {
  const SetCounts counts = CountSet(Set{1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                    Set{1, 1, 0, 1, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(counts.true_positives, 2u);
  EXPECT_EQ(counts.false_positives, 1u);
  EXPECT_EQ(counts.false_negatives, 3u);
  EXPECT_EQ(counts.true_negatives, 4u);
}

TEST(SetMetricsTest, CountsWrongItems) {
  EXPECT_DOUBLE_EQ(Jaccard(kCounts), 2.0 / 6);
  EXPECT_EQ(Jaccard({0, 0, 0, 4}), 1);
  EXPECT_DOUBLE_EQ(HammingLoss(kCounts), 4.0 / 10);
  EXPECT_EQ(SubsetAccuracy(kCounts), 0);
  EXPECT_EQ(SubsetAccuracy({2, 0, 0, 1}), 1);
}

// F1 is 2 · 2 / (4 + 1 + 3) = 1/2 of the first label, 0 of the second; the
// third has nothing to find and nothing was found.
TEST(SetMetricsTest, MacroF1LeavesOutLabelsThatDoNotOccur) {
  const std::vector<SetCounts> labels = {kCounts, {0, 1, 0, 9}, {0, 0, 0, 10}};
  const MacroF1 macro = MacroF1Of(labels);
  EXPECT_DOUBLE_EQ(macro.value, 0.25);
  EXPECT_EQ(macro.counted, 2u);
  EXPECT_TRUE(std::isnan(MacroF1Of({}).value));
}

TEST(SetMetricsTest, AreTheLecturesRatios) {
  EXPECT_DOUBLE_EQ(Sensitivity(kCounts), 2.0 / 5);
  EXPECT_DOUBLE_EQ(Specificity(kCounts), 4.0 / 5);
  EXPECT_DOUBLE_EQ(Precision(kCounts), 2.0 / 3);
}

// F-beta is the weighted harmonic mean of sensitivity and precision.
TEST(SetMetricsTest, FBetaIsAHarmonicMean) {
  EXPECT_DOUBLE_EQ(FBeta(kCounts, 1), 4.0 / 8);
  for (const double beta : {0.25, 1., 3.}) {
    const double beta2 = beta * beta;
    EXPECT_NEAR(
        FBeta(kCounts, beta),
        (1 + beta2) / (beta2 / Sensitivity(kCounts) + 1 / Precision(kCounts)),
        1e-15);
  }
}

TEST(SetMetricsTest, HaveNoValueWithoutADenominator) {
  const SetCounts nothing = {};
  EXPECT_TRUE(std::isnan(Sensitivity(nothing)));
  EXPECT_TRUE(std::isnan(Specificity(nothing)));
  EXPECT_TRUE(std::isnan(Precision(nothing)));
  EXPECT_EQ(FBeta(nothing, 1), 1);
  EXPECT_EQ(FBeta({0, 1, 0, 0}, 1), 0);
}

TEST(PairMetricsTest, KendallCountsPairsThatDiffer) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const size_t n = random() % 12;
    std::vector<uint32_t> a(n);
    std::iota(a.begin(), a.end(), 0);
    std::vector<uint32_t> b = a;
    std::shuffle(a.begin(), a.end(), random);
    std::shuffle(b.begin(), b.end(), random);
    uint64_t expected = 0;
    const auto rank = [](const std::vector<uint32_t>& order, uint32_t item) {
      return std::find(order.begin(), order.end(), item) - order.begin();
    };
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < i; ++j) {
        expected += (rank(a, i) < rank(a, j)) != (rank(b, i) < rank(b, j));
      }
    }
    EXPECT_EQ(KendallDistance(a, b), expected);
  }
}

// Compares with a count pair by pair; scores and labels have many ties.
TEST(RightPairsTest, CountsEqualScoresHalf) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const size_t n = random() % 9;
    std::vector<double> scores(n);
    std::vector<uint32_t> labels(n);
    for (size_t i = 0; i < n; ++i) {
      scores[i] = static_cast<double>(random() % 4);
      labels[i] = static_cast<uint32_t>(random() % 3);
    }
    double right = 0, pairs = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (labels[i] <= labels[j]) continue;
        ++pairs;
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      }
    }
    const double share = RightPairs(scores, labels);
    if (pairs == 0) {
      EXPECT_TRUE(std::isnan(share));
    } else {
      EXPECT_NEAR(share, right / pairs, 1e-14);
    }
  }
}

}  // namespace
}  // namespace sortition
