#include "core/metrics/ranking_metrics.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

using Relevances = std::vector<int>;

// 3, 0, 1: 7 / log2(2) + 0 + 1 / log2(4) = 7.5.
TEST(DcgTest, HasExponentialGainAndLogarithmicDiscount) {
  EXPECT_DOUBLE_EQ(Dcg(Relevances{3, 0, 1}, 0), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Relevances{3, 0, 1}, 3), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Relevances{3, 0, 1}, 10), 7.5);
  EXPECT_DOUBLE_EQ(Dcg(Relevances{3, 0, 1}, 2), 7);
  EXPECT_DOUBLE_EQ(Dcg(Relevances{0, 2}, 0), 3 / std::log2(3.0));
  EXPECT_EQ(Dcg(Relevances{}, 0), 0);
}

// Order 0, 1, 3 of all of {3, 1, 0}: (1/log2(3) + 7/2) / (7 + 1/log2(3)).
TEST(NdcgTest, ComparesWithTheBestOrder) {
  const Relevances all = {1, 0, 3};
  const double b = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(Ndcg(Relevances{0, 1, 3}, all, 0), (b + 3.5) / (7 + b));
  EXPECT_DOUBLE_EQ(Ndcg(Relevances{3, 1, 0}, all, 0), 1);
  // Compares with the best first item of all, though only one was ranked.
  EXPECT_DOUBLE_EQ(Ndcg(Relevances{1}, all, 1), 1.0 / 7);
}

TEST(NdcgTest, IsZeroWhereNothingIsRelevant) {
  EXPECT_EQ(Ndcg(Relevances{0, 0}, Relevances{0, 0}, 0), 0);
}

// Seed 003, eq. 12: relevances 0, 1, 3 over log2 of 2, 3, 4.
TEST(LinearNdcgTest, HasTheRelevanceItselfAsGain) {
  const Relevances ranked = {0, 1, 3};
  const double b = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(LinearNdcg(ranked, ranked, 0), (b + 1.5) / (3 + b));
  EXPECT_DOUBLE_EQ(LinearNdcg(ranked, ranked, 2), b / (3 + b));
  EXPECT_TRUE(std::isnan(LinearNdcg(Relevances{0}, Relevances{0}, 0)));
}

// Grades up to 2: R is 0, 1/4, 3/4. Order 2, 0, 1:
//   1 · 3/4 + 0 + 1/3 · 1/4 · 1/4 = 0.75 + 1/48.
TEST(ErrTest, IsTheCascade) {
  EXPECT_DOUBLE_EQ(ExpectedReciprocalRank(Relevances{2, 0, 1}, 2, 0),
                   0.75 + 1.0 / 48);
  EXPECT_DOUBLE_EQ(ExpectedReciprocalRank(Relevances{2, 0, 1}, 2, 2), 0.75);
  EXPECT_EQ(ExpectedReciprocalRank(Relevances{0, 0}, 2, 0), 0);
}

TEST(PrecisionTest, CountsRanksThatWereNotFilled) {
  EXPECT_DOUBLE_EQ(Precision(Relevances{2, 0, 1}, 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(Precision(Relevances{2, 0, 1}, 2, 3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(Precision(Relevances{2, 0, 1}, 1, 4), 0.5);
}

}  // namespace
}  // namespace sortition
