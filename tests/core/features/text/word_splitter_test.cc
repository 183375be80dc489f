#include "core/features/text/word_splitter.h"

#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/features/text/english.h"
#include "core/features/text/word_id.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<WordSplitter> MakeSplitter(const std::string& stemmer = "") {
  absl::StatusOr<std::unique_ptr<WordSplitter>> splitter =
      WordSplitter::Create(stemmer);
  EXPECT_OK(splitter);
  return *std::move(splitter);
}

std::vector<std::string> Words(const TextWords& words) {
  std::vector<std::string> list;
  for (size_t i = 0; i < words.size(); ++i) {
    list.emplace_back(words.word(i));
  }
  return list;
}

std::vector<std::string> Split(absl::string_view text,
                               const std::string& stemmer = "") {
  TextWords words;
  MakeSplitter(stemmer)->Split(text, &words);
  return Words(words);
}

TEST(WordSplitterTest, SplitsAtWordBoundaries) {
  EXPECT_THAT(Split("Who wrote \"Emma\"?"),
              ElementsAre("who", "wrote", "emma"));
  EXPECT_THAT(Split("can't 3.14 1,000 a.b 10:30 x_y - _ --"),
              ElementsAre("can't", "3.14", "1,000", "a.b", "10", "30", "x_y"));
  EXPECT_THAT(Split("to ann@example.org @ 5"),
              ElementsAre("to", "ann@example.org", "5"));
  EXPECT_THAT(Split(" ., \n"), IsEmpty());
  EXPECT_THAT(Split(""), IsEmpty());
}

TEST(WordSplitterTest, FoldsWordsOfAnyLanguage) {
  EXPECT_THAT(Split("STRASSE Straße ΣΊΣΥΦΟΣ"),
              ElementsAre("strasse", "strasse", "σίσυφοσ"));
  // Composed and decomposed é; full-width letters; a curly apostrophe.
  EXPECT_THAT(Split("Caf\u00e9 Cafe\u0301 \uff21\uff22 don\u2019t"),
              ElementsAre("caf\u00e9", "caf\u00e9", "ab", "don't"));
  EXPECT_THAT(Split("Привет, мир!"), ElementsAre("привет", "мир"));
  EXPECT_THAT(Split("😀 😀"), IsEmpty());
}

// The fast way for ASCII and ICU must agree: on random texts of the characters
// that matter, and on every three of them.
TEST(WordSplitterTest, AsciiTextsHaveTheWordsOfIcu) {
  const std::string alphabet = "aZ19_.',;:!- \"@\n/";
  const std::unique_ptr<WordSplitter> splitter = MakeSplitter();
  TextWords fast, slow;
  const auto compare = [&](const std::string& text) {
    splitter->Split(text, &fast);
    splitter->SplitByIcu(text, &slow);
    ASSERT_EQ(Words(fast), Words(slow)) << "'" << text << "'";
    for (size_t i = 0; i < fast.size(); ++i) {
      ASSERT_EQ(fast.kind(i), slow.kind(i)) << "'" << text << "'";
      ASSERT_EQ(fast.folded_id(i), slow.folded_id(i));
    }
  };
  for (const char a : alphabet) {
    for (const char b : alphabet) {
      for (const char c : alphabet) {
        compare({a, b, c});
        compare({'a', a, b, c, 'b'});
        compare({'1', a, b, c, '2'});
      }
    }
  }
  RandomSequence random(SeedKey(5));
  for (int round = 0; round < 20000; ++round) {
    std::string text(random.Below(24), ' ');
    const bool any = round % 4 == 0;  // Any character, else those that matter.
    for (char& c : text) {
      c = any ? static_cast<char>(1 + random.Below(127))
              : alphabet[random.Below(alphabet.size())];
    }
    compare(text);
    if (HasFatalFailure()) return;
  }
}

TEST(WordSplitterTest, StemsBySnowball) {
  EXPECT_THAT(Split("Running dogs generously", "english"),
              ElementsAre("run", "dog", "generous"));
  EXPECT_THAT(Split("Häuser", "german"), ElementsAre("haus"));
  EXPECT_THAT(WordSplitter::Create("klingon"),
              IsInvalid(HasSubstr("words.stemmer is 'klingon', must be empty "
                                  "or one of ")));
}

TEST(WordSplitterTest, KeepsTheIdOfTheUnstemmedWord) {
  TextWords words;
  MakeSplitter("english")->Split("Dogs", &words);
  EXPECT_EQ(words.id(0), WordId("dog"));
  EXPECT_EQ(words.folded_id(0), WordId("dogs"));
}

TEST(WordSplitterTest, KnowsKindsOfWords) {
  TextWords words;
  MakeSplitter("english")->Split("How many in May 1999 , Ann n't 3rd July",
                                 &words);
  const std::vector<uint32_t> expected = {
      kCapital | kStopWord |
          (static_cast<uint32_t>(QuestionType::kHow) + 1) << kQuestionShift,
      kQuantity,
      kStopWord | kPlaceWord,
      kCapital | kStopWord,  // May: more often no month.
      kNumber | kYear,
      kCapital,
      kNegation,
      kNumber,
      kCapital | kMonth,
  };
  ASSERT_EQ(words.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(words.kind(i), expected[i]) << words.word(i);
  }
}

TEST(WordSplitterTest, ReusesItsMemory) {
  const std::unique_ptr<WordSplitter> splitter = MakeSplitter("english");
  TextWords words;
  splitter->Split("A longer text with several words", &words);
  splitter->Split("Short", &words);
  EXPECT_THAT(Words(words), ElementsAre("short"));
}

}  // namespace
}  // namespace sortition
