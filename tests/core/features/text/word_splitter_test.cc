#include "core/features/text/word_splitter.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/features/text/english.h"
#include "core/features/text/murmur3.h"
#include "core/features/text/word_counts.h"
#include "core/features/text/word_id.h"
#include "core/features/text/word_vectors.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
              IsInvalidArgument(
                  "words.stemmer is 'klingon', must be empty or one of "));
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
  ASSERT_OK_AND_ASSIGN(const auto frequencies,
                       InverseFrequencies::Create(counts));
  // N = 5; a stands in 4 texts, b in 2, c in one (left out: as in none).
  EXPECT_NEAR(frequencies.Of(WordId("a")), std::log(1 + 1.5 / 4.5), 1e-15);
  EXPECT_NEAR(frequencies.Of(WordId("b")), std::log(1 + 3.5 / 2.5), 1e-15);
  EXPECT_NEAR(frequencies.Of(WordId("c")), std::log(1 + 5.5 / 0.5), 1e-15);
  EXPECT_EQ(frequencies.Of(WordId("z")), frequencies.Of(WordId("c")));
}

TEST(WordCountsTest, RefusesCountsThatCannotBe) {
  const auto expect = [](const char* message, auto damage) {
    model::v1::WordCounts counts = Count({"a b", "a b", "c"}, false);
    damage(&counts);
    EXPECT_THAT(InverseFrequencies::Create(counts), IsInvalidArgument(message));
  };
  expect("count[1] is 4, must be in [1, 3]",
         [](auto* counts) { counts->set_count(1, 4); });
  expect("count[0] is 0", [](auto* counts) { counts->set_count(0, 0); });
  expect("has 3 counts, must have 2",
         [](auto* counts) { counts->add_count(1); });
  expect("word[1] is 'a', must be above",
         [](auto* counts) { counts->mutable_word()->SwapElements(0, 1); });
  expect("mean_length is -1",
         [](auto* counts) { counts->set_mean_length(-1); });
}

model::v1::WordVectors TwoWords() {
  model::v1::WordVectors words;
  words.set_size(2);
  words.add_word("cats");
  words.add_word("dogs");
  for (const float value : {1.0f, 2.0f, 4.0f, 8.0f}) words.add_values(value);
  return words;
}

TEST(WordVectorsTest, SumsTheUnstemmedWordsItKnows) {
  ASSERT_OK_AND_ASSIGN(const auto vectors, WordVectors::Create(TwoWords()));
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
              IsInvalidArgument("has 5 values, must have 4"));
  bad = TwoWords();
  bad.mutable_word()->SwapElements(0, 1);
  EXPECT_THAT(WordVectors::Create(bad),
              IsInvalidArgument("word[1] is 'cats', must be above"));
  bad = TwoWords();
  bad.set_values(1, std::numeric_limits<float>::infinity());
  EXPECT_THAT(WordVectors::Create(bad),
              IsInvalidArgument("the value inf, must be finite"));
}

// Published vectors of MurmurHash3_x86_32.
TEST(Murmur3Test, HasThePublishedValues) {
  EXPECT_EQ(Murmur3("", 0), 0u);
  EXPECT_EQ(Murmur3("", 1), 0x514e28b7u);
  EXPECT_EQ(Murmur3("", 0xffffffffu), 0x81f16f39u);
  EXPECT_EQ(Murmur3("test", 0), 0xba6bd213u);
  EXPECT_EQ(Murmur3("test", 0x9747b28c), 0x704b81dcu);
  EXPECT_EQ(Murmur3("Hello, world!", 0), 0xc0363e43u);
  EXPECT_EQ(Murmur3("Hello, world!", 0x9747b28c), 0x24884cbau);
  EXPECT_EQ(Murmur3("aaa", 0x9747b28c), 0x283e0130u);
  EXPECT_EQ(Murmur3("aa", 0x9747b28c), 0x5d211726u);
  EXPECT_EQ(Murmur3("The quick brown fox jumps over the lazy dog", 0),
            0x2e4ff723u);
}

TEST(VowpalHashTest, AddsNumbersToTheSeedAndHashesOtherNames) {
  EXPECT_EQ(VowpalHash("12", 100), 112u);
  EXPECT_EQ(VowpalHash("007", 100), 107u);
  // 2^32 + 1 wraps.
  EXPECT_EQ(VowpalHash("4294967297", 5), 6u);
  EXPECT_EQ(VowpalHash("12a", 100), Murmur3("12a", 100));
  EXPECT_EQ(VowpalHash("-1", 100), Murmur3("-1", 100));
  EXPECT_EQ(VowpalHash("1.5", 100), Murmur3("1.5", 100));
}

TEST(VowpalHashTest, CrossesAndNgramsAreThoseOfTheCommandLine) {
  // 3 · 16777619 = 50332857 = 0x30004b9, xor 5 = 0x30004bc.
  EXPECT_EQ(VowpalCross(3, 5), 0x30004bcu);
  // 3 · 27942141 + 5.
  EXPECT_EQ(VowpalNgram(3, 5), 83826428u);
}

}  // namespace
}  // namespace sortition
