#include "core/features/text/word_counts.h"

#include <cmath>
#include <string>
#include <utility>

#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

model::v1::WordCounts Count(std::initializer_list<const char*> texts,
                            bool drop_stop_words) {
  model::v1::Words options;
  options.set_drop_english_stop_words(drop_stop_words);
  auto splitter = WordSplitter::Create("");
  WordCounter counter(options);
  TextWords words;
  for (const char* const text : texts) {
    (*splitter)->Split(text, &words);
    counter.Add(words);
  }
  return counter.Finish();
}

TEST(WordCountsTest, CountsTextsNotWords) {
  const model::v1::WordCounts counts =
      Count({"the cat the cat", "the dog", "a cat", "bird"}, false);
  EXPECT_EQ(counts.num_texts(), 4u);
  EXPECT_EQ(counts.mean_length(), 9.0 / 4);
  // Words of one text alone are left out; ascending.
  EXPECT_THAT(counts.word(), ElementsAre("cat", "the"));
  EXPECT_THAT(counts.count(), ElementsAre(2, 2));
}

TEST(WordCountsTest, LeavesStopWordsOut) {
  const model::v1::WordCounts counts =
      Count({"the cat the cat", "the dog", "a cat"}, true);
  EXPECT_EQ(counts.mean_length(), 4.0 / 3);
  EXPECT_THAT(counts.word(), ElementsAre("cat"));
}

TEST(WordCountsTest, WeighsRareWordsMore) {
  const model::v1::WordCounts counts =
      Count({"a b", "a b", "a c", "a d", "e"}, false);
  ASSERT_OK_AND_ASSIGN(const InverseFrequencies frequencies,
                       InverseFrequencies::Create(counts));
  // N = 5; a stands in 4 texts, b in 2, c in one (left out: as in none).
  EXPECT_NEAR(frequencies.Of(WordId("a")), std::log(1 + 1.5 / 4.5), 1e-15);
  EXPECT_NEAR(frequencies.Of(WordId("b")), std::log(1 + 3.5 / 2.5), 1e-15);
  EXPECT_NEAR(frequencies.Of(WordId("c")), std::log(1 + 5.5 / 0.5), 1e-15);
  EXPECT_EQ(frequencies.Of(WordId("z")), frequencies.Of(WordId("c")));
}

TEST(WordCountsTest, RefusesCountsThatCannotBe) {
  const model::v1::WordCounts good = Count({"a b", "a b", "c"}, false);
  model::v1::WordCounts bad = good;
  bad.set_count(1, 4);
  EXPECT_THAT(InverseFrequencies::Create(bad),
              IsInvalid(HasSubstr("count[1] is 4, must be in [1, 3]")));
  bad = good;
  bad.set_count(0, 0);
  EXPECT_THAT(InverseFrequencies::Create(bad),
              IsInvalid(HasSubstr("count[0] is 0")));
  bad = good;
  bad.add_count(1);
  EXPECT_THAT(InverseFrequencies::Create(bad),
              IsInvalid(HasSubstr("has 3 counts, must have 2")));
  bad = good;
  bad.mutable_word()->SwapElements(0, 1);
  EXPECT_THAT(InverseFrequencies::Create(bad),
              IsInvalid(HasSubstr("word[1] is 'a', must be above")));
  bad = good;
  bad.set_mean_length(-1);
  EXPECT_THAT(InverseFrequencies::Create(bad),
              IsInvalid(HasSubstr("mean_length is -1")));
}

}  // namespace
}  // namespace sortition
