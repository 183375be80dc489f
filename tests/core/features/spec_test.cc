// Declarations and learned values that must be refused.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/features/feature_transform.h"
#include "core/features/text/murmur3.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

constexpr char kSchema[] =
    "schema { column { name: 'n' type: NUMBER } "
    "         column { name: 'c' type: CATEGORY } "
    "         column { name: 't' type: TEXT } "
    "         column { name: 'q' type: TEXT scope: QUERY } "
    "         column { name: 'v' type: VECTOR size: 2 } "
    "         column { name: 'w' type: VECTOR size: 3 } } ";

const sortition::v1::Columns& OneQuery() {
  static const auto* const columns = new sortition::v1::Columns(ParseColumns(
      "num_candidates: 2 "
      "candidate { name: 'n' numbers { values: [1, 2] } } "
      "candidate { name: 'c' categories { values: ['a', 'b'] } } "
      "candidate { name: 't' texts { values: ['a b', 'b'] } } "
      "candidate { name: 'v' vectors { size: 2 values: [1, 2, 3, 4] } } "
      "candidate { name: 'w' vectors { size: 3 values: [1, 2, 3, 4, 5, 6] } } "
      "query { name: 'q' texts { values: 'a' } }"));
  return *columns;
}

TEST(SpecTest, RefusesDeclarationsWithoutMeaning) {
  struct Case {
    std::string transforms;
    std::string error;
  };
  const std::string number = "transform { number { column: 'n' } } ";
  const Case cases[] = {
      {"", "spec has 0 transforms, must have 1 to 1000"},
      {"transform { }", "transform[0].kind is not set, must be number"},
      {"transform { number { column: 'x' } }",
       "transform[0].number.column is 'x', must be a NUMBER column"},
      {number + "transform { number { column: 'c' } }",
       "transform[1].number.column is 'c', must be a NUMBER column"},
      {"transform { number { column: 'n' clip_min: 2 clip_max: 1 } }",
       "number.clip_min is 2, must be at most clip_max = 1"},
      {"transform { number { column: 'n' clip_min: nan } }",
       "transform[0].number.clip_min is nan, must be finite"},
      {"transform { number { column: 'n' quantile_bins: 1 } }",
       "transform[0].number.quantile_bins is 1, must be in [2, 256]"},
      {"transform { number { column: 'n' quantile_bins: 4 standardise: true } "
       "}",
       "standardise is true, must be false with quantile_bins"},
      {"transform { vocabulary { column: 'n' } }",
       "vocabulary.column is 'n', must be a CATEGORY or CATEGORY_SET or TEXT "
       "column"},
      {"transform { hash { column: 'n' } }", "hash.column is 'n', must be"},
      {"transform { hash { column: 'c' bits: 29 } }",
       "transform[0].hash.bits is 29, must be in [1, 28]"},
      {"transform { cross { left: 'v' right: 'c' } }",
       "cross.left is 'v', must be a NUMBER or CATEGORY or CATEGORY_SET or "
       "TEXT column"},
      {"transform { cross { left: 'c' right: 'x' } }",
       "cross.right is 'x', must be"},
      {"transform { cross { left: 'n' right: 'c' idf: true } }",
       "cross.idf is true, must be false where neither column is a TEXT"},
      {"transform { ngrams { column: 't' words { stemmer: 'latin' } } }",
       "words.stemmer is 'latin', must be empty or one of"},
      {"transform { ngrams { column: 't' longest: 6 } }",
       "ngrams.longest is 6, must be in [1, 5]"},
      {"transform { text_pair { query: 't' candidate: 't' measure: BM25 } }",
       "text_pair.query is 't', must be a TEXT column of scope QUERY"},
      {"transform { text_pair { query: 'q' candidate: 'q' measure: BM25 } }",
       "text_pair.candidate is 'q', must be a TEXT column of scope CANDIDATE"},
      {"transform { text_pair { query: 'q' candidate: 't' } }",
       "text_pair.measure is empty, must have one or more"},
      {"transform { text_pair { query: 'q' candidate: 't' measure: 0 } }",
       "text_pair.measure[0] is 0"},
      {"transform { text_pair { query: 'q' candidate: 't' measure: BM25 "
       "bm25_b: 1.5 } }",
       "text_pair.bm25_b is 1.5, must be in [0, 1]"},
      {"transform { vector { column: 'n' } }",
       "vector.column is 'n', must be a VECTOR column"},
      {"transform { cosine { left: 'v' right: 'w' } }",
       "cosine.right is 'w' of size 3, must have the size 2 of 'v'"},
      {"transform { polynomial { } }",
       "polynomial.feature has 0 names, must have 1 to 64"},
      {"transform { polynomial { feature: 'n' } } " + number,
       "transform[0].feature is 'n', must be a feature of a transform before"},
      {"transform { hash { column: 'c' } } "
       "transform { relative { feature: 'hash(c)#0' } }",
       "transform[1].feature is 'hash(c)#0', must be a feature of"},
      {number + number,
       "transform[1] makes the feature 'n' again, must have a prefix"},
      {"transform { hash { column: 'c' } } transform { hash { column: 'c' "
       "bits: 4 } }",
       "transform[1] makes the feature 'hash(c)#0' again"},
      {"transform { number { column: 'n' } prefix: 'a b' }",
       "transform[0].prefix is 'a b', must be at most 32 bytes"},
  };
  for (const Case& each : cases) {
    EXPECT_THAT(
        Learn(ParseSpec(absl::StrCat(kSchema, each.transforms)), {OneQuery()}),
        IsInvalidArgument(each.error))
        << each.transforms;
  }
}

