#include "io/columns/word_vector_file.h"

#include <string>
#include <utility>

#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;

class WordVectorFileTest : public testing::Test {
 protected:
  absl::StatusOr<model::v1::WordVectors> Read(const std::string& contents,
                                              uint64_t most_words = 0) {
    EXPECT_OK(WriteFile(path_, contents));
    return ReadWordVectors(path_, most_words);
  }

  const TempDir directory_{FastParent()};
  const std::string path_ = directory_ / "vectors";
};

TEST_F(WordVectorFileTest, FoldsWordsAndKeepsTheFirst) {
  ASSERT_OK_AND_ASSIGN(
      const auto vectors,
      Read("4 2\nThe 1 2\ncat 3 -4.5e-1 \nthe 5 6\nÉté 7 8\n"));
  EXPECT_EQ(vectors.size(), 2u);
  EXPECT_THAT(vectors.word(), ElementsAre("cat", "the", "été"));
  EXPECT_THAT(vectors.values(), ElementsAre(3, -0.45f, 1, 2, 7, 8));
}

TEST_F(WordVectorFileTest, ReadsAtMostSoManyWords) {
  ASSERT_OK_AND_ASSIGN(const auto vectors, Read("3 1\nb 1\na 2\nc x\n", 2));
  EXPECT_THAT(vectors.word(), ElementsAre("a", "b"));
}

TEST_F(WordVectorFileTest, ErrorsNameLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ":1: is empty"},
      {"the 1 2\n", ":1: is 'the 1 2', must be \"<words> <size>\""},
      {"1 0\n", ":1: is '1 0', must be"},
      {"1 5000\n", ":1: is '1 5000', must be"},
      {"1 2\nthe 1\n", ":2: has 2 fields, must have 3: a word and 2 numbers"},
      {"1 2\nthe 1 2\ncat 1 x\n", ":3: column 3: 'x' must be a finite number"},
      {"1 2\nthe inf 2\n", ":2: column 2: 'inf' must be a finite number"},
      {"1 2\n\xff 1 2\n", ":2: column 1: the word must be UTF-8"},
  };
  for (const auto& [contents, error] : cases) {
    EXPECT_THAT(Read(contents), IsInvalidArgument(path_ + error));
  }
}

}  // namespace
}  // namespace sortition
