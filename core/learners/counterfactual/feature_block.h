#pragma once
// Loads the features of tuples, a few tuples at a time, from memory or a store.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/data/candidates.h"
#include "core/learners/counterfactual/bandit_tuple.h"

namespace sortition {

// Gives views of tuples in memory and copies of those in a FeatureStore; the
// bits are the same. Not thread-safe. A copy of a block is empty.
class FeatureBlock {
 public:
  // The number of tuples that are in memory at once.
  static constexpr size_t kLoadedTuples = 128;

  FeatureBlock() = default;
  FeatureBlock(const FeatureBlock&) {}
  FeatureBlock& operator=(const FeatureBlock&) = delete;
  FeatureBlock(FeatureBlock&&) = default;
  FeatureBlock& operator=(FeatureBlock&&) = default;

  // Lets k stand for tuples[indexes[k]] from now on. Both must stay unchanged.
  void Assign(std::span<const BanditTuple> tuples,
              std::span<const uint32_t> indexes);

  // Valid until the next call of any function. Cheap for ascending k; going
  // back by more than kLoadedTuples reads again.
  const Candidates& operator[](size_t k) {
    if (k - begin_ >= candidates_.size()) LoadFrom(k);
    return candidates_[k - begin_];
  }

  // Candidates that include the one at `row` of a tuple.
  struct Row {
    const Candidates& candidates;
    uint32_t row = 0;  // Its row in `candidates`.
  };
  // Loads one row. If rows are dense, it reads no other row.
  Row LoadRow(const BanditTuple& tuple, uint32_t row);

  // Returns the features of one tuple.
  const Candidates& Load(const BanditTuple& tuple) {
    static constexpr uint32_t kFirst = 0;
    Assign({&tuple, 1}, {&kFirst, 1});
    return (*this)[0];
  }

 private:
  // Loads the group of kLoadedTuples (fewer at the end) that has k.
  void LoadFrom(size_t k);

  std::span<const BanditTuple> tuples_;
  std::span<const uint32_t> indexes_;
  size_t begin_ = 0;  // The first k that is loaded.
  std::vector<Candidates> candidates_;
  // Features of the tuples outside memory, one after another. The buffers never
  // shrink.
  std::vector<float> values_;
  std::vector<uint32_t> integers_;  // Row offsets and columns.
};

}  // namespace sortition
