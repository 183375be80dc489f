#pragma once
// Multi-label data from SVMlight text: "0,4 1:v 2:v … # comment", labels from
// 0, comma separated; a line without labels begins with its features.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/multilabel_data.h"

namespace sortition {

// num_features is the largest feature number seen, num_labels the largest label
// plus 1. InvalidArgument names line and column of what cannot be read.
absl::StatusOr<MultilabelData> ParseMultilabel(absl::string_view text);
absl::StatusOr<MultilabelData> ReadMultilabel(const std::string& path);

}  // namespace sortition
