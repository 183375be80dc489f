#pragma once
// In how many texts words stand, and what follows for their weight.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/features/text/english.h"
#include "core/features/text/word_id.h"
#include "core/features/text/word_splitter.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// True for words that count: all, or all but English stop words.
inline bool IsContent(const TextWords& words, size_t i,
                      const model::v1::Words& options) {
  return !options.drop_english_stop_words() || (words.kind(i) & kStopWord) == 0;
}

// Returns log(1 + (N - n + 0.5) / (n + 0.5)) [RobertsonZaragoza09, with the 1
// that keeps it positive]: N texts, n of them with the word.
double InverseFrequency(uint64_t num_texts, uint64_t count);

// Inverse document frequencies. Immutable.
class InverseFrequencies {
 public:
  // InvalidArgument where words do not ascend, counts are not as many, one is
  // 0 or above num_texts, or the mean length is negative or not finite.
  static absl::StatusOr<InverseFrequencies> Create(
      const model::v1::WordCounts& counts);

  double Of(uint64_t word_id) const {
    const auto found = by_word_.find(word_id);
    return found == by_word_.end() ? unknown_ : found->second;
  }
  double mean_length() const { return mean_length_; }

 private:
  InverseFrequencies() = default;

  absl::flat_hash_map<uint64_t, double, WordIdHasher> by_word_;
  double unknown_ = 0;
  double mean_length_ = 0;
};

// Counts texts.
class WordCounter {
 public:
  explicit WordCounter(model::v1::Words options)
      : options_(std::move(options)) {}

  const model::v1::Words& options() const { return options_; }
  void Add(const TextWords& words);
  // Everything but the column's name.
  model::v1::WordCounts Finish() const;

 private:
  model::v1::Words options_;
  uint64_t num_texts_ = 0;
  uint64_t num_words_ = 0;
  std::map<std::string, uint32_t, std::less<>> counts_;
  std::vector<absl::string_view> distinct_;
};

}  // namespace sortition
