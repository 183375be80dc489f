#pragma once
// The features of tuples, wherever they are, a few at a time.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/data/candidates.h"
#include "core/learners/counterfactual/bandit_tuple.h"

namespace sortition {

// Views of tuples in memory, copies of those in a FeatureStore: the same bits.
// Not thread-safe; a copy is empty.
class FeatureBlock {
 public:
  // So many tuples are in memory at once.
  static constexpr size_t kLoadedTuples = 128;

  FeatureBlock() = default;
  FeatureBlock(const FeatureBlock&) {}
  FeatureBlock& operator=(const FeatureBlock&) = delete;
  FeatureBlock(FeatureBlock&&) = default;
  FeatureBlock& operator=(FeatureBlock&&) = default;

  // From now on k stands for tuples[indexes[k]]; both must stay as they are.
  void Assign(std::span<const BanditTuple> tuples,
              std::span<const uint32_t> indexes);

  // Valid until the next call of any function. Cheap for ascending k; each
  // turn back by more than kLoadedTuples reads again.
  const Candidates& operator[](size_t k) {
    if (k - begin_ >= candidates_.size()) LoadFrom(k);
    return candidates_[k - begin_];
  }

  // Candidates one of which is that of `row` of a tuple.
  struct Row {
    const Candidates& candidates;
    uint32_t row = 0;  // There.
  };
  // Reads no other row where rows are dense.
  Row LoadRow(const BanditTuple& tuple, uint32_t row);

  // Returns the features of one tuple.
  const Candidates& Load(const BanditTuple& tuple) {
    static constexpr uint32_t kFirst = 0;
    Assign({&tuple, 1}, {&kFirst, 1});
    return (*this)[0];
  }

 private:
  // The kLoadedTuples, or fewer at the end, among which k is.
  void LoadFrom(size_t k);

  std::span<const BanditTuple> tuples_;
  std::span<const uint32_t> indexes_;
  size_t begin_ = 0;  // Of those loaded.
  std::vector<Candidates> candidates_;
  // Features of the tuples outside memory, one after another. They only grow.
  std::vector<float> values_;
  std::vector<uint32_t> integers_;  // Row offsets and columns.
};

}  // namespace sortition
