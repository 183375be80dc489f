#pragma once
// Synthetic multi-label data as SVMlight text.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/random.h"

namespace sortition {

inline constexpr uint32_t kLabelDataFeatures = 10;
inline constexpr uint32_t kLabelDataLabels = 3;

// Returns `n` lines with one to all features, and occasional zeros. An item has
// label l if feature l + 1 is positive; a fifth of the labels is wrong.
inline std::string MadeUpLabelData(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::string text = "0,2 1:0.25 10:1\n";
  for (size_t i = 1; i < n; ++i) {
    const double share = random.Uniform();
    std::vector<std::string> features;
    std::vector<uint32_t> labels;
    for (uint32_t j = 1; j <= kLabelDataFeatures; ++j) {
      if (random.Uniform() > share && j < kLabelDataFeatures) continue;
      const double value = j == 5 ? 0 : random.Normal();
      features.push_back(absl::StrCat(j, ":", value));
      if (j <= kLabelDataLabels && (value > 0) != (random.Uniform() < 0.2)) {
        labels.push_back(j - 1);
      }
    }
    absl::StrAppend(&text, absl::StrJoin(labels, ","), " ",
                    absl::StrJoin(features, " "), "\n");
  }
  return text;
}

}  // namespace sortition
