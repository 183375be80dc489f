#pragma once
// The n-grams of a text at their hashes, and in how many texts each place has
// one.
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/features/blocks/block.h"
#include "core/features/text/word_splitter.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Appends a 1 for each n-gram of the text, in its order. `seed` is
// VowpalHash(name of the column, 0).
void AppendNgrams(const TextWords& words,
                  const model::v1::NgramTransform& transform, uint32_t seed,
                  std::vector<SparseEntry>* entries);

// Counts in how many texts each place has an n-gram.
class PlaceCounter {
 public:
  // Requires a checked transform.
  explicit PlaceCounter(model::v1::NgramTransform transform);

  void Add(const TextWords& words);
  // Writes places, their counts and num_texts.
  void Finish(model::v1::LearnedTransform* learned) const;

 private:
  const model::v1::NgramTransform transform_;
  const uint32_t seed_;
  uint64_t num_texts_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> counts_;
  std::vector<SparseEntry> entries_;
};

// Inverse document frequencies of places. Immutable.
class PlaceFrequencies {
 public:
  // InvalidArgument where places do not ascend or are not below `size`, counts
  // are not as many, or one is not within [1, num_texts].
  static absl::StatusOr<PlaceFrequencies> Create(
      const model::v1::LearnedTransform& learned, uint32_t size);

  double Of(uint32_t place) const {
    const auto found = by_place_.find(place);
    return found == by_place_.end() ? unknown_ : found->second;
  }

 private:
  PlaceFrequencies() = default;

  absl::flat_hash_map<uint32_t, double> by_place_;
  double unknown_ = 0;
};

}  // namespace sortition
