#pragma once
// A model that LightGBM saved as text (versions 2 to 4 of its format).
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Errors as ParseTreeModel(): "byte 812: Tree=3 split_feature[7] = 46, must be
// below 46".
absl::StatusOr<model::v1::TreeEnsemble> ParseLightGbmModel(
    absl::string_view text);

}  // namespace sortition
