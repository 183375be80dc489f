#include "process/status/metric_figures.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MetricFiguresTest, IncreasesAreDifferencesUnlessACounterBeganAgain) {
  Metrics metrics;
  const MetricLabels labels = {{"method", "Rank"}};
  MetricCounter* const counter = metrics.Counter("c_total", "help", labels);
  MetricHistogram* const histogram =
      metrics.Histogram("h", "help", {1, 2}, labels);
  counter->Increment(3);
  histogram->Observe(0.5);
  histogram->Observe(5);
  const MetricSamples before = metrics.Read();
  counter->Increment(4);
  histogram->Observe(2);  // A bound belongs to the bin below it.
  const MetricSamples now = metrics.Read();
  EXPECT_EQ(ValueOf(now, "c_total", labels), 7);
  EXPECT_EQ(ValueOf(now, "c_total", {}), 0);
  EXPECT_EQ(IncreaseOf(now, before, "c_total", labels), 4);
  EXPECT_EQ(IncreaseOf(before, now, "c_total", labels), 3);
  EXPECT_EQ(IncreaseOf(now, {}, "c_total", labels), 7);
  EXPECT_THAT(BinIncreases(now, before, "h", labels), ElementsAre(0, 1, 0));
  EXPECT_THAT(BinIncreases(before, now, "h", labels), ElementsAre(1, 0, 1));
  EXPECT_THAT(BinIncreases(now, {}, "h", labels), ElementsAre(1, 1, 1));
  EXPECT_THAT(BinIncreases(now, before, "none", labels), IsEmpty());
  const MetricSample* const sample = FindSample(now, "h", labels);
  ASSERT_NE(sample, nullptr);
  EXPECT_EQ(sample->value, 7.5);
  EXPECT_EQ(LabelOf(*sample, "method"), "Rank");
  EXPECT_EQ(LabelOf(*sample, "code"), "");
  status::v1::Histogram copy;
  SetHistogram(*sample, &copy);
  EXPECT_THAT(copy.bounds(), ElementsAre(1, 2));
  EXPECT_THAT(copy.counts(), ElementsAre(1, 1, 1));
}

TEST(MetricFiguresTest, QuantilesByHand) {
  const std::vector<double> bounds = {1, 2, 4};
  // A quarter of the values each in [0, 1], [2, 4], and half beyond 4.
  const std::vector<uint64_t> counts = {1, 0, 1, 2};
  EXPECT_DOUBLE_EQ(QuantileOfBins(bounds, counts, 0.125), 0.5);
  EXPECT_DOUBLE_EQ(QuantileOfBins(bounds, counts, 0.25), 1);
  EXPECT_DOUBLE_EQ(QuantileOfBins(bounds, counts, 0.375), 3);
  EXPECT_DOUBLE_EQ(QuantileOfBins(bounds, counts, 0.5), 4);
  EXPECT_DOUBLE_EQ(QuantileOfBins(bounds, counts, 0.99), 4);
  EXPECT_EQ(QuantileOfBins(bounds, std::vector<uint64_t>(4), 0.5), 0);
  EXPECT_EQ(QuantileOfBins({}, {}, 0.5), 0);
}

// The quantile of the values themselves is in the same bin, so that the two
// differ by its width at most.
TEST(MetricFiguresTest, QuantilesAgreeWithThoseOfSortedValues) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> seconds(std::log(1e-3), 1.5);
  const std::vector<double> bounds = LatencyBuckets();
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<uint64_t> counts(bounds.size() + 1);
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i) {
      values.push_back(std::min(seconds(random), bounds.back()));
      const auto bin =
          std::lower_bound(bounds.begin(), bounds.end(), values.back());
      ++counts[static_cast<size_t>(bin - bounds.begin())];
    }
    std::sort(values.begin(), values.end());
    for (const double probability : {0.5, 0.9, 0.99, 0.999}) {
      const double exact = values[static_cast<size_t>(
          std::ceil(probability * static_cast<double>(values.size())) - 1)];
      const auto upper = std::lower_bound(bounds.begin(), bounds.end(), exact);
      const double lower = upper == bounds.begin() ? 0 : *(upper - 1);
      const double quantile = QuantileOfBins(bounds, counts, probability);
      EXPECT_GE(quantile, lower) << probability;
      EXPECT_LE(quantile, *upper) << probability;
    }
  }
}

}  // namespace
}  // namespace sortition
