#pragma once
// How a candidate's text matches the query's.
#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/features/text/english.h"
#include "core/features/text/word_counts.h"
#include "core/features/text/word_id.h"
#include "core/features/text/word_splitter.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// What the text of an answer has.
enum class AnswerCue : uint32_t {
  kName,
  kDate,
  kNumber,
  kReason,
  kMeans,
  kPlace
};
inline constexpr uint32_t kNumAnswerCues = 6;
absl::string_view AnswerCueName(AnswerCue cue);

// docs/features.md has the formulas. Words are content words, except for
// `negation`, `numbers_*`, `length_ratio`, `log_length` and the cues.
struct PairFigures {
  double bm25 = 0;
  double idf_overlap = 0;
  double coverage = 0;
  double common_subsequence = 0;
  double bigram_overlap = 0;
  double negation = 0;
  double numbers_shared = 0;
  double numbers_new = 0;
  double length_ratio = 0;
  double log_length = 0;
  QuestionType question = QuestionType::kOther;
  std::array<double, kNumAnswerCues> cues{};
};

// Measures candidates of one query after the other. Its time is linear in the
// words of both texts. Reused; not thread-safe.
class PairMeasures {
 public:
  // Words of the query beyond these have no part in the longest common
  // subsequence.
  static constexpr size_t kMostSubsequenceWords = 256;

  struct Options {
    const InverseFrequencies* frequencies = nullptr;
    const model::v1::Words* words = nullptr;
    double k1 = 1.2;
    double b = 0.75;
  };

  // What `options` points at must stay until the next call.
  void SetQuery(const TextWords& query, const Options& options);

  PairFigures Measure(const TextWords& candidate);

  // Returns the cosine of both texts' content words, each counted and times its
  // inverse document frequency; 0 where a text has none.
  double TfIdfCosine(const TextWords& candidate);

 private:
  using Places = absl::flat_hash_map<uint64_t, uint32_t, WordIdHasher>;

  void SetContent(const TextWords& query);
  void SetNumbers(const TextWords& query);
  double Bm25(double length) const;
  double IdfOverlap() const;
  void MeasureContent(const TextWords& candidate, PairFigures* figures);
  void MeasureNumbers(const TextWords& candidate, PairFigures* figures);
  void MeasureCues(const TextWords& candidate, PairFigures* figures) const;
  void StepSubsequence(uint32_t place);

  Options options_;
  size_t num_words_ = 0;  // Of the query.
  bool negated_ = false;
  QuestionType question_ = QuestionType::kOther;
  Places places_;                // Distinct content words of the query.
  std::vector<double> weights_;  // Their inverse document frequencies.
  double sum_of_weights_ = 0;
  std::vector<uint32_t> query_counts_;
  Places bigrams_;
  Places numbers_;
  // Where each distinct word stands in the query: bits, num_blocks_ a word.
  std::vector<uint64_t> positions_;
  size_t num_positions_ = 0;
  size_t num_blocks_ = 0;
  // Of the candidate:
  std::vector<uint32_t> counts_;       // By place.
  std::vector<uint64_t> subsequence_;  // Bits of V [Hyyro04].
  std::vector<uint8_t> found_;
  Places distinct_;  // All its content words.
  std::vector<uint64_t> ids_;
};

}  // namespace sortition
