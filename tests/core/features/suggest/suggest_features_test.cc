#include "core/features/suggest/suggest_features.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/features/feature_transform.h"
#include "google/protobuf/text_format.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Column;
using sortition::v1::Columns;
using testing::HasSubstr;
using testing::Not;

// Makes queries with five candidates from columns of one value.
class Queries {
 public:
  static constexpr uint32_t kCandidates = 5;

  explicit Queries(int n) : queries_(n) {
    for (Columns& query : queries_) query.set_num_candidates(kCandidates);
  }

  // `value(row)` counts rows through all queries; NaN is missing.
  void AddNumbers(const std::string& name,
                  const std::function<double(int)>& value) {
    int row = 0;
    for (Columns& query : queries_) {
      Column& column = *query.add_candidate();
      column.set_name(name);
      for (uint32_t i = 0; i < kCandidates; ++i) {
        column.mutable_numbers()->add_values(value(row++));
      }
    }
  }
  void AddCategories(const std::string& name,
                     const std::function<std::string(int)>& value) {
    int row = 0;
    for (Columns& query : queries_) {
      Column& column = *query.add_candidate();
      column.set_name(name);
      for (uint32_t i = 0; i < kCandidates; ++i) {
        column.mutable_categories()->add_values(value(row++));
      }
    }
  }
  void AddTexts(const std::string& name,
                const std::function<std::string(int)>& value) {
    int row = 0;
    for (Columns& query : queries_) {
      Column& column = *query.add_candidate();
      column.set_name(name);
      for (uint32_t i = 0; i < kCandidates; ++i) {
        column.mutable_texts()->add_values(value(row++));
      }
    }
  }
  void AddOfQuery(const std::function<void(int, Column*)>& fill) {
    for (size_t i = 0; i < queries_.size(); ++i) {
      fill(static_cast<int>(i), queries_[i].add_query());
    }
  }

  std::vector<Columns>& all() { return queries_; }

 private:
  std::vector<Columns> queries_;
};

ColumnProfiles Describe(const std::vector<Columns>& queries) {
  ColumnProfiler profiler;
  for (const Columns& query : queries) EXPECT_OK(profiler.Add(query));
  return profiler.Finish();
}

// Returns the text of the suggestion, whose spec it must parse to.
std::string Suggest(const std::vector<Columns>& queries,
                    const SuggestOptions& options = {}) {
  const auto suggestion = SuggestFeatures(Describe(queries), options);
  EXPECT_OK(suggestion);
  if (!suggestion.ok()) return "";
  std::string text = SuggestionText(*suggestion, "a test");
  EXPECT_EQ(ParseSpec(text).SerializeAsString(),
            suggestion->spec.SerializeAsString());
  return text;
}

