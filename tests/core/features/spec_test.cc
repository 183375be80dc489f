// Declarations and learned values that must be refused.
#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/features/feature_cases.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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
      {"transform { vocabulary { column: 't' } }",
       "vocabulary.column is 't', must be a CATEGORY or CATEGORY_SET column"},
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
        IsInvalid(HasSubstr(each.error)))
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
    EXPECT_THAT(FeatureTransform::Create(bad),
                IsInvalid(HasSubstr(each.error)));
  }
}

}  // namespace
}  // namespace sortition
