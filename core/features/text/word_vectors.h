#pragma once
// Words with a vector each.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/features/text/word_id.h"
#include "core/features/text/word_splitter.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Immutable.
class WordVectors {
 public:
  // InvalidArgument where words do not ascend, or there are not `size` finite
  // values per word.
  static absl::StatusOr<WordVectors> Create(
      const model::v1::WordVectors& words);

  uint32_t size() const { return size_; }

  // Writes the sum of the vectors of the content words, in their order. Words
  // without one count as 0. Requires size() sums.
  void SumUp(const TextWords& words, const model::v1::Words& options,
             std::span<double> sums) const;

 private:
  WordVectors() = default;

  uint32_t size_ = 0;
  std::vector<float> values_;
  absl::flat_hash_map<uint64_t, size_t, WordIdHasher> places_;
};

// Returns a·b / (|a| |b|), 0 where either is 0. Requires equal sizes.
double Cosine(std::span<const double> a, std::span<const double> b);

}  // namespace sortition