TEST(SuggestFeaturesTest, NumbersAreStandardisedAndHeavyTailsAreLogged) {
  Queries queries(100);
  queries.AddNumbers("stars", [](int row) { return 1 + 0.5 * (row % 9); });
  // 99 % reach 4^9.9 times the median.
  queries.AddNumbers("sales", [](int row) { return std::pow(4, row % 20); });
  queries.AddNumbers("balance", [](int row) {
    return row % 20 == 0 ? -1 : std::pow(4, row % 20);
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(
      text,
      HasSubstr(
          "transform { number { column: \"stars\" standardise: true } }"));
  EXPECT_THAT(text, HasSubstr("transform { number { column: \"sales\" log1p: "
                              "true standardise: true } }"));
  // Negative numbers have no tail of that kind.
  EXPECT_THAT(text, HasSubstr("transform { number { column: \"balance\" "
                              "standardise: true } }"));
  // 64 features have room: 6 of these, 3 × 8 bins, 3 products.
  EXPECT_THAT(text, HasSubstr("relative { feature: \"balance\" feature: "
                              "\"log1p(sales)\" feature: \"stars\" }"));
  EXPECT_THAT(text, HasSubstr("column: \"stars\" quantile_bins: 8"));
  EXPECT_THAT(text, HasSubstr("only_crosses: true"));
}

TEST(SuggestFeaturesTest, AbsentColumnsCountAsMissing) {
  Queries queries(50);
  queries.AddNumbers("price", [](int row) { return row % 7; });
  for (size_t i = 0; i < 20; ++i) queries.all()[i].clear_candidate();
  queries.AddNumbers("stars", [](int row) {
    return row % 10 == 0 ? std::numeric_limits<double>::quiet_NaN() : row % 3;
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("absent from 20 of 50 requests"));
  EXPECT_THAT(
      text, HasSubstr("column { name: \"price\" type: NUMBER missing: true }"));
  EXPECT_THAT(text, HasSubstr("column: \"price\" standardise: true "
                              "missing_indicator: true"));
  EXPECT_THAT(text, HasSubstr("10.0 % missing"));
  EXPECT_THAT(text, HasSubstr("column { name: \"stars\" type: NUMBER }"));
  EXPECT_THAT(text, HasSubstr("column: \"stars\" standardise: true "
                              "missing_indicator: true"));
}

TEST(SuggestFeaturesTest, ConstantsIdsAndDatesAreLeftOut) {
  Queries queries(100);
  queries.AddNumbers("one", [](int) { return 1; });
  queries.AddNumbers("number", [](int row) { return 1000 + row; });
  queries.AddNumbers("time", [](int row) { return 1.7e9 + 977 * row; });
  queries.AddNumbers("price",
                     [](int row) { return 0.01 * (row * 7919 % 503); });
  queries.AddCategories("sku", [](int row) { return absl::StrCat("k", row); });
  queries.AddCategories("day", [](int row) {
    return absl::StrCat("2026-0", 1 + row % 9, "-1", row % 7);
  });
  queries.AddCategories("shop", [](int) { return "main"; });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("user");
    column->mutable_categories()->add_values(absl::StrCat("u", i % 60));
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("#   one: constant"));
  EXPECT_THAT(text, HasSubstr("#   number: an id: nearly all values are "
                              "different and count up"));
  EXPECT_THAT(text, HasSubstr("#   time: an id or a time"));
  EXPECT_THAT(
      text, HasSubstr("#   sku: an id: about 500 different values among 500"));
  EXPECT_THAT(text, HasSubstr("#   day: dates as strings"));
  EXPECT_THAT(text, HasSubstr("#   shop: constant"));
  EXPECT_THAT(text, HasSubstr("#   user: an id: about 60 different values"));
  EXPECT_THAT(text, HasSubstr("column { name: \"price\""));
  const auto spec = ParseSpec(text);
  EXPECT_EQ(spec.schema().column_size(), 1);
}

TEST(SuggestFeaturesTest, AColumnOfTwoTypesIsLeftOutAndBothAreNamed) {
  Queries queries(30);
  queries.AddNumbers("price", [](int row) { return row % 11; });
  for (size_t i = 0; i < queries.all().size(); ++i) {
    Column& column = *queries.all()[i].add_candidate();
    column.set_name("size");
    for (uint32_t j = 0; j < Queries::kCandidates; ++j) {
      if (i % 3 == 0) {
        column.mutable_categories()->add_values("L");
      } else {
        column.mutable_numbers()->add_values(j);
      }
    }
  }
  EXPECT_THAT(Suggest(queries.all()),
              HasSubstr("#   size: its type changes: CATEGORY of candidates in "
                        "10 requests, NUMBER of candidates in 20 requests"));
}

// Somebody tried it with a text first: the other requests count.
TEST(SuggestFeaturesTest, AFewRequestsOfAnotherTypeAreLeftOut) {
  Queries queries(200);
  queries.AddNumbers("price", [](int row) { return row % 11; });
  for (size_t i = 0; i < queries.all().size(); ++i) {
    Column& column = *queries.all()[i].add_candidate();
    column.set_name("size");
    for (uint32_t j = 0; j < Queries::kCandidates; ++j) {
      if (i < 2) {
        column.mutable_texts()->add_values("large");
      } else {
        column.mutable_numbers()->add_values(j);
      }
    }
  }
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("column { name: \"size\" type: NUMBER }"));
  EXPECT_THAT(text, HasSubstr("TEXT of candidates in 2 requests that training "
                              "leaves out"));
  // One more of 200 is more than 1 %.
  queries.all()[2].mutable_candidate(1)->mutable_texts()->add_values("a");
  for (uint32_t j = 1; j < Queries::kCandidates; ++j) {
    queries.all()[2].mutable_candidate(1)->mutable_texts()->add_values("a");
  }
  EXPECT_THAT(Suggest(queries.all()), HasSubstr("size: its type changes"));
}

TEST(SuggestFeaturesTest, TextsAreComparedWithThoseOfTheQuery) {
  Queries queries(40);
  queries.AddTexts("sentence", [](int row) {
    return absl::StrCat("The capital of state ", row, " is a city in it.");
  });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("question");
    column->mutable_texts()->add_values(
        absl::StrCat("What is the capital of ", i, "?"));
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("stemmer: \"english\" drop_english_stop_words: "
                              "true } measure: BM25 measure: IDF_OVERLAP "
                              "measure: TF_IDF_COSINE"));
  EXPECT_THAT(text, HasSubstr("measure: ANSWER_TYPE"));
  EXPECT_THAT(text, HasSubstr("prefix: \"words.\""));
  EXPECT_THAT(text, HasSubstr("relative { feature: \"bm25(question,sentence)\" "
                              "feature: \"idf_overlap(question,sentence)\" }"));
  EXPECT_THAT(text, HasSubstr("#   sentence: its words (ngrams), which need"));
  EXPECT_THAT(text, Not(HasSubstr("EMBEDDING_COSINE")));
  EXPECT_THAT(Suggest(queries.all(), {.has_word_vectors = true}),
              HasSubstr("EMBEDDING_COSINE"));
}

