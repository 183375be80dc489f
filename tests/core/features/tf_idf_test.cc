// Term frequencies times inverse document frequencies, with the numbers of the
// formulas in docs/features.md computed here.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/features/feature_transform.h"
#include "core/features/text/murmur3.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::ElementsAre;

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
