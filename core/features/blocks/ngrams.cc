#include "core/features/blocks/ngrams.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/features/text/murmur3.h"
#include "core/features/text/word_counts.h"

namespace sortition {

using model::v1::LearnedTransform;
using model::v1::NgramTransform;

void AppendNgrams(const TextWords& words, const NgramTransform& transform,
                  uint32_t seed, std::vector<SparseEntry>* entries) {
  const uint32_t mask = (uint32_t{1} << transform.bits()) - 1;
  absl::InlinedVector<uint32_t, 128> hashes;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsContent(words, i, transform.words())) continue;
    hashes.push_back(VowpalHash(words.word(i), seed));
  }
  for (size_t i = 0; i < hashes.size(); ++i) {
    uint32_t ngram = 0;
    for (size_t j = i; j < i + transform.longest() && j < hashes.size(); ++j) {
      ngram = j == i ? hashes[i] : VowpalNgram(ngram, hashes[j]);
      entries->push_back({ngram & mask, 1});
    }
  }
}

PlaceCounter::PlaceCounter(NgramTransform transform)
    : transform_(std::move(transform)),
      seed_(VowpalHash(transform_.column(), 0)) {}

void PlaceCounter::Add(const TextWords& words) {
  ++num_texts_;
  entries_.clear();
  AppendNgrams(words, transform_, seed_, &entries_);
  std::sort(entries_.begin(), entries_.end(),
            [](const SparseEntry& a, const SparseEntry& b) {
              return a.index < b.index;
            });
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (i > 0 && entries_[i].index == entries_[i - 1].index) continue;
    ++counts_[entries_[i].index];
  }
}

void PlaceCounter::Finish(LearnedTransform* learned) const {
  std::vector<std::pair<uint32_t, uint32_t>> counts;
  for (const auto& [place, count] : counts_) {
    if (count >= 2) counts.emplace_back(place, count);
  }
  std::sort(counts.begin(), counts.end());
  for (const auto& [place, count] : counts) {
    learned->add_place(place);
    learned->add_place_count(count);
  }
  learned->set_num_texts(num_texts_);
}

absl::StatusOr<PlaceFrequencies> PlaceFrequencies::Create(
    const LearnedTransform& learned, uint32_t size) {
  if (learned.place_size() != learned.place_count_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "place_count has ", learned.place_count_size(), " values, must have ",
        learned.place_size(), ", one per place"));
  }
  PlaceFrequencies frequencies;
  frequencies.unknown_ = InverseFrequency(learned.num_texts(), 0);
  frequencies.by_place_.reserve(static_cast<size_t>(learned.place_size()));
  for (int i = 0; i < learned.place_size(); ++i) {
    const uint32_t place = learned.place(i);
    if (place >= size || (i > 0 && place <= learned.place(i - 1))) {
      return absl::InvalidArgumentError(
          absl::StrCat("place[", i, "] is ", place, ", must be below ", size,
                       " and above the one before it"));
    }
    const uint32_t count = learned.place_count(i);
    if (count == 0 || count > learned.num_texts()) {
      return absl::InvalidArgumentError(absl::StrCat("place_count[", i, "] is ",
                                                     count, ", must be in [1, ",
                                                     learned.num_texts(), "]"));
    }
    frequencies.by_place_[place] = InverseFrequency(learned.num_texts(), count);
  }
  return frequencies;
}

}  // namespace sortition
