#pragma once
// Reads multi-label data from SVMlight text: "0,4 1:v 2:v … # comment". Labels
// start at 0 and are separated by commas; a line without labels begins with its
// features.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/multilabel_data.h"
#include "io/datasets/svmlight_line.h"

namespace sortition {

// num_features is that of the largest feature in the text, num_labels the
// largest label plus 1. InvalidArgument, naming line and column, if something
// cannot be parsed.
absl::StatusOr<MultilabelData> ParseMultilabel(
    absl::string_view text, const SvmlightOptions& options = {});
absl::StatusOr<MultilabelData> ReadMultilabel(
    const std::string& path, const SvmlightOptions& options = {});

}  // namespace sortition
