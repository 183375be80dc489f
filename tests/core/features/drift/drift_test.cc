#include "core/features/drift/drift.h"

#include <cmath>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::HasSubstr;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

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
      : schema_(*Schema::Create(Parse<model::v1::Schema>(
            "column { name: 'price' type: NUMBER } "
            "column { name: 'color' type: CATEGORY } "
            "column { name: 'question' type: TEXT scope: QUERY }"))) {
    learned_ = Parse<model::v1::LearnedFeatures>(
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
    const Columns columns = Parse<Columns>(
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
    ASSERT_OK_AND_ASSIGN(DriftCounts counts,
                         DriftCounts::Create(schema_, learned_));
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
  ASSERT_OK_AND_ASSIGN(DriftCounts whole,
                       DriftCounts::Create(schema_, learned_));
  ASSERT_OK_AND_ASSIGN(DriftCounts a, DriftCounts::Create(schema_, learned_));
  ASSERT_OK_AND_ASSIGN(DriftCounts b, DriftCounts::Create(schema_, learned_));
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
  ASSERT_OK_AND_ASSIGN(DriftCounts counts,
                       DriftCounts::Create(schema_, learned_));
  Serve("1, nan", "x", 0, false, &counts);
  EXPECT_NEAR(Of(counts, "price"), SlowIndex({2, 2, 1, 2}, {0, 1, 0, 1}),
              1e-13);
}

TEST_F(DriftCountsTest, RefusesStatisticsThatCannotBe) {
  model::v1::LearnedFeatures bad = learned_;
  bad.mutable_column(0)->set_edges(0, 2);
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalid(HasSubstr("'price': edges[1] is 2, must be")));
  bad = learned_;
  bad.mutable_feature(0)->add_bin_counts(1);
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalid(HasSubstr("'f': has 3 counts, must have 2")));
  bad = learned_;
  bad.mutable_column()->RemoveLast();
  EXPECT_THAT(DriftCounts::Create(schema_, bad),
              IsInvalid(HasSubstr("2 columns, must have 3")));
}

}  // namespace
}  // namespace sortition
