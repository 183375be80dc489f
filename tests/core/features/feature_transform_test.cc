#include "core/features/feature_transform.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/features/describe_features.h"
#include "core/features/feature_learning.h"
#include "core/features/text/murmur3.h"
#include "core/features/text/word_splitter.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::FloatNear;

using Row = std::vector<float>;

// What `spec` makes of `columns` after it learned from them alone.
class Fit {
 public:
  Fit(const std::string& spec, const Columns& columns,
      const model::v1::WordVectors& vectors = {}) {
    auto features = Learn(ParseSpec(spec), {columns}, vectors);
    EXPECT_OK(features);
    if (!features.ok()) return;
    message = *features;
    auto made = FeatureTransform::Create(message);
    EXPECT_OK(made);
    if (!made.ok()) return;
    transform = *std::move(made);
    rows = Rows(*transform, columns);
    for (uint32_t j = 0; j < std::min(transform->num_features(), 100u); ++j) {
      names.push_back(transform->FeatureName(j));
    }
  }

  model::v1::Features message;
  std::optional<FeatureTransform> transform;
  std::vector<Row> rows;
  std::vector<std::string> names;
};

constexpr char kPrices[] = "schema { column { name: 'price' type: NUMBER } } ";
Columns Prices() {
  return ParseColumns(
      "num_candidates: 4 candidate { name: 'price' "
      "numbers { values: [1, 3, nan, 8] } }");
}

Fit FitPrices(const std::string& transforms) {
  return Fit(absl::StrCat(kPrices, transforms), Prices());
}

TEST(NumberTest, MissingIsTheMeanOfTraining) {
  const Fit fit = FitPrices("transform { number { column: 'price' } }");
  EXPECT_THAT(fit.names, ElementsAre("price"));
  EXPECT_THAT(fit.rows, ElementsAre(Row{1}, Row{3}, Row{4}, Row{8}));
}

TEST(NumberTest, StandardisesByTheValuesThatAreThere) {
  const Fit fit = FitPrices(
      "transform { number { column: 'price' standardise: true "
      "missing_indicator: true } }");
  EXPECT_THAT(fit.names, ElementsAre("price", "missing(price)"));
  // Mean 4, variance (9 + 1 + 16) / 3.
  const auto deviation = static_cast<float>(std::sqrt(26.0 / 3));
  EXPECT_THAT(fit.rows[0], ElementsAre(FloatNear(-3 / deviation, 1e-6f), 0));
  EXPECT_THAT(fit.rows[2], ElementsAre(0, 1));
  EXPECT_THAT(fit.rows[3], ElementsAre(FloatNear(4 / deviation, 1e-6f), 0));
}

TEST(NumberTest, TakesLogarithmsThenClips) {
  const Fit fit = FitPrices(
      "transform { number { column: 'price' log1p: true clip_min: 1 clip_max: "
      "2 missing_value: -7 } }");
  EXPECT_THAT(fit.names, ElementsAre("log1p(price)"));
  EXPECT_EQ(fit.rows[0][0], 1);  // log 2 = 0.69 is clipped.
  EXPECT_FLOAT_EQ(fit.rows[1][0], static_cast<float>(std::log(4.0)));
  EXPECT_EQ(fit.rows[2][0], 1);  // -log 8, clipped.
  EXPECT_EQ(fit.rows[3][0], 2);
}

TEST(NumberTest, BinsLieBetweenQuantiles) {
  const Columns columns = ParseColumns(
      "num_candidates: 9 candidate { name: 'price' "
      "numbers { values: [1, 2, 3, 4, 5, 6, 7, 8, nan] } }");
  const Fit fit(absl::StrCat(kPrices,
                             "transform { number { column: 'price' "
                             "quantile_bins: 4 missing_indicator: true } }"),
                columns);
  EXPECT_THAT(fit.message.learned().transform(0).edges(), ElementsAre(3, 5, 7));
  EXPECT_EQ(fit.rows[0], (Row{1, 0, 0, 0, 0}));
  EXPECT_EQ(fit.rows[2], (Row{0, 1, 0, 0, 0}));  // 3 is an edge: above it.
  EXPECT_EQ(fit.rows[7], (Row{0, 0, 0, 1, 0}));
  EXPECT_EQ(fit.rows[8], (Row{0, 0, 0, 0, 1}));
}

