#pragma once
// The version that a new one would replace.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"

namespace sortition {

// Returns the newest version of the model in the store; 0 where there is none.
absl::StatusOr<uint64_t> NewestVersion(const std::string& model,
                                       const ModelStore& store);

// Loads the newest version; nullopt where there is none.
absl::StatusOr<std::optional<StoredModel>> LoadNewest(const std::string& model,
                                                      const ModelStore& store);

// Another trainer may have published while this one learned: then the gate
// compared with a version that is not the one to be replaced any more.
// FailedPrecondition where the newest is not `baseline`.
absl::Status CheckStillNewest(const std::string& model, const ModelStore& store,
                              uint64_t baseline);

}  // namespace sortition
