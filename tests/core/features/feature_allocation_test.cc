// A thread that has seen requests of some size allocates nothing for the next
// ones.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/features/feature_cases.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

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