constexpr char kColors[] =
    "schema { column { name: 'color' type: CATEGORY } "
    "         column { name: 'tags' type: CATEGORY_SET } } ";
Columns Colors() {
  return ParseColumns(
      "num_candidates: 4 "
      "candidate { name: 'color' missing: 3 "
      "            categories { values: ['red', 'red', 'blue', ''] } } "
      "candidate { name: 'tags' category_sets { offsets: [0, 2, 3, 3, 4] "
      "            values: ['a', 'b', 'b', '12'] } }");
}

Fit FitColors(const std::string& transforms) {
  return Fit(absl::StrCat(kColors, transforms), Colors());
}

TEST(VocabularyTest, TheMostFrequentValuesComeFirst) {
  const Fit fit = FitColors(
      "transform { vocabulary { column: 'color' most_values: 1 "
      "unknown_indicator: true missing_indicator: true } } transform { "
      "vocabulary { column: 'tags' } }");
  EXPECT_THAT(fit.names,
              ElementsAre("color=red", "unknown(color)", "missing(color)",
                          "tags=b", "tags=12", "tags=a"));
  EXPECT_EQ(fit.rows[0], (Row{1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(fit.rows[1], (Row{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(fit.rows[2], (Row{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(fit.rows[3], (Row{0, 0, 1, 0, 1, 0}));
}

TEST(VocabularyTest, AWholeTextIsAValue) {
  const Fit fit(
      "schema { column { name: 'kind' type: TEXT } } "
      "transform { vocabulary { column: 'kind' missing_indicator: true } }",
      ParseColumns("num_candidates: 3 candidate { name: 'kind' texts { "
                   "values: ['a b', 'c', 'a b'] } }"));
  EXPECT_THAT(fit.names, ElementsAre("kind=a b", "kind=c", "missing(kind)"));
  EXPECT_EQ(fit.rows[0], (Row{1, 0, 0}));
  EXPECT_EQ(fit.rows[1], (Row{0, 1, 0}));
}

TEST(HashedFeaturesTest, StandsWhereVowpalWabbitPutsIt) {
  const Fit fit = FitColors(
      "transform { hash { column: 'color' bits: 10 } } transform { hash { "
      "column: 'tags' bits: 10 } }");
  ASSERT_EQ(fit.rows[0].size(), 2048u);
  const uint32_t color = Murmur3("red", Murmur3("color", 0)) % 1024;
  EXPECT_EQ(fit.rows[0][color], 1);
  EXPECT_EQ(std::count(fit.rows[0].begin(), fit.rows[0].begin() + 1024, 0.0f),
            1023);
  // Digits alone are added to the hash of the column's name.
  const uint32_t twelve = (Murmur3("tags", 0) + 12) % 1024;
  EXPECT_EQ(fit.rows[3][1024 + twelve], 1);
  EXPECT_EQ(fit.transform->FeatureName(1024 + twelve),
            absl::StrCat("hash(tags)#", twelve));
}

TEST(CrossTest, PairsTheQueryWithTheCandidate) {
  const Columns columns = ParseColumns(
      "num_candidates: 2 "
      "candidate { name: 'color' categories { values: ['red', 'blue'] } } "
      "candidate { name: 'price' numbers { values: [2.5, nan] } } "
      "query { name: 'city' categories { values: 'Rome' } } "
      "query { name: 'question' texts { values: 'Red red wine' } }");
  const Fit fit(
      "schema { column { name: 'color' type: CATEGORY } "
      "         column { name: 'price' type: NUMBER } "
      "         column { name: 'city' type: CATEGORY scope: QUERY } "
      "         column { name: 'question' type: TEXT scope: QUERY } } "
      "transform { cross { left: 'city' right: 'color' bits: 12 } } "
      "transform { cross { left: 'question' right: 'price' bits: 12 } }",
      columns);
  const uint32_t rome = Murmur3("Rome", Murmur3("city", 0));
  const uint32_t blue = Murmur3("blue", Murmur3("color", 0));
  const uint32_t pair = ((rome * 16777619u) ^ blue) % 4096;
  EXPECT_EQ(fit.rows[1][pair], 1);
  EXPECT_EQ(fit.transform->FeatureName(pair),
            absl::StrCat("city^color#", pair));
  // A number is the feature of its own name, times its value; twice for a word
  // that is there twice.
  const uint32_t price = Murmur3("price", Murmur3("price", 0));
  const auto place = [&](const char* word) {
    const uint32_t hash = Murmur3(word, Murmur3("question", 0));
    return 4096 + ((hash * 16777619u) ^ price) % 4096;
  };
  EXPECT_EQ(fit.rows[0][place("red")], 5);
  EXPECT_EQ(fit.rows[0][place("wine")], 2.5);
  EXPECT_EQ(fit.rows[1][place("wine")], 0);  // The price is missing.
}

TEST(CrossTest, ScalesNumbers) {
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 'price' numbers { values: [0, 3, nan] } } "
      "query { name: 'city' categories { values: 'Rome' } }");
  const std::string schema =
      "schema { column { name: 'price' type: NUMBER } "
      "         column { name: 'city' type: CATEGORY scope: QUERY } } ";
  const uint32_t rome = Murmur3("Rome", Murmur3("city", 0));
  const uint32_t price = Murmur3("price", Murmur3("price", 0));
  const uint32_t place = ((rome * 16777619u) ^ price) % 4096;
  const Fit logarithm(absl::StrCat(schema,
                                   "transform { cross { left: 'city' right: "
                                   "'price' bits: 12 log1p: true } }"),
                      columns);
  EXPECT_EQ(logarithm.rows[0][place], 0);
  EXPECT_FLOAT_EQ(logarithm.rows[1][place], std::log(4.0f));
  // Two values lie one standard deviation below and above their mean.
  const Fit both(absl::StrCat(schema,
                              "transform { cross { left: 'city' right: 'price' "
                              "bits: 12 log1p: true standardise: true } }"),
                 columns);
  EXPECT_FLOAT_EQ(both.rows[0][place], -1);
  EXPECT_FLOAT_EQ(both.rows[1][place], 1);
  EXPECT_EQ(both.rows[2][place], 0);  // Missing.
  const Fit standardised(absl::StrCat(schema,
                                      "transform { cross { left: 'price' "
                                      "right: 'city' bits: 12 "
                                      "standardise: true } }"),
                         columns);
  EXPECT_FLOAT_EQ(standardised.rows[1][((price * 16777619u) ^ rome) % 4096], 1);
}

TEST(NgramTest, CountsWordsAndPairsOfThem) {
  const Columns columns = ParseColumns(
      "num_candidates: 1 "
      "candidate { name: 'title' texts { values: 'New York, new york' } }");
  const std::string schema = "schema { column { name: 'title' type: TEXT } } ";
  const Fit fit(absl::StrCat(schema,
                             "transform { ngrams { column: 'title' "
                             "longest: 2 bits: 16 } }"),
                columns);
  const uint32_t seed = Murmur3("title", 0);
  const uint32_t a = Murmur3("new", seed), b = Murmur3("york", seed);
  Row expected(65536);
  expected[a % 65536] += 2;
  expected[b % 65536] += 2;
  expected[(a * 27942141u + b) % 65536] += 2;
  expected[(b * 27942141u + a) % 65536] += 1;
  EXPECT_EQ(fit.rows[0], expected);

  const Fit normal(absl::StrCat(schema,
                                "transform { ngrams { column: 'title' "
                                "longest: 2 bits: 16 normalise: true } }"),
                   columns);
  const float norm = std::sqrt(4.0f + 4 + 4 + 1);
  EXPECT_FLOAT_EQ(normal.rows[0][a % 65536], 2 / norm);
  EXPECT_FLOAT_EQ(normal.rows[0][(b * 27942141u + a) % 65536], 1 / norm);
}

TEST(VectorTest, StandardisesEachNumberAndComparesVectors) {
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 'v' missing: 2 vectors { size: 2 "
      "            values: [1, 5, 3, 5, 0, 0] } } "
      "query { name: 'q' vectors { size: 2 values: [0, 2] } }");
  const Fit fit(
      "schema { column { name: 'v' type: VECTOR size: 2 } "
      "         column { name: 'q' type: VECTOR size: 2 scope: QUERY } } "
      "transform { vector { column: 'v' standardise: true } } "
      "transform { cosine { left: 'q' right: 'v' } }",
      columns);
  EXPECT_THAT(fit.names, ElementsAre("v#0", "v#1", "cosine(q,v)"));
  // Means 2 and 5; deviations 1 and 0, which divides by 1.
  EXPECT_EQ(fit.rows[0], (Row{-1, 0, static_cast<float>(5 / std::sqrt(26.0))}));
  EXPECT_EQ(fit.rows[1], (Row{1, 0, static_cast<float>(5 / std::sqrt(34.0))}));
  EXPECT_EQ(fit.rows[2], (Row{0, 0, 0}));
}

TEST(DerivedTest, MultipliesAndComparesFeatures) {
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 'a' numbers { values: [2, 5, 2] } } "
      "candidate { name: 'b' numbers { values: [3, 7, -1] } }");
  const std::string spec =
      "schema { column { name: 'a' type: NUMBER } "
      "         column { name: 'b' type: NUMBER } } "
      "transform { number { column: 'a' } } "
      "transform { number { column: 'b' } } ";
  const Fit all(absl::StrCat(spec,
                             "transform { polynomial { feature: ['a', 'b'] "
                             "degree: 3 } }"),
                columns);
  EXPECT_THAT(all.names, ElementsAre("a", "b", "a*a", "a*b", "b*b", "a*a*a",
                                     "a*a*b", "a*b*b", "b*b*b"));
  EXPECT_EQ(all.rows[0], (Row{2, 3, 4, 6, 9, 8, 12, 18, 27}));
  const Fit crosses(absl::StrCat(spec,
                                 "transform { polynomial { feature: ['a', 'b'] "
                                 "only_crosses: true } }"),
                    columns);
  EXPECT_EQ(crosses.rows[1], (Row{5, 7, 35}));
  const Fit relative(
      absl::StrCat(spec, "transform { relative { feature: 'a' } }"), columns);
  EXPECT_THAT(relative.names,
              ElementsAre("a", "b", "to_best(a)", "share_below(a)"));
  // 2 ties with one of two others; 5 is above both.
  EXPECT_EQ(relative.rows[0], (Row{2, 3, -3, 0.25}));
  EXPECT_EQ(relative.rows[1], (Row{5, 7, 0, 1}));
}

TEST(TextPairTest, StandardisedMeasuresHaveMeanZeroAndDeviationOne) {
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 's' texts { values: ['a cat sat', 'no', 'the cat'] } }"
      "query { name: 'q' texts { values: 'Who is the cat?' } }");
  const Fit fit(
      "schema { column { name: 's' type: TEXT } "
      "         column { name: 'q' type: TEXT scope: QUERY } } "
      "transform { text_pair { query: 'q' candidate: 's' standardise: true "
      "            measure: [BM25, LENGTH_RATIO, ANSWER_TYPE] } }",
      columns);
  ASSERT_EQ(fit.rows[0].size(), 1u + 2 + 54);
  EXPECT_EQ(fit.names[0], "bm25(q,s)");
  EXPECT_EQ(fit.names[3], "answer(q,s)#who*name");
  for (size_t j = 0; j < 3; ++j) {
    double sum = 0, squares = 0;
    for (const Row& row : fit.rows) {
      sum += row[j];
      squares += row[j] * row[j];
    }
    EXPECT_NEAR(sum, 0, 1e-6);
    EXPECT_NEAR(squares, 3, 1e-5);
  }
  EXPECT_EQ(fit.message.learned().feature(0).count(), 3u);
}

TEST(TextPairTest, EmbeddingsCompareSumsOfVectors) {
  model::v1::WordVectors vectors;
  vectors.set_size(2);
  for (const char* const word : {"cat", "dog", "tiger"}) vectors.add_word(word);
  for (const float value : {1.0f, 0.0f, 0.0f, 1.0f, 3.0f, 4.0f}) {
    vectors.add_values(value);
  }
  const std::string spec =
      "schema { column { name: 's' type: TEXT } "
      "         column { name: 'q' type: TEXT scope: QUERY } } "
      "transform { text_pair { query: 'q' candidate: 's' "
      "            measure: EMBEDDING_COSINE } }";
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 's' texts { values: ['tiger', 'dog', 'fish'] } }"
      "query { name: 'q' texts { values: 'cat' } }");
  const Fit fit(spec, columns, vectors);
  EXPECT_THAT(fit.rows, ElementsAre(Row{0.6f}, Row{0}, Row{0}));
  EXPECT_THAT(Learn(ParseSpec(spec), {columns}),
              IsInvalidArgument("word_vectors is empty"));
}

TEST(FeatureTransformTest, CutsWhatIsTooLargeForAFloat) {
  const Columns columns = ParseColumns(
      "num_candidates: 2 "
      "candidate { name: 'price' numbers { values: [1e300, -1e300] } }");
  const Fit fit(
      absl::StrCat(kPrices,
                   "transform { number { column: 'price' } } "
                   "transform { polynomial { feature: 'price' } } "
                   "transform { relative { feature: 'price*price' } }"),
      columns);
  EXPECT_EQ(fit.rows[0], (Row{1e30f, 1e30f, 0, 0.5}));
  EXPECT_EQ(fit.rows[1], (Row{-1e30f, 1e30f, 0, 0.5}));
}

TEST(FeatureTransformTest, RefusesASchemaThatIsNotItsOwn) {
  const Fit fit = FitPrices("transform { number { column: 'price' } }");
  model::v1::Features other = fit.message;
  other.mutable_spec()->mutable_schema()->mutable_column(0)->set_missing(true);
  EXPECT_THAT(FeatureTransform::Create(other),
              IsInvalidArgument("that of the schema"));
}

TEST(FeatureTransformTest, RefusesMoreStepsThanItHasTimeFor) {
  const Fit fit(
      absl::StrCat(kPrices,
                   "transform { number { column: 'price' "
                   "quantile_bins: 256 } }"),
      [] {
        Columns columns =
            ParseColumns("num_candidates: 300 candidate { name: 'price' }");
        for (int i = 0; i < 300; ++i) {
          columns.mutable_candidate(0)->mutable_numbers()->add_values(i);
        }
        return columns;
      }());
  Columns columns =
      ParseColumns("num_candidates: 270000 candidate { name: 'price' }");
  columns.mutable_candidate(0)->mutable_numbers()->mutable_values()->Resize(
      270000, 1.0);
  FeatureScratch scratch;
  FeatureMatrix matrix;
  EXPECT_THAT(fit.transform->Apply(columns, &scratch, &matrix),
              IsInvalidArgument("columns take 69120000 steps"));
}

TEST(DescribeTest, ShowsSchemaStatisticsAndNames) {
  const Fit fit = FitColors(
      "transform { vocabulary { column: 'color' } } transform { hash { column: "
      "'tags' bits: 4 } }");
  const std::string text = DescribeFeatures(fit.message, *fit.transform);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("schema ", fit.message.schema_hash(),
                                           ", learned from 1 queries with 4 "
                                           "candidates\n")));
  EXPECT_THAT(text, HasSubstr("column color: CATEGORY of the candidates; 3 "
                              "values, 1 missing, red 66.7 %, blue 33.3 %\n"));
  EXPECT_THAT(text, HasSubstr("column tags: CATEGORY_SET of the candidates; 4 "
                              "values, mean 1, deviation 0.7071, 0 to 2\n"));
  EXPECT_THAT(text, HasSubstr("18 features, 0 of them not sparse\n"));
  EXPECT_THAT(text, HasSubstr("features 2 to 17: hash(tags)#0 ..\n"));
}