TEST(SuggestFeaturesTest, WordsOfOtherLanguagesAreTakenAsTheyAre) {
  Queries queries(40);
  queries.AddTexts("titel", [](int row) {
    return absl::StrCat("Roter Laufschuh Modell ", row);
  });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("suche");
    column->mutable_texts()->add_values(absl::StrCat("Schuh ", i));
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("text_pair { query: \"suche\""));
  EXPECT_THAT(text, Not(HasSubstr("english\"")));
}

TEST(SuggestFeaturesTest, CategoriesGetAVocabularyOrAHash) {
  Queries queries(1000);
  queries.AddCategories("color",
                        [](int row) { return absl::StrCat("c", row % 12); });
  queries.AddCategories("item",
                        [](int row) { return absl::StrCat("i", row % 2000); });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("city");
    column->mutable_categories()->add_values(absl::StrCat("t", i % 8));
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text,
              HasSubstr("vocabulary { column: \"color\" most_values: 1000 "
                        "min_count: 3 }"));
  EXPECT_THAT(text, HasSubstr("hash { column: \"item\" bits: 13 }"));
  // 8 × 12 pairs need 384 places.
  EXPECT_THAT(text,
              HasSubstr("cross { left: \"city\" right: \"color\" bits: 9 }"));
  EXPECT_THAT(text, Not(HasSubstr("vocabulary { column: \"city\"")));
  EXPECT_THAT(Suggest(queries.all(), {.can_abstain = true}),
              HasSubstr("vocabulary { column: \"city\""));
}

// An application that sends dicts without types: 5000 candidates of 4 texts,
// and of 2500 texts, each of which is there twice.
TEST(SuggestFeaturesTest, TextsThatRepeatAreAVocabulary) {
  Queries queries(1000);
  queries.AddTexts("kind", [](int row) { return absl::StrCat("k", row % 4); });
  queries.AddTexts("title",
                   [](int row) { return absl::StrCat("t", row % 2500); });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("Only 4 different texts"));
  EXPECT_THAT(text, HasSubstr("vocabulary { column: \"kind\" most_values: 100 "
                              "min_count: 3 }"));
  EXPECT_THAT(text, Not(HasSubstr("vocabulary { column: \"title\"")));
}

