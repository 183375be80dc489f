#include "core/features/text/word_vectors.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

model::v1::WordVectors TwoWords() {
  model::v1::WordVectors words;
  words.set_size(2);
  words.add_word("cats");
  words.add_word("dogs");
  for (const float value : {1.0f, 2.0f, 4.0f, 8.0f}) words.add_values(value);
  return words;
}

TEST(WordVectorsTest, SumsTheUnstemmedWordsItKnows) {
  ASSERT_OK_AND_ASSIGN(const WordVectors vectors,
                       WordVectors::Create(TwoWords()));
  auto splitter = WordSplitter::Create("english");
  TextWords words;
  (*splitter)->Split("Dogs, cats, a bird and dogs; cat", &words);
  std::vector<double> sums(2, 99.0);
  vectors.SumUp(words, {}, sums);
  EXPECT_THAT(sums, ElementsAre(9, 18));
}

TEST(WordVectorsTest, CosineIsThatOfTheAngle) {
  EXPECT_NEAR(Cosine(std::vector<double>{1, 0}, std::vector<double>{1, 1}),
              std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(Cosine(std::vector<double>{1, 2}, std::vector<double>{-2, -4}),
              -1, 1e-15);
  EXPECT_EQ(Cosine(std::vector<double>{0, 0}, std::vector<double>{1, 1}), 0);
}

TEST(WordVectorsTest, RefusesVectorsThatCannotBe) {
  model::v1::WordVectors bad = TwoWords();
  bad.add_values(1);
  EXPECT_THAT(WordVectors::Create(bad),
              IsInvalid(HasSubstr("has 5 values, must have 4")));
  bad = TwoWords();
  bad.mutable_word()->SwapElements(0, 1);
  EXPECT_THAT(WordVectors::Create(bad),
              IsInvalid(HasSubstr("word[1] is 'cats', must be above")));
  bad = TwoWords();
  bad.set_values(1, std::numeric_limits<float>::infinity());
  EXPECT_THAT(WordVectors::Create(bad),
              IsInvalid(HasSubstr("the value inf, must be finite")));
}

}  // namespace
}  // namespace sortition