TEST(DescribeTest, SaysWhetherTextsAreSplitByAnotherUnicode) {
  model::v1::Features features;
  features.mutable_learned()->set_unicode_version("1.1");
  features.mutable_spec()->add_transform()->mutable_hash()->set_column("a");
  model::v1::CrossTransform* const cross =
      features.mutable_spec()->add_transform()->mutable_cross();
  cross->set_left("a");
  cross->set_right("b");
  EXPECT_EQ(UnicodeNotice(features), "");  // Nothing is split.
  model::v1::ColumnSchema* const column =
      features.mutable_spec()->mutable_schema()->add_column();
  column->set_name("b");
  column->set_type(model::v1::ColumnSchema::TEXT);
  EXPECT_THAT(UnicodeNotice(features), HasSubstr("by Unicode 1.1 in training"));
  column->set_type(model::v1::ColumnSchema::CATEGORY);
  EXPECT_EQ(UnicodeNotice(features), "");
  features.mutable_spec()->add_transform()->mutable_ngrams()->set_column("a");
  EXPECT_THAT(UnicodeNotice(features),
              HasSubstr("split into words by Unicode 1.1 in training, and are "
                        "by "));
  features.mutable_learned()->set_unicode_version(UnicodeVersion());
  EXPECT_EQ(UnicodeNotice(features), "");
  features.mutable_learned()->clear_unicode_version();  // Not learned.
  EXPECT_EQ(UnicodeNotice(features), "");
}

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
              IsInvalidArgument("there are 0 queries"));
  Columns bad = Query(1);
  bad.mutable_candidate()->rbegin()->mutable_numbers()->add_values(1);
  EXPECT_THAT(Learn(ParseSpec(kSpec), {Query(0), bad}),
              IsInvalidArgument("column 'color': is a NUMBER, must be a"));
  const auto fails = [](QueryVisitor) {
    return absl::DataLossError("the disk is gone");
  };
  EXPECT_THAT(LearnFeatures(ParseSpec(kSpec), fails),
              StatusIs(absl::StatusCode::kDataLoss));
}

