#pragma once
// A model that LightGBM saved as text (versions 2 to 4 of its format, with and
// without the line "end of trees", which version 2.2 of the library
// introduced).
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/scorers/tree_models.h"

namespace sortition {

// Errors as ParseTreeModel(): "byte 812: Tree=3 split_feature[7] = 46, must be
// below 46".
absl::StatusOr<TreeModelFile> ParseLightGbmModel(absl::string_view text);

}  // namespace sortition
