#include "client/simulation/latency_histogram.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(LatencyHistogramTest, QuantilesAreWithinOnePercent) {
  LatencyHistogram histogram;
  LatencyHistogram other;
  // 1, 2, … 1000 ms over both.
  for (int i = 1; i <= 1000; ++i) {
    (i % 2 == 0 ? histogram : other).Add(i * 1e-3);
  }
  histogram.Merge(other);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.max_seconds(), 1);
  EXPECT_NEAR(histogram.Quantile(0.5), 0.5, 0.5 * 0.0101);
  EXPECT_NEAR(histogram.Quantile(0.99), 0.99, 0.99 * 0.0101);
  EXPECT_EQ(histogram.Quantile(1), 1);
}

TEST(LatencyHistogramTest, TakesExtremes) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(1e6);
  EXPECT_EQ(histogram.max_seconds(), 1e6);
}

}  // namespace
}  // namespace sortition