// A thread that has seen requests of some size allocates nothing for the next
// ones.

TEST(FeatureAllocationTest, WarmRequestsAllocateNothing) {
  const std::string schema =
      "schema { column { name: 'price' type: NUMBER } "
      "         column { name: 'color' type: CATEGORY } "
      "         column { name: 'sentence' type: TEXT } "
      "         column { name: 'question' type: TEXT scope: QUERY } } "
      "transform { number { column: 'price' standardise: true } } "
      "transform { text_pair { query: 'question' candidate: 'sentence' "
      "            words { drop_english_stop_words: true } "
      "            measure: [BM25, LONGEST_COMMON_SUBSEQUENCE, ANSWER_TYPE] } }"
      "transform { relative { feature: 'bm25(question,sentence)' } } ";
  const std::string sparse =
      "transform { vocabulary { column: 'color' } } "
      "transform { hash { column: 'color' } } "
      "transform { ngrams { column: 'sentence' longest: 2 normalise: true } } "
      "transform { cross { left: 'question' right: 'color' } } ";
  const Columns columns = ParseColumns(
      "num_candidates: 3 "
      "candidate { name: 'price' numbers { values: [1, nan, 3] } } "
      "candidate { name: 'color' missing: 2 "
      "            categories { values: ['red', 'blue', ''] } } "
      "candidate { name: 'sentence' texts { values: ["
      "  'The first answer is long enough to need memory of its own .', "
      "  'Ann wrote it in 1999 .', ''] } } "
      "query { name: 'question' texts { values: 'Who wrote the answer ?' } }");
  for (const std::string& spec : {schema, absl::StrCat(schema, sparse)}) {
    ASSERT_OK_AND_ASSIGN(const auto features,
                         Learn(ParseSpec(spec), {columns}));
    ASSERT_OK_AND_ASSIGN(const auto transform,
                         FeatureTransform::Create(features));
    FeatureScratch scratch;
    FeatureMatrix matrix;
    ASSERT_OK(transform.Apply(columns, &scratch, &matrix));
    // Without matchers, which allocate.
    bool ok = true;
    const int64_t before = NumAllocations();
    for (int round = 0; round < 10; ++round) {
      ok = transform.Apply(columns, &scratch, &matrix).ok() && ok;
    }
    EXPECT_EQ(NumAllocations(), before);
    EXPECT_TRUE(ok);
  }
}

}  // namespace
}  // namespace sortition
