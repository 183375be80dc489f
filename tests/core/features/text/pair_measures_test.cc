#include "core/features/text/pair_measures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using Strings = std::vector<std::string>;

// A query with its candidates and the counts of words, split by one splitter.
class PairMeasuresTest : public testing::Test {
 protected:
  PairMeasuresTest() {
    splitter_ = *WordSplitter::Create("");
    counts_.set_column("sentence");
    counts_.set_num_texts(100);
    counts_.set_mean_length(8);
    for (int i = 0; i < 10; ++i) {
      counts_.add_word(absl::StrCat("w", i));
      counts_.add_count(static_cast<uint32_t>(1 + 9 * i));
    }
    frequencies_ = *InverseFrequencies::Create(counts_);
  }

  void SetQuery(const std::string& text) {
    splitter_->Split(text, &query_);
    measures_.SetQuery(query_, {&*frequencies_, &words_, 1.2, 0.75});
  }

  PairFigures Measure(const std::string& text) {
    splitter_->Split(text, &candidate_);
    return measures_.Measure(candidate_);
  }

  double Cue(const std::string& text, AnswerCue cue) {
    return Measure(text).cues[static_cast<uint32_t>(cue)];
  }

  Strings Content(const TextWords& words) const {
    Strings content;
    for (size_t i = 0; i < words.size(); ++i) {
      if (IsContent(words, i, words_)) content.emplace_back(words.word(i));
    }
    return content;
  }

  std::unique_ptr<WordSplitter> splitter_;
  model::v1::WordCounts counts_;
  std::optional<InverseFrequencies> frequencies_;
  model::v1::Words words_;
  TextWords query_, candidate_;
  PairMeasures measures_;
};

// The formulas of docs/features.md, written down once more over strings.
struct SlowFigures {
  double bm25 = 0, idf_overlap = 0, coverage = 0, common = 0, bigrams = 0;
};

double SlowIdf(const model::v1::WordCounts& counts, const std::string& word) {
  double n = 0;
  for (int i = 0; i < counts.word_size(); ++i) {
    if (counts.word(i) == word) n = counts.count(i);
  }
  const auto all = static_cast<double>(counts.num_texts());
  return std::log(1 + (all - n + 0.5) / (n + 0.5));
}

size_t SlowCommonSubsequence(const Strings& a, const Strings& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1,
                                        std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1]
                       ? best[i - 1][j - 1] + 1
                       : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

std::set<std::pair<std::string, std::string>> SlowBigrams(
    const Strings& words) {
  std::set<std::pair<std::string, std::string>> bigrams;
  for (size_t i = 1; i < words.size(); ++i) {
    bigrams.emplace(words[i - 1], words[i]);
  }
  return bigrams;
}

SlowFigures SlowMeasure(const model::v1::WordCounts& counts,
                        const Strings& query, const Strings& candidate) {
  SlowFigures figures;
  const auto length = static_cast<double>(candidate.size());
  double all = 0, found = 0;
  const std::set<std::string> distinct(query.begin(), query.end());
  for (const std::string& word : distinct) {
    const double idf = SlowIdf(counts, word);
    const auto tf = static_cast<double>(
        std::count(candidate.begin(), candidate.end(), word));
    all += idf;
    if (tf > 0) found += idf;
    figures.bm25 +=
        idf * tf * 2.2 / (tf + 1.2 * (1 - 0.75 + 0.75 * length / 8));
  }
  if (all > 0) figures.idf_overlap = found / all;
  size_t known = 0;
  for (const std::string& word : candidate) known += distinct.count(word);
  if (!candidate.empty()) {
    figures.coverage = static_cast<double>(known) / length;
  }
  Strings first = query;
  if (first.size() > PairMeasures::kMostSubsequenceWords) {
    first.resize(PairMeasures::kMostSubsequenceWords);
  }
  if (!first.empty()) {
    figures.common =
        static_cast<double>(SlowCommonSubsequence(first, candidate)) /
        static_cast<double>(first.size());
  }
  const auto a = SlowBigrams(query), b = SlowBigrams(candidate);
  size_t shared = 0;
  for (const auto& bigram : a) shared += b.count(bigram);
  if (!a.empty()) {
    figures.bigrams =
        static_cast<double>(shared) / static_cast<double>(a.size());
  }
  return figures;
}

std::string RandomText(RandomSequence* random, size_t most_words) {
  std::string text;
  const uint64_t size = random->Below(most_words + 1);
  for (uint64_t i = 0; i < size; ++i) {
    // Some stop words, some words that no text had.
    const uint64_t which = random->Below(14);
    absl::StrAppend(
        &text, which < 2 ? std::string("the") : absl::StrCat("w", which - 2),
        " ");
  }
  return text;
}

