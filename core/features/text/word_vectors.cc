#include "core/features/text/word_vectors.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/features/text/word_counts.h"

namespace sortition {

absl::StatusOr<WordVectors> WordVectors::Create(
    const model::v1::WordVectors& words) {
  const uint64_t count = uint64_t{words.size()} * words.word_size();
  if (static_cast<uint64_t>(words.values_size()) != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "word_vectors has ", words.values_size(), " values, must have ", count,
        ", ", words.size(), " per word"));
  }
  WordVectors vectors;
  vectors.size_ = words.size();
  vectors.values_.assign(words.values().begin(), words.values().end());
  for (const float value : vectors.values_) {
    if (std::isfinite(value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("word_vectors has the value ", value, ", must be finite"));
  }
  for (int i = 0; i < words.word_size(); ++i) {
    if (i > 0 && words.word(i) <= words.word(i - 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("word_vectors.word[", i, "] is '", words.word(i),
                       "', must be above the one before it"));
    }
    vectors.places_[WordId(words.word(i))] = size_t{words.size()} * i;
  }
  return vectors;
}

void WordVectors::SumUp(const TextWords& words, const model::v1::Words& options,
                        std::span<double> sums) const {
  DCHECK(sums.size() == size_);
  std::fill(sums.begin(), sums.end(), 0.0);
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsContent(words, i, options)) continue;
    const auto found = places_.find(words.folded_id(i));
    if (found == places_.end()) continue;
    const float* const vector = values_.data() + found->second;
    for (size_t j = 0; j < sums.size(); ++j) {
      sums[j] += static_cast<double>(vector[j]);
    }
  }
}

double Cosine(std::span<const double> a, std::span<const double> b) {
  DCHECK(a.size() == b.size());
  double product = 0, a_squared = 0, b_squared = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    a_squared += a[i] * a[i];
    b_squared += b[i] * b[i];
  }
  if (a_squared == 0 || b_squared == 0) return 0;
  return product / (std::sqrt(a_squared) * std::sqrt(b_squared));
}

}  // namespace sortition
