#include "core/features/drift/drift.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/features/drift/value_sketch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::Pair;

// The definition once more, in another form: o ln(o/e) + e ln(e/o).
double SlowIndex(const std::vector<double>& training,
                 const std::vector<double>& served) {
  double all_training = 0, all_served = 0;
  for (const double n : training) all_training += n + 0.5;
  for (const double n : served) all_served += n + 0.5;
  double index = 0;
  for (size_t b = 0; b < training.size(); ++b) {
    const double e = (training[b] + 0.5) / all_training;
    const double o = (served[b] + 0.5) / all_served;
    index += o * std::log(o / e) + e * std::log(e / o);
  }
  return index;
}

TEST(StabilityIndexTest, IsZeroForTheSameSharesAndElseAsDefined) {
  const std::vector<uint64_t> a = {9, 30, 60, 1}, b = {40, 10, 0, 50};
  EXPECT_EQ(StabilityIndex(a, a), 0);
  EXPECT_NEAR(StabilityIndex(a, b), SlowIndex({9, 30, 60, 1}, {40, 10, 0, 50}),
              1e-13);
  EXPECT_NEAR(StabilityIndex(a, b), StabilityIndex(b, a), 1e-13);
  EXPECT_GT(StabilityIndex(a, b), 0.25);
}

class DriftCountsTest : public testing::Test {
 protected:
  DriftCountsTest()
      : schema_(*Schema::Create(ParseText<model::v1::Schema>(
            "column { name: 'price' type: NUMBER } "
            "column { name: 'color' type: CATEGORY } "
            "column { name: 'question' type: TEXT scope: QUERY }"))) {
    learned_ = ParseText<model::v1::LearnedFeatures>(
        "column { name: 'price' count: 10 missing: 2 edges: [1, 2] "
        "         bin_counts: [4, 3, 3] } "
        "column { name: 'color' count: 6 categories: ['red', 'blue'] "
        "         category_counts: [3, 2] other_categories: 1 } "
        "column { name: 'question' count: 4 edges: 5 bin_counts: [2, 2] } "
        "feature { name: 'f' count: 10 edges: 0.5 bin_counts: [5, 5] }");
  }

  // Two candidates with the features 0.5 and `second`.
  void Serve(const std::string& prices, const std::string& question,
             float second, bool sparse, DriftCounts* counts) {
    const Columns columns = ParseText<Columns>(
        "num_candidates: 2 candidate { name: 'price' numbers { values: [" +
        prices +
        "] } } candidate { name: 'color' missing: 1 categories { "
        "values: ['green', ''] } } query { name: 'question' texts { values: '" +
        question + "' } }");
    BoundColumns bound;
    ASSERT_OK(bound.Bind(schema_, columns));
    FeatureMatrix matrix;
    matrix.num_features = sparse ? 100 : 1;
    matrix.values = {0.5f, second};
    if (sparse) {
      matrix.row_offsets = {0, 1, 2};
      matrix.columns = {0, second == 0 ? 99u : 0u};
      if (second == 0) matrix.values[1] = 7;
    }
    counts->Add(bound, matrix);
  }

  static double Of(const DriftCounts& counts, const std::string& name) {
    for (const DriftFigure& figure : counts.TopMovers(100)) {
      if (figure.name == name) return figure.stability_index;
    }
    return -1;
  }

  const Schema schema_;
  model::v1::LearnedFeatures learned_;
};

TEST_F(DriftCountsTest, CountsInTheBinsOfTraining) {
  for (const bool sparse : {false, true}) {
    ASSERT_OK_AND_ASSIGN(auto counts, DriftCounts::Create(schema_, learned_));
    EXPECT_TRUE(counts.TopMovers(9).empty());
    Serve("1, nan", "short", 0, sparse, &counts);
    Serve("0, 2.5", "long question", 3, sparse, &counts);
    // Bins: below 1, [1, 2), from 2 on, missing.
    EXPECT_NEAR(Of(counts, "price"), SlowIndex({4, 3, 3, 2}, {1, 1, 1, 1}),
                1e-13);
    // red, blue, others, missing.
    EXPECT_NEAR(Of(counts, "color"), SlowIndex({3, 2, 1, 0}, {0, 0, 2, 2}),
                1e-13);
    // Five bytes are at the edge.
    EXPECT_NEAR(Of(counts, "question"), SlowIndex({2, 2, 0}, {0, 2, 0}), 1e-13);
    EXPECT_NEAR(Of(counts, "f"), SlowIndex({5, 5, 0}, {1, 3, 0}), 1e-13);
  }
}

TEST_F(DriftCountsTest, OrdersTheMoversAndMergesThreads) {
  ASSERT_OK_AND_ASSIGN(auto whole, DriftCounts::Create(schema_, learned_));
  ASSERT_OK_AND_ASSIGN(auto a, DriftCounts::Create(schema_, learned_));
  ASSERT_OK_AND_ASSIGN(auto b, DriftCounts::Create(schema_, learned_));
  Serve("1, 0", "x", 1, false, &a);
  Serve("5, 5", "xxxxxxx", 0, false, &b);
  Serve("1, 0", "x", 1, false, &whole);
  Serve("5, 5", "xxxxxxx", 0, false, &whole);
  a.Merge(b);
  const std::vector<DriftFigure> merged = a.TopMovers(9);
  const std::vector<DriftFigure> expected = whole.TopMovers(9);
  ASSERT_EQ(merged.size(), 4u);
  for (size_t i = 0; i < merged.size(); ++i) {
    EXPECT_EQ(merged[i].name, expected[i].name);
    EXPECT_EQ(merged[i].stability_index, expected[i].stability_index);
    if (i > 0) {
      EXPECT_GE(merged[i - 1].stability_index, merged[i].stability_index);
    }
  }
  EXPECT_EQ(merged[0].name, "color");
  EXPECT_EQ(a.TopMovers(1).size(), 1u);
}

TEST_F(DriftCountsTest, ASampleStandsForAllValues) {
  // 5 of 10 values are in the sample, so 2 of 4 missing ones count.
  learned_.mutable_column(0)->set_missing(4);
  learned_.mutable_column(0)->set_bin_counts(0, 2);
  learned_.mutable_column(0)->set_bin_counts(1, 2);
  learned_.mutable_column(0)->set_bin_counts(2, 1);
  ASSERT_OK_AND_ASSIGN(auto counts, DriftCounts::Create(schema_, learned_));
  Serve("1, nan", "x", 0, false, &counts);
  EXPECT_NEAR(Of(counts, "price"), SlowIndex({2, 2, 1, 2}, {0, 1, 0, 1}),
              1e-13);
}

TEST_F(DriftCountsTest, RefusesStatisticsThatCannotBe) {
  model::v1::LearnedFeatures bad = learned_;
  bad.mutable_column(0)->set_edges(0, 2);
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalidArgument("'price': edges[1] is 2, must be"));
  bad = learned_;
  bad.mutable_feature(0)->add_bin_counts(1);
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalidArgument("'f': has 3 counts, must have 2"));
  bad = learned_;
  bad.mutable_column()->RemoveLast();
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalidArgument("2 columns, must have 3"));
}

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