TEST_F(PairMeasuresTest, AgreesWithTheFormulas) {
  RandomSequence random(SeedKey(11));
  for (int round = 0; round < 400; ++round) {
    words_.set_drop_english_stop_words(round % 2 == 0);
    // Up to several blocks of 64 words, and beyond the limit.
    const size_t most = round % 10 == 0 ? 400 : 12;
    SetQuery(RandomText(&random, most));
    for (int i = 0; i < 4; ++i) {
      const PairFigures fast = Measure(RandomText(&random, 2 * most));
      const SlowFigures slow =
          SlowMeasure(counts_, Content(query_), Content(candidate_));
      EXPECT_NEAR(fast.bm25, slow.bm25, 1e-12 * (1 + slow.bm25));
      EXPECT_NEAR(fast.idf_overlap, slow.idf_overlap, 1e-12);
      EXPECT_EQ(fast.coverage, slow.coverage);
      EXPECT_EQ(fast.common_subsequence, slow.common);
      EXPECT_EQ(fast.bigram_overlap, slow.bigrams);
    }
  }
}

TEST_F(PairMeasuresTest, ComparesNegationNumbersAndLengths) {
  SetQuery("Is it not 12 or 13 ?");
  const PairFigures same = Measure("It is n't 12 , but 14");
  EXPECT_EQ(same.negation, 1);
  EXPECT_EQ(same.numbers_shared, 0.5);
  EXPECT_EQ(same.numbers_new, 1);
  EXPECT_EQ(same.length_ratio, 1);  // 6 words and 6.
  EXPECT_NEAR(same.log_length, std::log(7.0), 1e-15);
  const PairFigures other = Measure("12 13 12");
  EXPECT_EQ(other.negation, 0);
  EXPECT_EQ(other.numbers_shared, 1);
  EXPECT_EQ(other.numbers_new, 0);
  EXPECT_EQ(other.length_ratio, 0.5);
  const PairFigures empty = Measure("");
  EXPECT_EQ(empty.length_ratio, 0);
  EXPECT_EQ(empty.log_length, 0);
}

TEST_F(PairMeasuresTest, KnowsTheTypeOfQuestion) {
  const auto type = [&](const std::string& text) {
    SetQuery(text);
    return Measure("").question;
  };
  EXPECT_EQ(type("In which year ?"), QuestionType::kWhich);
  EXPECT_EQ(type("Whose was it ?"), QuestionType::kWho);
  EXPECT_EQ(type("How many are there ?"), QuestionType::kHowMany);
  EXPECT_EQ(type("How was it made ?"), QuestionType::kHow);
  EXPECT_EQ(type("how"), QuestionType::kHow);
  EXPECT_EQ(type("Name a river ."), QuestionType::kOther);
}

TEST_F(PairMeasuresTest, FindsCuesOfAnswers) {
  SetQuery("Where was Ann born in 1900 ?");
  EXPECT_EQ(Cue("Then Bob met Ann", AnswerCue::kName), 1.0 / 3);
  EXPECT_EQ(Cue("So Bob Carl Dan Ed", AnswerCue::kName), 1);
  EXPECT_EQ(Cue("in the Alps", AnswerCue::kPlace), 1);
  EXPECT_EQ(Cue("in Rome", AnswerCue::kPlace), 1);
  EXPECT_EQ(Cue("in old Rome", AnswerCue::kPlace), 0);
  EXPECT_EQ(Cue("It was in 1901", AnswerCue::kDate), 1);
  EXPECT_EQ(Cue("On 3 July", AnswerCue::kDate), 1);
  EXPECT_EQ(Cue("On 3 or 12345", AnswerCue::kDate), 0);
  EXPECT_EQ(Cue("two dogs", AnswerCue::kNumber), 1);
  EXPECT_EQ(Cue("7 dogs", AnswerCue::kNumber), 1);
  EXPECT_EQ(Cue("1900 dogs", AnswerCue::kNumber), 0);  // Is in the question.
  EXPECT_EQ(Cue("because of it", AnswerCue::kReason), 1);
  EXPECT_EQ(Cue("through it", AnswerCue::kMeans), 1);
}

TEST_F(PairMeasuresTest, ForgetsTheQueryBefore) {
  SetQuery("w1 w2 w3 12 not");
  SetQuery("w4");
  const PairFigures figures = Measure("w1 w2 w3 12");
  EXPECT_EQ(figures.bm25, 0);
  EXPECT_EQ(figures.bigram_overlap, 0);
  EXPECT_EQ(figures.numbers_shared, 0);
  EXPECT_EQ(figures.negation, 1);
}

}  // namespace
}  // namespace sortition
