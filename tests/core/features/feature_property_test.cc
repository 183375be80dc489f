// Random requests: the features are a pure function of the columns.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/features/feature_transform.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Column;
using sortition::v1::Columns;

constexpr char kSpecOfAllTypes[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'color' type: CATEGORY missing: true }
  column { name: 'tags' type: CATEGORY_SET }
  column { name: 'sentence' type: TEXT }
  column { name: 'place' type: VECTOR size: 3 }
  column { name: 'question' type: TEXT scope: QUERY }
  column { name: 'city' type: CATEGORY scope: QUERY text: 'Rome' }
  column { name: 'age' type: NUMBER scope: QUERY }
  column { name: 'home' type: VECTOR size: 3 scope: QUERY }
}
transform { number { column: 'price' standardise: true missing_indicator: true
                     log1p: true } }
transform { number { column: 'age' quantile_bins: 5 } }
transform { vocabulary { column: 'color' most_values: 4 min_count: 2
                         unknown_indicator: true missing_indicator: true } }
transform { vocabulary { column: 'tags' most_values: 10 } }
transform { hash { column: 'tags' bits: 8 } }
transform { cross { left: 'city' right: 'color' bits: 8 } }
transform { cross { left: 'question' right: 'sentence' bits: 10
                    words { drop_english_stop_words: true } } }
transform { cross { left: 'age' right: 'price' bits: 3 } }
transform { ngrams { column: 'sentence' longest: 3 bits: 10 normalise: true
                     words { stemmer: 'english' } } }
transform { ngrams { column: 'sentence' longest: 2 bits: 10 normalise: true
                     idf: true } prefix: 'idf.' }
transform { cross { left: 'question' right: 'sentence' bits: 10 idf: true }
            prefix: 'idf.' }
transform { text_pair { query: 'question' candidate: 'sentence'
                        standardise: true
                        words { stemmer: 'english'
                                drop_english_stop_words: true }
                        measure: [BM25, IDF_OVERLAP, COVERAGE,
                                  LONGEST_COMMON_SUBSEQUENCE, BIGRAM_OVERLAP,
                                  NEGATION_AGREEMENT, NUMBER_AGREEMENT,
                                  LENGTH_RATIO, ANSWER_TYPE, TF_IDF_COSINE] } }
transform { vector { column: 'place' standardise: true } }
transform { cosine { left: 'home' right: 'place' } }
transform { polynomial { feature: ['log1p(price)', 'bm25(question,sentence)'] } }
transform { relative { feature: 'bm25(question,sentence)' } }
)";

class RandomRequests {
 public:
  explicit RandomRequests(uint64_t seed) : random_(SeedKey(seed)) {}

  Columns Next() {
    Columns columns;
    const auto n = static_cast<uint32_t>(1 + random_.Below(6));
    columns.set_num_candidates(n);
    AddNumbers(n, columns.add_candidate(), "price");
    if (random_.Uniform() < 0.8) {
      AddCategories(n, columns.add_candidate(), "color");
    }
    AddSets(n, columns.add_candidate());
    AddTexts(n, columns.add_candidate(), "sentence");
    AddVectors(n, columns.add_candidate(), "place");
    AddTexts(1, columns.add_query(), "question");
    if (random_.Uniform() < 0.8) {
      AddCategories(1, columns.add_query(), "city");
    }
    AddNumbers(1, columns.add_query(), "age");
    AddVectors(1, columns.add_query(), "home");
    return columns;
  }

  // The same request with its columns in another order.
  Columns Shuffled(Columns columns) {
    for (auto* const list :
         {columns.mutable_candidate(), columns.mutable_query()}) {
      for (int i = list->size(); i > 1; --i) {
        list->SwapElements(i - 1, static_cast<int>(random_.Below(i)));
      }
    }
    return columns;
  }

