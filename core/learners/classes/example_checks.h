#pragma once
// Checks of examples with dense features, row-major.
#include <cmath>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sortition {

// InvalidArgument unless there is a label and a feature, and `features` has
// `num_features` values for each label.
inline absl::Status CheckExampleSizes(std::span<const float> features,
                                      size_t num_labels,
                                      uint32_t num_features) {
  if (num_labels > 0 && num_features > 0 &&
      features.size() == num_labels * num_features) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there are ", features.size(), " feature values, must be ", num_labels,
      " labels times ", num_features, " features, and not 0"));
}

// InvalidArgument names the first feature that is not finite.
inline absl::Status CheckFiniteFeatures(std::span<const float> features,
                                        uint32_t num_features) {
  for (size_t e = 0; e < features.size(); ++e) {
    if (std::isfinite(features[e])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", e % num_features, " of example ", e / num_features, " is ",
        features[e], ", must be finite"));
  }
  return absl::OkStatus();
}

}  // namespace sortition
