#include "core/features/feature_learning.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/core/features/feature_cases.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSpec[] =
    "schema { column { name: 'price' type: NUMBER } "
    "         column { name: 'age' type: NUMBER scope: QUERY } "
    "         column { name: 'color' type: CATEGORY } "
    "         column { name: 'v' type: VECTOR size: 2 missing: true } } "
    "transform { number { column: 'price' standardise: true } } "
    "transform { number { column: 'age' } }";

Columns Query(int i) {
  return ParseColumns(absl::StrCat(
      "num_candidates: 2 candidate { name: 'price' numbers { values: [", i,
      ", ", i + 1, "] } } ",
      "candidate { name: 'color' missing: 0 categories { values: ['', 'c",
      i % 3, "'] } } query { name: 'age' numbers { values: ", 10 * i, " } }"));
}

TEST(FeatureLearningTest, KeepsStatisticsOfColumnsAndFeatures) {
  ASSERT_OK_AND_ASSIGN(const auto features,
                       Learn(ParseSpec(kSpec), {Query(0), Query(1), Query(2)}));
  const auto& learned = features.learned();
  EXPECT_EQ(learned.num_queries(), 3u);
  EXPECT_EQ(learned.num_candidates(), 6u);
  // Prices 0 1, 1 2, 2 3: mean 1.5, variance (2.25 + 0.25) / 2 ... = 11/12.
  const auto& price = learned.column(0);
  EXPECT_EQ(price.name(), "price");
  EXPECT_EQ(price.count(), 6u);
  EXPECT_NEAR(price.mean(), 1.5, 1e-15);
  EXPECT_NEAR(price.variance(), 11.0 / 12, 1e-15);
  EXPECT_EQ(price.min(), 0);
  EXPECT_EQ(price.max(), 3);
  EXPECT_THAT(price.edges(), ElementsAre(1, 2, 3));
  EXPECT_THAT(price.bin_counts(), ElementsAre(1, 2, 2, 1));
  // A column of the query counts once a query.
  EXPECT_EQ(learned.column(1).count(), 3u);
  EXPECT_EQ(learned.column(1).mean(), 10);
  const auto& color = learned.column(2);
  EXPECT_EQ(color.missing(), 3u);
  EXPECT_THAT(color.categories(), ElementsAre("c0", "c1", "c2"));
  EXPECT_THAT(color.category_counts(), ElementsAre(1, 1, 1));
  EXPECT_EQ(learned.column(3).missing(), 6u);
  // Features by candidate.
  EXPECT_EQ(learned.feature(0).name(), "price");
  EXPECT_NEAR(learned.feature(0).mean(), 0, 1e-7);
  EXPECT_NEAR(learned.feature(0).variance(), 1, 1e-6);
  EXPECT_EQ(learned.feature(1).count(), 6u);
  EXPECT_EQ(learned.transform(0).mean(0), price.mean());
}

TEST(FeatureLearningTest, FillsInDefaults) {
  ASSERT_OK_AND_ASSIGN(
      const auto features,
      Learn(ParseSpec("schema { column { name: 'c' type: CATEGORY } } "
                      "transform { hash { column: 'c' } }"),
            {ParseColumns("num_candidates: 1 candidate { name: 'c' "
                          "categories { values: 'x' } }")}));
  EXPECT_EQ(features.spec().transform(0).hash().bits(), 18u);
  EXPECT_EQ(features.schema_hash().size(), 32u);
}

TEST(FeatureLearningTest, RefusesNoQueriesAndPassesErrorsOn) {
  EXPECT_THAT(Learn(ParseSpec(kSpec), {}),
              IsInvalid(HasSubstr("there are 0 queries")));
  Columns bad = Query(1);
  bad.mutable_candidate()->RemoveLast();
  EXPECT_THAT(Learn(ParseSpec(kSpec), {Query(0), bad}),
              IsInvalid(HasSubstr("column 'color' is absent")));
  const auto fails = [](QueryVisitor) {
    return absl::DataLossError("the disk is gone");
  };
  EXPECT_THAT(LearnFeatures(ParseSpec(kSpec), fails),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace sortition