TEST(SpecTest, APrefixTellsTransformsApart) {
  const std::string number = "number { column: 'n' }";
  ASSERT_OK_AND_ASSIGN(
      const auto features,
      Learn(ParseSpec(absl::StrCat(kSchema, "transform { ", number,
                                   " } transform { ", number,
                                   " prefix: 'same.' }")),
            {OneQuery()}));
  ASSERT_OK_AND_ASSIGN(const auto transform,
                       FeatureTransform::Create(features));
  EXPECT_EQ(transform.FeatureName(1), "same.n");
}

TEST(SpecTest, RefusesLearnedValuesThatDoNotFit) {
  ASSERT_OK_AND_ASSIGN(
      const model::v1::Features good,
      Learn(ParseSpec(absl::StrCat(
                kSchema,
                "transform { number { column: 'n' standardise: true } } "
                "transform { number { column: 'n' quantile_bins: 2 } } "
                "transform { vocabulary { column: 'c' } } "
                "transform { text_pair { query: 'q' candidate: 't' "
                "            measure: BM25 } } "
                "transform { ngrams { column: 't' bits: 4 idf: true } }")),
            {OneQuery()}));
  ASSERT_OK(FeatureTransform::Create(good));
  struct Case {
    const char* error;
    std::function<void(model::v1::LearnedFeatures*)> damage;
  };
  using Learned = model::v1::LearnedFeatures;
  const Case cases[] = {
      {"learned has 4 transforms, must have 5, as many as declared",
       [](Learned* l) { l->mutable_transform()->RemoveLast(); }},
      {"learned.transform[0].mean and scale have 0 and 1 values, must have 1",
       [](Learned* l) { l->mutable_transform(0)->clear_mean(); }},
      {"learned.transform[0].scale[0] is 0, must be above 0",
       [](Learned* l) { l->mutable_transform(0)->set_scale(0, 0); }},
      {"learned.transform[0].mean[0] is nan, must be finite",
       [](Learned* l) { l->mutable_transform(0)->set_mean(0, std::nan("")); }},
      {"learned.transform[0].fill is inf, must be finite",
       [](Learned* l) { l->mutable_transform(0)->set_fill(INFINITY); }},
      {"learned.transform[1].edges has 2 values, must have fewer than 2",
       [](Learned* l) { l->mutable_transform(1)->add_edges(9); }},
      {"learned.transform[2].vocabulary has '', must be categories",
       [](Learned* l) { l->mutable_transform(2)->set_vocabulary(0, ""); }},
      {"learned.transform[4].place_count has 0 values, must have 1, one per",
       [](Learned* l) { l->mutable_transform(4)->clear_place_count(); }},
      {"learned.transform[4].place_count[0] is 3, must be in [1, 2]",
       [](Learned* l) { l->mutable_transform(4)->set_place_count(0, 3); }},
      {"learned.transform[4].place_count[0] is 0, must be in [1, 2]",
       [](Learned* l) { l->mutable_transform(4)->set_place_count(0, 0); }},
      {"learned.transform[4].place[0] is 16, must be below 16 and above",
       [](Learned* l) { l->mutable_transform(4)->set_place(0, 16); }},
      {"learned.transform[4].place[1] is ",
       [](Learned* l) {
         l->mutable_transform(4)->add_place(l->transform(4).place(0));
         l->mutable_transform(4)->add_place_count(1);
       }},
      {"learned.word_counts has none of column 't'",
       [](Learned* l) { l->clear_word_counts(); }},
      {"word_counts of column 't': count[0] is 0",
       [](Learned* l) { l->mutable_word_counts(0)->set_count(0, 0); }},
  };
  for (const Case& each : cases) {
    model::v1::Features bad = good;
    each.damage(bad.mutable_learned());
    EXPECT_THAT(FeatureTransform::Create(bad), IsInvalidArgument(each.error));
  }
}