  Column* Any(Columns* columns) {
    auto* const list = random_.Uniform() < 0.5 ? columns->mutable_candidate()
                                               : columns->mutable_query();
    return list->Mutable(static_cast<int>(random_.Below(list->size())));
  }

 private:
  bool Missing(Column* column, uint32_t row) {
    if (random_.Uniform() > 0.2) return false;
    column->add_missing(row);
    return true;
  }

  void AddNumbers(uint32_t n, Column* column, const char* name) {
    column->set_name(name);
    for (uint32_t i = 0; i < n; ++i) {
      double value = 10 * random_.Normal();
      if (random_.Uniform() < 0.05) value *= 1e300;
      if (random_.Uniform() < 0.1) {
        value = std::numeric_limits<double>::quiet_NaN();
      }
      column->mutable_numbers()->add_values(Missing(column, i) ? 0 : value);
    }
  }

  std::string Category() {
    // Also ones that training did not see.
    return absl::StrCat("c", random_.Below(random_.Uniform() < 0.1 ? 1000 : 8));
  }

  void AddCategories(uint32_t n, Column* column, const char* name) {
    column->set_name(name);
    for (uint32_t i = 0; i < n; ++i) {
      column->mutable_categories()->add_values(Missing(column, i) ? ""
                                                                  : Category());
    }
  }

  void AddSets(uint32_t n, Column* column) {
    column->set_name("tags");
    auto* const sets = column->mutable_category_sets();
    sets->add_offsets(0);
    for (uint32_t i = 0; i < n; ++i) {
      const bool missing = Missing(column, i);
      const uint64_t size = missing ? 0 : random_.Below(4);
      for (uint64_t k = 0; k < size; ++k) {
        sets->add_values(absl::StrCat(random_.Below(50) * 4 + k));
      }
      sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
    }
  }

  std::string Text() {
    static constexpr const char* kWords[] = {
        "The",  "dogs",  "ran",  "who",   "in",      "Paris", "1999", "not",
        "many", "house", "café", "мир",   "12",      "Bob",   "of",   "a",
        "run",  "dog",   "因为", "don’t", "running", "?",     ",",    "x_y"};
    std::string text;
    for (uint64_t i = random_.Below(15); i > 0; --i) {
      absl::StrAppend(&text, kWords[random_.Below(std::size(kWords))], " ");
    }
    return text;
  }

  void AddTexts(uint32_t n, Column* column, const char* name) {
    column->set_name(name);
    for (uint32_t i = 0; i < n; ++i) {
      column->mutable_texts()->add_values(Missing(column, i) ? "" : Text());
    }
  }

  void AddVectors(uint32_t n, Column* column, const char* name) {
    column->set_name(name);
    column->mutable_vectors()->set_size(3);
    for (uint32_t i = 0; i < n; ++i) {
      const bool missing = Missing(column, i);
      for (int j = 0; j < 3; ++j) {
        column->mutable_vectors()->add_values(
            missing ? 0 : static_cast<float>(random_.Normal()));
      }
    }
  }

  RandomSequence random_;
};

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool SameBits(const FeatureMatrix& a, const FeatureMatrix& b) {
  return a.num_features == b.num_features && SameBits(a.values, b.values) &&
         SameBits(a.columns, b.columns) &&
         SameBits(a.row_offsets, b.row_offsets);
}

FeatureTransform LearnedTransform() {
  RandomRequests requests(1);
  std::vector<Columns> training;
  for (int i = 0; i < 200; ++i) training.push_back(requests.Next());
  auto features = Learn(ParseSpec(kSpecOfAllTypes), training);
  EXPECT_OK(features);
  // Through bytes, as a model file.
  model::v1::Features loaded;
  EXPECT_TRUE(loaded.ParseFromString(features->SerializeAsString()));
  auto transform = FeatureTransform::Create(loaded);
  EXPECT_OK(transform);
  return *std::move(transform);
}

