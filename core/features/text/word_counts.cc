#include "core/features/text/word_counts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

absl::Status Error(const model::v1::WordCounts& counts,
                   absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("word_counts of column '", counts.column(), "': ", what));
}

}  // namespace

double InverseFrequency(uint64_t num_texts, uint64_t count) {
  const auto n = static_cast<double>(count);
  return stable::Log(1 +
                     (static_cast<double>(num_texts) - n + 0.5) / (n + 0.5));
}

absl::StatusOr<InverseFrequencies> InverseFrequencies::Create(
    const model::v1::WordCounts& counts) {
  if (counts.word_size() != counts.count_size()) {
    return Error(
        counts, absl::StrCat("has ", counts.count_size(), " counts, must have ",
                             counts.word_size(), ", one per word"));
  }
  if (!std::isfinite(counts.mean_length()) || counts.mean_length() < 0) {
    return Error(counts, absl::StrCat("mean_length is ", counts.mean_length(),
                                      ", must be at least 0"));
  }
  InverseFrequencies frequencies;
  frequencies.mean_length_ = counts.mean_length();
  frequencies.unknown_ = InverseFrequency(counts.num_texts(), 0);
  frequencies.by_word_.reserve(static_cast<size_t>(counts.word_size()));
  for (int i = 0; i < counts.word_size(); ++i) {
    if (i > 0 && counts.word(i) <= counts.word(i - 1)) {
      return Error(counts, absl::StrCat("word[", i, "] is '", counts.word(i),
                                        "', must be above the one before it"));
    }
    if (counts.count(i) == 0 || counts.count(i) > counts.num_texts()) {
      return Error(counts,
                   absl::StrCat("count[", i, "] is ", counts.count(i),
                                ", must be in [1, ", counts.num_texts(), "]"));
    }
    frequencies.by_word_[WordId(counts.word(i))] =
        InverseFrequency(counts.num_texts(), counts.count(i));
  }
  return frequencies;
}

void WordCounter::Add(const TextWords& words) {
  ++num_texts_;
  distinct_.clear();
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsContent(words, i, options_)) continue;
    ++num_words_;
    distinct_.push_back(words.word(i));
  }
  std::sort(distinct_.begin(), distinct_.end());
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()),
                  distinct_.end());
  for (const absl::string_view word : distinct_) {
    auto found = counts_.find(word);
    if (found == counts_.end()) {
      found = counts_.emplace(std::string(word), 0).first;
    }
    ++found->second;
  }
}

model::v1::WordCounts WordCounter::Finish() const {
  model::v1::WordCounts counts;
  *counts.mutable_words() = options_;
  counts.set_num_texts(num_texts_);
  if (num_texts_ > 0) {
    counts.set_mean_length(static_cast<double>(num_words_) /
                           static_cast<double>(num_texts_));
  }
  for (const auto& [word, count] : counts_) {
    if (count < 2) continue;
    counts.add_word(word);
    counts.add_count(count);
  }
  return counts;
}

}  // namespace sortition
