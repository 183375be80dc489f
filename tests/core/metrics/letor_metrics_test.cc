#include "core/metrics/letor_metrics.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

using Relevances = std::vector<int>;

// Gains 1, 0, 3, 0 with discounts 1, 1, 1/log2 3, 1/2; the best order is
// 3, 1, 0, 0.
TEST(LetorMetricsTest, FirstTwoRanksAreNotDiscounted) {
  const LetorFigures figures = LetorFiguresOf(Relevances{1, 0, 2, 0});
  const double third = (1 + 3 / std::log2(3.0)) / 4;
  EXPECT_DOUBLE_EQ(figures.ndcg[0], 1. / 3);
  EXPECT_DOUBLE_EQ(figures.ndcg[1], 1. / 4);
  EXPECT_DOUBLE_EQ(figures.ndcg[2], third);
  EXPECT_DOUBLE_EQ(figures.ndcg[3], third);
  EXPECT_DOUBLE_EQ(figures.mean_ndcg, (1. / 3 + 1. / 4 + 2 * third) / 4);
}

// The tool leaves NDCG@k of shorter queries undefined and adds it as 0.
TEST(LetorMetricsTest, NdcgBeyondTheLastCandidateIsZeroAndPrecisionIsDiluted) {
  const LetorFigures figures = LetorFiguresOf(Relevances{2, 0, 1, 0});
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
  const LetorFigures figures = LetorFiguresOf(Relevances(12, 0));
  EXPECT_EQ(figures.mean_ndcg, 0);
  EXPECT_EQ(figures.average_precision, 0);
  for (int k = 0; k < kLetorRanks; ++k) {
    EXPECT_EQ(figures.ndcg[k], 0);
    EXPECT_EQ(figures.precision[k], 0);
  }
}

TEST(LetorMetricsTest, TheBestOrderHasNdcgOneAtEveryRank) {
  const LetorFigures figures =
      LetorFiguresOf(Relevances{2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  for (int k = 0; k < kLetorRanks; ++k) EXPECT_EQ(figures.ndcg[k], 1);
  EXPECT_NEAR(figures.mean_ndcg, 1, 1e-15);
  EXPECT_DOUBLE_EQ(figures.average_precision, 1);
}

// Mean NDCG goes over all ranks, not the ten that are printed.
TEST(LetorMetricsTest, MeanNdcgGoesOverAllRanks) {
  Relevances last(12, 0);
  last[11] = 1;
  // NDCG is 0 for eleven ranks, then 1/log2 12 over 1.
  EXPECT_DOUBLE_EQ(LetorFiguresOf(last).mean_ndcg, 1 / std::log2(12.0) / 12);
}

TEST(LetorMetricsTest, MeansCountEveryQueryTheSame) {
  const std::vector<LetorFigures> figures = {LetorFiguresOf(Relevances{1, 0}),
                                             LetorFiguresOf(Relevances{0, 0}),
                                             LetorFiguresOf(Relevances{0, 1})};
  const LetorFigures mean = MeanOf(figures);
  EXPECT_DOUBLE_EQ(mean.ndcg[0], 1. / 3);
  EXPECT_DOUBLE_EQ(mean.ndcg[1], 2. / 3);
  EXPECT_DOUBLE_EQ(mean.mean_ndcg, (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(mean.average_precision, (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(mean.precision[9], (0.1 + 0 + 0.1) / 3);
}

}  // namespace
}  // namespace sortition