// Dense rows: hashed features share what there is.
TEST(SuggestFeaturesTest, KeepsToTheLargestNumberOfFeatures) {
  Queries queries(1000);
  queries.AddCategories("item",
                        [](int row) { return absl::StrCat("i", row % 2000); });
  queries.AddCategories("kind",
                        [](int row) { return absl::StrCat("k", row % 200); });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("city");
    column->mutable_categories()->add_values(absl::StrCat("t", i % 100));
  });
  const std::string text = Suggest(queries.all(), {.max_features = 300});
  const auto features = Learn(ParseSpec(text), queries.all());
  ASSERT_OK(features);
  EXPECT_LE(FeatureTransform::Create(*features)->num_features(), 300u);
  EXPECT_THAT(text, HasSubstr("#   item: a hash of its values: too little"));
}

TEST(SuggestFeaturesTest, ColumnsOfTheQueryNeedSomethingToGoWith) {
  Queries queries(50);
  queries.AddNumbers("price", [](int row) { return row % 7; });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("search");
    column->mutable_texts()->add_values(absl::StrCat("shoes ", i));
  });
  queries.AddOfQuery([](int i, Column* column) {
    column->set_name("age");
    column->mutable_numbers()->add_values(20 + i % 30);
  });
  const std::string text = Suggest(queries.all());
  EXPECT_THAT(text, HasSubstr("#   search: of the query, and no column of the "
                              "candidates to compare or cross it with"));
  EXPECT_THAT(text,
              HasSubstr("polynomial { feature: \"age\" feature: \"price\""));
}

TEST(SuggestFeaturesTest, SaysWhyNothingIsLeft) {
  Queries queries(30);
  queries.AddNumbers("one", [](int) { return 1; });
  queries.AddCategories("sku", [](int row) { return absl::StrCat("k", row); });
  EXPECT_THAT(
      SuggestFeatures(Describe(queries.all()), {}),
      IsFailedPrecondition("no column can make features: one: constant: "
                           "all values are the same; sku: an id"));
}

TEST(SuggestFeaturesTest, MalformedColumnsAreRefusedAndNotCounted) {
  ColumnProfiler profiler;
  Queries queries(3);
  queries.AddNumbers("price", [](int row) { return row; });
  queries.all()[1].mutable_candidate(0)->mutable_numbers()->add_values(1);
  ASSERT_OK(profiler.Add(queries.all()[0]));
  EXPECT_THAT(profiler.Add(queries.all()[1]), IsInvalidArgument("price"));
  ASSERT_OK(profiler.Add(queries.all()[2]));
  EXPECT_EQ(profiler.Finish().num_queries, 2u);
  EXPECT_EQ(profiler.Finish().columns[0].num_values, 10u);
}

TEST(DistinctSampleTest, CountsExactlyAndThenWithinItsError) {
  for (const int n : {1, 100, 1000, 20000, 300000}) {
    DistinctSample sample;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < n; ++i) sample.Add(absl::StrCat("v", i));
    }
    // Five standard errors of 1/32.
    const double error = n <= 1024 ? 0 : 5 * n / 32.0;
    EXPECT_NEAR(sample.Estimate(), n, error);
  }
}

TEST(QuantileBinsTest, QuantilesAreWithinOnePercent) {
  QuantileBins bins;
  for (int i = -1000; i <= 3000; ++i) bins.Add(i);
  EXPECT_NEAR(bins.Quantile(0.5), 1000, 12);
  EXPECT_NEAR(bins.Quantile(0.99), 2960, 32);
  EXPECT_NEAR(bins.Quantile(0), -1000, 12);
  QuantileBins zeros;
  zeros.Add(0);
  EXPECT_EQ(zeros.Quantile(0.5), 0);
}

// Random columns of all types: few or many values, missing and absent ones.
class RandomColumns {
 public:
  explicit RandomColumns(uint64_t seed) : random_(SeedKey(seed)) {
    const uint64_t num_columns = 1 + random_.Below(8);
    for (uint64_t i = 0; i < num_columns; ++i) {
      kinds_.push_back({.type = random_.Below(5),
                        .is_query = random_.Uniform() < 0.4,
                        .num_values = 1 + random_.Below(1 << random_.Below(12)),
                        .scale = std::pow(10, 12 * random_.Uniform() - 4),
                        .missing = random_.Uniform() < 0.3 ? 0.2 : 0,
                        .absent = random_.Uniform() < 0.3 ? 0.2 : 0});
    }
  }