TEST(FeaturePropertyTest, SameBitsWhateverTheScratchAndTheOrderOfColumns) {
  const FeatureTransform transform = LearnedTransform();
  RandomRequests requests(2);
  FeatureScratch reused;
  for (int round = 0; round < 10000; ++round) {
    const Columns columns = requests.Next();
    FeatureMatrix first, again, other_order;
    ASSERT_OK(transform.Apply(columns, &reused, &first));
    ASSERT_OK(transform.Apply(columns, &reused, &again));
    ASSERT_OK(
        transform.Apply(requests.Shuffled(columns), &reused, &other_order));
    ASSERT_TRUE(SameBits(first, again)) << columns.DebugString();
    ASSERT_TRUE(SameBits(first, other_order)) << columns.DebugString();
    if (round % 10 == 0) {
      FeatureScratch fresh;
      FeatureMatrix from_fresh;
      ASSERT_OK(transform.Apply(columns, &fresh, &from_fresh));
      ASSERT_TRUE(SameBits(first, from_fresh)) << columns.DebugString();
    }
    // What comes out is what policies take: finite, ascending.
    ASSERT_OK(Candidates::Sparse(first.row_offsets, first.columns, first.values,
                                 first.num_features));
  }
}

TEST(FeaturePropertyTest, SameBitsFromTheSameDeclarationInAnotherOrder) {
  // The schema's order of columns counts for nothing: neither for its hash nor
  // for features.
  model::v1::FeatureSpec reversed = ParseSpec(kSpecOfAllTypes);
  auto* const list = reversed.mutable_schema()->mutable_column();
  std::reverse(list->pointer_begin(), list->pointer_end());
  RandomRequests requests(1);
  std::vector<Columns> training;
  for (int i = 0; i < 200; ++i) training.push_back(requests.Next());
  ASSERT_OK_AND_ASSIGN(const auto features, Learn(reversed, training));
  ASSERT_OK_AND_ASSIGN(const auto other, FeatureTransform::Create(features));
  const FeatureTransform transform = LearnedTransform();
  EXPECT_EQ(other.schema().hash(), transform.schema().hash());
  FeatureScratch scratch;
  for (int round = 0; round < 500; ++round) {
    const Columns columns = requests.Next();
    FeatureMatrix a, b;
    ASSERT_OK(transform.Apply(columns, &scratch, &a));
    ASSERT_OK(other.Apply(columns, &scratch, &b));
    ASSERT_TRUE(SameBits(a, b)) << columns.DebugString();
  }
}

// A log may be older than a column.
TEST(FeaturePropertyTest, ARenamedColumnIsAbsentAndCountsAsMissing) {
  const FeatureTransform transform = LearnedTransform();
  RandomRequests requests(3);
  FeatureScratch scratch;
  FeatureMatrix matrix;
  for (int round = 0; round < 1000; ++round) {
    Columns columns = requests.Next();
    Column* const column = requests.Any(&columns);
    const std::string name = column->name();
    column->set_name(absl::StrCat(name, "_"));
    ASSERT_OK(transform.Apply(columns, &scratch, &matrix));
    const size_t index = *transform.schema().Find(name);
    const auto& declared = transform.schema().column(index);
    if (!declared.has_number() && !declared.has_text()) {
      column->set_name(name);
      column->clear_missing();
      const bool is_query = declared.scope() == model::v1::ColumnSchema::QUERY;
      for (uint32_t i = 0; i < (is_query ? 1 : columns.num_candidates()); ++i) {
        column->add_missing(i);
      }
      FeatureMatrix missing;
      ASSERT_OK(transform.Apply(columns, &scratch, &missing));
      EXPECT_EQ(matrix.values, missing.values) << name;
      EXPECT_EQ(matrix.columns, missing.columns) << name;
    }
    column->set_name(name == "price" ? "age" : "price");  // A permuted one.
    EXPECT_FALSE(transform.Apply(columns, &scratch, &matrix).ok());
  }
}

}  // namespace
}  // namespace sortition
