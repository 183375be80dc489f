#pragma once
// Texts as words.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// The words of one text, in order. Reused: a text that is not larger than those
// before it needs no memory.
class TextWords {
 public:
  size_t size() const { return ids_.size(); }
  // The word as it is counted: folded and stemmed.
  absl::string_view word(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return absl::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  uint64_t id(size_t i) const { return ids_[i]; }  // WordId(word(i)).
  // Id of the word before it was stemmed.
  uint64_t folded_id(size_t i) const { return folded_ids_[i]; }
  uint32_t kind(size_t i) const { return kinds_[i]; }  // WordKind, or-ed.

  void Clear();
  // `folded` is the word before and `stem` after stemming; `kind` what the
  // text says of it.
  void Add(absl::string_view folded, absl::string_view stem, uint32_t kind);

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
  std::vector<uint64_t> ids_;
  std::vector<uint64_t> folded_ids_;
  std::vector<uint32_t> kinds_;
};

// Splits texts at the word boundaries of UAX #29 (ICU's rules, the root
// locale) and keeps what has a letter or a digit. Words are folded by
// NFKC_Casefold; U+2019 becomes an apostrophe before. Texts that are ASCII do
// not need ICU, and have the same words. Not thread-safe.
class WordSplitter {
 public:
  // `stemmer` is a Snowball algorithm such as "english", or empty.
  // InvalidArgument if libstemmer has none of that name.
  static absl::StatusOr<std::unique_ptr<WordSplitter>> Create(
      const std::string& stemmer);
  ~WordSplitter();

  // Requires UTF-8 of at most 2^30 bytes.
  void Split(absl::string_view text, TextWords* words);

  // The same by ICU alone, for tests.
  void SplitByIcu(absl::string_view text, TextWords* words);

  // Returns a word folded, but neither split nor stemmed.
  std::string Fold(absl::string_view word);

 private:
  struct Icu;
  struct Stemmer;

  WordSplitter();

  Icu& MakeIcu();  // If there is none.
  void SplitAscii(absl::string_view text, TextWords* words);
  void AddWord(absl::string_view folded, uint32_t kind, TextWords* words);

  std::unique_ptr<Icu> icu_;          // Made when it is needed.
  std::unique_ptr<Stemmer> stemmer_;  // Null: none.
  std::string folded_;
};

// OK if libstemmer has the algorithm, or it is empty.
absl::Status CheckStemmer(const std::string& stemmer);

// The version of Unicode by which texts are split, such as "15.0".
std::string UnicodeVersion();

}  // namespace sortition