  Columns Next() {
    Columns columns;
    const auto n = static_cast<uint32_t>(1 + random_.Below(6));
    columns.set_num_candidates(n);
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const Kind& kind = kinds_[i];
      if (random_.Uniform() < kind.absent) continue;
      Column& column =
          kind.is_query ? *columns.add_query() : *columns.add_candidate();
      column.set_name(absl::StrCat("column", i));
      Fill(kind, kind.is_query ? 1 : n, &column);
    }
    return columns;
  }

 private:
  struct Kind {
    uint64_t type;
    bool is_query;
    uint64_t num_values;
    double scale;
    double missing;
    double absent;
  };

  void Fill(const Kind& kind, uint32_t n, Column* column) {
    if (kind.type == 3) column->mutable_category_sets()->add_offsets(0);
    if (kind.type == 4) column->mutable_vectors()->set_size(3);
    for (uint32_t row = 0; row < n; ++row) {
      const bool missing = random_.Uniform() < kind.missing;
      if (missing) column->add_missing(row);
      const uint64_t value = random_.Below(kind.num_values);
      switch (kind.type) {
        case 0:
          column->mutable_numbers()->add_values(
              missing ? 0 : kind.scale * (static_cast<double>(value) - 2));
          break;
        case 1:
          column->mutable_categories()->add_values(
              missing ? "" : absl::StrCat("v", value));
          break;
        case 2:
          column->mutable_texts()->add_values(
              missing ? "" : absl::StrCat("the ", value, " dogs of ", value));
          break;
        case 3: {
          auto* const sets = column->mutable_category_sets();
          if (!missing && value % 3 > 0) {
            sets->add_values(absl::StrCat("s", value));
          }
          sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
          break;
        }
        default:
          for (int j = 0; j < 3; ++j) {
            column->mutable_vectors()->add_values(
                missing ? 0 : static_cast<float>(random_.Normal()));
          }
      }
    }
  }

  std::vector<Kind> kinds_;
  RandomSequence random_;
};

// Removes columns that the schema does not have.
Columns Only(const model::v1::Schema& schema, Columns columns) {
  const auto is_other = [&](const Column& column) {
    return std::none_of(
        schema.column().begin(), schema.column().end(),
        [&](const auto& declared) { return declared.name() == column.name(); });
  };
  for (auto* const list :
       {columns.mutable_candidate(), columns.mutable_query()}) {
    list->erase(std::remove_if(list->begin(), list->end(), is_other),
                list->end());
  }
  return columns;
}

TEST(SuggestFeaturesTest, EveryDraftOfRandomColumnsCanBeLearned) {
  int num_drafts = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomColumns random(seed);
    std::vector<Columns> queries;
    for (int i = 0; i < 60; ++i) queries.push_back(random.Next());
    std::erase_if(queries, [](const Columns& columns) {
      return columns.candidate_size() + columns.query_size() == 0;
    });
    const auto suggestion = SuggestFeatures(
        Describe(queries),
        {.can_abstain = seed % 2 == 0, .max_features = seed % 3 * 500});
    if (!suggestion.ok()) {
      EXPECT_THAT(suggestion, IsFailedPrecondition("no column can make"));
      continue;
    }
    ++num_drafts;
    const std::string text = SuggestionText(*suggestion, "a test");
    // The order of queries does not count.
    std::vector<Columns> reversed(queries.rbegin(), queries.rend());
    EXPECT_EQ(Suggest(reversed, {.can_abstain = seed % 2 == 0,
                                 .max_features = seed % 3 * 500}),
              text);
    const auto spec = ParseSpec(text);
    for (Columns& query : queries) query = Only(spec.schema(), query);
    const auto features = Learn(spec, queries);
    ASSERT_OK(features) << text;
    const auto transform = FeatureTransform::Create(*features);
    ASSERT_OK(transform) << text;
    FeatureScratch scratch;
    FeatureMatrix matrix;
    for (const Columns& query : queries) {
      ASSERT_OK(transform->Apply(query, &scratch, &matrix)) << text;
      for (const float value : matrix.values) {
        ASSERT_TRUE(std::isfinite(value)) << text;
      }
    }
  }
  EXPECT_GT(num_drafts, 200);
}

}  // namespace
}  // namespace sortition
