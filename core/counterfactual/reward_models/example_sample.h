#pragma once
// A sample of examples of bounded size that does not depend on their order.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/hash.h"

namespace sortition {

// An example as it is sampled.
struct SampledExample {
  Hash128 key;  // A hash of all that follows.
  uint64_t unit_hash = 0;
  double reward = 0;
  double weight = 0;
  size_t slot = 0;  // Where its row is.
};

// Keeps those with the smallest keys, so that the sample of a log is the same
// for every order, and for every division into parts that are merged. Equal
// examples of one unit are in or out together.
class ExampleSample {
 public:
  // Requires max_examples >= 1.
  ExampleSample(size_t num_columns, size_t max_examples)
      : num_columns_(num_columns), max_examples_(max_examples) {}

  void Add(std::span<const float> row, uint64_t unit_hash, double reward,
           double weight);
  // Requires equal num_columns and max_examples.
  void Merge(const ExampleSample& other);

  uint64_t num_seen() const { return num_seen_; }
  // In no order.
  std::span<const SampledExample> examples() const { return heap_; }
  std::span<const float> RowOf(const SampledExample& example) const {
    return {rows_.data() + example.slot * num_columns_, num_columns_};
  }

  // Whether `a` comes before `b` in the order of keys.
  static bool Before(const SampledExample& a, const SampledExample& b) {
    return a.key.high != b.key.high ? a.key.high < b.key.high
                                    : a.key.low < b.key.low;
  }

 private:
  void Keep(SampledExample example, std::span<const float> row);

  size_t num_columns_;
  size_t max_examples_;
  uint64_t num_seen_ = 0;
  std::vector<SampledExample> heap_;  // The largest key first.
  std::vector<float> rows_;
};

}  // namespace sortition
