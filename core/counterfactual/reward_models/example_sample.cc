#include "core/counterfactual/reward_models/example_sample.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace sortition {
namespace {

template <typename T>
absl::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

Hash128 KeyOf(std::span<const float> row, uint64_t unit_hash, double reward,
              double weight) {
  const Hash128 row_hash =
      HashBytes({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  return StableHash(HashDomain::kSubsample,
                    {"reward model", BytesOf(row_hash), BytesOf(unit_hash),
                     BytesOf(reward), BytesOf(weight)});
}

}  // namespace

void ExampleSample::Add(std::span<const float> row, uint64_t unit_hash,
                        double reward, double weight) {
  ++num_seen_;
  Keep({.key = KeyOf(row, unit_hash, reward, weight),
        .unit_hash = unit_hash,
        .reward = reward,
        .weight = weight},
       row);
}

void ExampleSample::Merge(const ExampleSample& other) {
  CHECK(other.num_columns_ == num_columns_ &&
        other.max_examples_ == max_examples_);
  num_seen_ += other.num_seen_;
  for (const SampledExample& example : other.heap_) {
    Keep(example, other.RowOf(example));
  }
}

void ExampleSample::Keep(SampledExample example, std::span<const float> row) {
  if (heap_.size() < max_examples_) {
    example.slot = heap_.size();
    rows_.insert(rows_.end(), row.begin(), row.end());
  } else {
    if (!Before(example, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), &Before);
    example.slot = heap_.back().slot;
    heap_.pop_back();
    std::copy(
        row.begin(), row.end(),
        rows_.begin() + static_cast<ptrdiff_t>(example.slot * num_columns_));
  }
  heap_.push_back(example);
  std::push_heap(heap_.begin(), heap_.end(), &Before);
}

}  // namespace sortition
