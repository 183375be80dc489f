#include "core/features/drift/value_sketch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RunningMomentsTest, AgreesWithTwoPasses) {
  RandomSequence random(SeedKey(3));
  std::vector<double> values(1000);
  RunningMoments moments;
  for (double& value : values) {
    value = 1e6 + random.Normal();
    moments.Add(value);
  }
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1000;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(moments.mean(), mean, 1e-8);
  EXPECT_NEAR(moments.variance(), squares / 1000, 1e-8);
  EXPECT_NEAR(moments.Scale(), std::sqrt(squares / 1000), 1e-8);
}

TEST(RunningMomentsTest, ConstantsHaveScaleOne) {
  RunningMoments moments;
  EXPECT_EQ(moments.Scale(), 1);
  moments.Add(7);
  moments.Add(7);
  EXPECT_EQ(moments.Scale(), 1);
}

TEST(QuantileEdgesTest, CutsIntoEqualParts) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), 0.0);
  std::reverse(values.begin(), values.end());
  EXPECT_THAT(QuantileEdges(values, 4), ElementsAre(25, 50, 75));
}

TEST(QuantileEdgesTest, GivesFewValuesBinsOfTheirOwn) {
  EXPECT_THAT(QuantileEdges({0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 10),
              ElementsAre(1));
  EXPECT_THAT(QuantileEdges({2, 1, 3}, 3), ElementsAre(2, 3));
  EXPECT_THAT(QuantileEdges({5, 5}, 3), IsEmpty());
  EXPECT_THAT(QuantileEdges({}, 3), IsEmpty());
}

TEST(QuantileEdgesTest, MergesEdgesThatTie) {
  // Half the values are the least one, so that the first edges are none.
  std::vector<double> values(50, 0.0);
  for (int i = 1; i <= 50; ++i) values.push_back(i);
  EXPECT_THAT(QuantileEdges(values, 4), ElementsAre(1, 26));
}

TEST(ValueSampleTest, IsUniformBeyondItsSize) {
  // Of 4 · 65536 numbers each is kept with probability 1/4; of the first half
  // therefore 32768 on average, deviation sqrt(65536 · 1/2 · 1/2) = 128 at the
  // most. Five deviations: 6e-7.
  ValueSample sample;
  for (size_t i = 0; i < 4 * ValueSample::kMost; ++i) {
    sample.Add(static_cast<double>(i));
  }
  ASSERT_EQ(sample.values().size(), ValueSample::kMost);
  const auto first_half = static_cast<double>(std::count_if(
      sample.values().begin(), sample.values().end(),
      [](double value) { return value < 2.0 * ValueSample::kMost; }));
  EXPECT_NEAR(first_half, ValueSample::kMost / 2.0, 5 * 128.0);
}

TEST(CategorySketchTest, ListsTheMostFrequent) {
  CategorySketch sketch;
  for (const char* const value : {"b", "a", "b", "c", "a", "d"}) {
    sketch.Add(value);
  }
  sketch.AddMissing();
  EXPECT_THAT(sketch.MostFrequent(3, 1),
              ElementsAre(Pair("a", 2), Pair("b", 2), Pair("c", 1)));
  EXPECT_THAT(sketch.MostFrequent(3, 2),
              ElementsAre(Pair("a", 2), Pair("b", 2)));
  for (int i = 0; i < 100; ++i) sketch.Add(std::to_string(i));
  const model::v1::ValueStatistics statistics = sketch.Finish("color");
  EXPECT_EQ(statistics.count(), 106u);
  EXPECT_EQ(statistics.missing(), 1u);
  EXPECT_EQ(statistics.categories_size(), 50);
  // a and b twice, 48 others once.
  EXPECT_EQ(statistics.other_categories(), 106u - 4 - 48);
}

}  // namespace
}  // namespace sortition