// Term frequencies times inverse document frequencies, with the numbers of the
// formulas in docs/features.md computed here.

constexpr char kTextSchema[] =
    "schema { column { name: 't' type: TEXT missing: true } "
    "         column { name: 'q' type: TEXT scope: QUERY } } ";

// Four texts of candidates, of which one is missing, and two of queries.
std::vector<Columns> Training() {
  return {ParseColumns("num_candidates: 2 "
                       "candidate { name: 't' texts { values: "
                       "['red wine red', 'red car'] } } "
                       "query { name: 'q' texts { values: 'wine' } }"),
          ParseColumns("num_candidates: 3 "
                       "candidate { name: 't' missing: 2 texts { values: "
                       "['wine', 'blue car car', ''] } } "
                       "query { name: 'q' texts { values: 'old wine' } }")};
}

double Idf(double texts, double with) {
  return std::log(1 + (texts - with + 0.5) / (with + 0.5));
}

uint32_t Hash(const char* word, const char* column) {
  return Murmur3(word, Murmur3(column, 0));
}

class TfIdfTest : public ::testing::Test {
 protected:
  // The rows of `columns` by features learned from Training().
  std::vector<std::vector<float>> RowsOf(const std::string& transform,
                                         const Columns& columns) {
    const std::vector<std::vector<float>> none(columns.num_candidates(),
                                               std::vector<float>(65536));
    auto learned =
        Learn(ParseSpec(absl::StrCat(kTextSchema, transform)), Training());
    EXPECT_OK(learned);
    if (!learned.ok()) return none;
    features_ = *learned;
    auto made = FeatureTransform::Create(features_);
    EXPECT_OK(made);
    return made.ok() ? Rows(*made, columns) : none;
  }

  model::v1::Features features_;
};

TEST_F(TfIdfTest, WeighsNgramsByTheTextsThatHaveThem) {
  const std::string ngrams = "transform { ngrams { column: 't' bits: 16 ";
  const Columns columns = ParseColumns(
      "num_candidates: 1 "
      "candidate { name: 't' texts { values: 'Red red wine boat' } } "
      "query { name: 'q' texts { values: '' } }");
  const auto rows = RowsOf(ngrams + "longest: 2 idf: true } }", columns);
  const uint32_t red = Hash("red", "t"), wine = Hash("wine", "t");
  const auto pair = [](uint32_t a, uint32_t b) {
    return (a * 27942141u + b) % 65536;
  };
  // 4 texts are there. 'red', 'wine' and 'car' stand in 2 of them, and every
  // pair of neighbours in at most one.
  const auto& learned = features_.learned().transform(0);
  EXPECT_EQ(learned.num_texts(), 4u);
  std::vector<uint32_t> twice = {red % 65536, wine % 65536,
                                 Hash("car", "t") % 65536};
  std::sort(twice.begin(), twice.end());
  EXPECT_THAT(learned.place(), ::testing::ElementsAreArray(twice));
  EXPECT_THAT(learned.place_count(), ElementsAre(2, 2, 2));
  std::vector<float> expected(65536);
  const auto in_two = static_cast<float>(Idf(4, 2));
  const auto in_none = static_cast<float>(Idf(4, 0));
  expected[red % 65536] = 2 * in_two;
  expected[wine % 65536] = in_two;
  expected[pair(red, wine)] = in_none;
  expected[pair(red, red)] = in_none;
  expected[Hash("boat", "t") % 65536] = in_none;
  expected[pair(wine, Hash("boat", "t"))] = in_none;
  for (size_t j = 0; j < expected.size(); ++j) {
    ASSERT_FLOAT_EQ(rows[0][j], expected[j]) << j;
  }

  // The norm is of the weighed counts.
  const auto unit =
      RowsOf(ngrams + "idf: true normalise: true } }", columns)[0];
  const double norm =
      std::sqrt(5 * Idf(4, 2) * Idf(4, 2) + Idf(4, 0) * Idf(4, 0));
  EXPECT_FLOAT_EQ(unit[red % 65536], static_cast<float>(2 * Idf(4, 2) / norm));
  EXPECT_FLOAT_EQ(unit[Hash("boat", "t") % 65536],
                  static_cast<float>(Idf(4, 0) / norm));
}

