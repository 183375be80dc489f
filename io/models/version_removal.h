#pragma once
// Removes versions from a model store.
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace sortition {

// Removes the version in <model_dir>/<version>/: it is there whole, or not at
// all. Its number is not used again. NotFound if it is not there.
absl::Status RemoveVersion(const std::string& model_dir, uint64_t version);

// Deletes what is left of removals that died.
absl::Status FinishRemovals(const std::string& model_dir);

}  // namespace sortition
