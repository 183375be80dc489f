#include "core/learners/orders/level_subsets.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sortition {
namespace {

// Returns C(n, k + 1), given C(n, k).
double NextBinomial(double binomial, size_t n, size_t k) {
  return binomial * static_cast<double>(n - k) / static_cast<double>(k + 1);
}

}  // namespace

size_t CountLevels(std::span<const uint32_t> relevances) {
  std::vector<uint32_t> levels(relevances.begin(), relevances.end());
  std::sort(levels.begin(), levels.end());
  return static_cast<size_t>(std::unique(levels.begin(), levels.end()) -
                             levels.begin());
}

LevelSubsets::LevelSubsets(std::span<const uint32_t> relevances, size_t size)
    : size_(std::min(size, relevances.size())), items_(relevances.size()) {
  std::iota(items_.begin(), items_.end(), 0u);
  std::stable_sort(items_.begin(), items_.end(), [&](uint32_t a, uint32_t b) {
    return relevances[a] < relevances[b];
  });
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i == 0 || relevances[items_[i]] != relevances[items_[i - 1]]) {
      begins_.push_back(i);
    }
  }
  const size_t levels = begins_.size();
  begins_.push_back(items_.size());
  num_sets_.assign((levels + 1) * (size_ + 1), 0);
  num_sets_[levels * (size_ + 1)] = 1;
  for (size_t l = levels; l-- > 0;) {
    const size_t n = begins_[l + 1] - begins_[l];
    double* const row = &num_sets_[l * (size_ + 1)];
    const double* const after = row + size_ + 1;
    double choices = 1;
    for (size_t c = 1; c <= std::min(n, size_); ++c) {
      choices = NextBinomial(choices, n, c - 1);
      for (size_t k = c; k <= size_; ++k) row[k] += choices * after[k - c];
    }
  }
}

void LevelSubsets::Draw(RandomSequence* random, std::span<uint32_t> items) {
  if (all()) {
    std::iota(items.begin(), items.end(), 0u);
    return;
  }
  size_t left = size_;
  size_t drawn = 0;
  for (size_t l = 0; l + 1 < begins_.size(); ++l) {
    const size_t n = begins_[l + 1] - begins_[l];
    const double* const row = &num_sets_[l * (size_ + 1)];
    const double* const after = row + size_ + 1;
    // Draws how many items of this level to take, at most `left`.
    double threshold = random->Uniform() * row[left];
    size_t count = 0;
    double choices = 1;
    for (size_t c = 1; c <= std::min(n, left); ++c) {
      choices = NextBinomial(choices, n, c - 1);
      const double sets = choices * after[left - c];
      if (sets == 0) continue;
      count = c;
      threshold -= sets;
      if (threshold < 0) break;
    }
    uint32_t* const level = &items_[begins_[l]];
    for (size_t k = 0; k < count; ++k) {
      std::swap(level[k], level[k + random->Below(n - k)]);
      items[drawn++] = level[k];
    }
    left -= count;
  }
}

}  // namespace sortition