// Two places for four words: what meets at a place counts once a text.
TEST_F(TfIdfTest, CountsAPlaceOncePerText) {
  RowsOf("transform { ngrams { column: 't' bits: 1 idf: true } }",
         Training()[0]);
  std::vector<uint32_t> counts(2);
  for (const std::vector<const char*>& text :
       std::vector<std::vector<const char*>>{{"red", "wine", "red"},
                                             {"red", "car"},
                                             {"wine"},
                                             {"blue", "car", "car"}}) {
    std::vector<bool> has(2);
    for (const char* const word : text) has[Hash(word, "t") % 2] = true;
    for (size_t place = 0; place < 2; ++place) counts[place] += has[place];
  }
  const auto& learned = features_.learned().transform(0);
  for (int i = 0; i < learned.place_size(); ++i) {
    EXPECT_EQ(learned.place_count(i), counts[learned.place(i)]);
  }
  EXPECT_EQ(learned.place_size(), (counts[0] > 1) + (counts[1] > 1));
}

TEST_F(TfIdfTest, CrossesWeighTheWordsOfEachSide) {
  const Columns columns = ParseColumns(
      "num_candidates: 2 "
      "candidate { name: 't' texts { values: ['red car', 'sea'] } } "
      "query { name: 'q' texts { values: 'wine old' } }");
  const auto rows =
      RowsOf("transform { cross { left: 'q' right: 't' bits: 16 idf: true } }",
             columns);
  const auto place = [](const char* left, const char* right) {
    return (Hash(left, "q") * 16777619u ^ Hash(right, "t")) % 65536;
  };
  // Of the 2 queries, both have 'wine', one 'old' (which counts as none).
  EXPECT_FLOAT_EQ(rows[0][place("wine", "red")],
                  static_cast<float>(Idf(2, 2) * Idf(4, 2)));
  EXPECT_FLOAT_EQ(rows[0][place("old", "car")],
                  static_cast<float>(Idf(2, 0) * Idf(4, 2)));
  EXPECT_FLOAT_EQ(rows[1][place("wine", "sea")],
                  static_cast<float>(Idf(2, 2) * Idf(4, 0)));
  EXPECT_EQ(rows[1].size() - static_cast<size_t>(std::count(
                                 rows[1].begin(), rows[1].end(), 0.0f)),
            2u);
}

TEST_F(TfIdfTest, CosineIsOfWeighedCounts) {
  const auto rows = RowsOf(
      "transform { text_pair { query: 'q' candidate: 't' "
      "            measure: [TF_IDF_COSINE, COVERAGE] } }",
      ParseColumns("num_candidates: 4 "
                   "candidate { name: 't' texts { values: "
                   "['red wine wine', 'Wine, red! red', 'boat', ''] } } "
                   "query { name: 'q' texts { values: 'red red wine' } }"));
  ASSERT_EQ(rows[0].size(), 2u);
  // Both words have one weight, which cancels: (2, 1) and (1, 2).
  EXPECT_FLOAT_EQ(rows[0][0], 0.8f);
  EXPECT_FLOAT_EQ(rows[1][0], 1);
  EXPECT_EQ(rows[2][0], 0);
  EXPECT_EQ(rows[3][0], 0);
  EXPECT_EQ(rows[0][1], 1);

  // A word that the query does not have counts in the norm.
  const auto more = RowsOf(
      "transform { text_pair { query: 'q' candidate: 't' "
      "            measure: TF_IDF_COSINE } }",
      ParseColumns("num_candidates: 1 "
                   "candidate { name: 't' texts { values: 'boat red' } } "
                   "query { name: 'q' texts { values: 'red' } }"));
  EXPECT_FLOAT_EQ(
      more[0][0],
      static_cast<float>(Idf(4, 2) / std::hypot(Idf(4, 2), Idf(4, 0))));
}

}  // namespace
}  // namespace sortition
